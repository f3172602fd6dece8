// How fast, and how much faster than the reference: bars for each measure and scenario, and losses as lines.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "results/chart.h"
#include "results/csv.h"
#include "results/report_parts.h"

namespace hopbench::report {
namespace {

using chart::Bar;
using chart::BarChart;
using Numbers = std::vector<double>;

const char* const kHead[] = {"variant", "n", "value", "low", "high", "shown"};

Rows bars_head() { return {{std::begin(kHead), std::end(kHead)}}; }

std::vector<std::string> bar_row(const Bar& bar, std::size_t n) {
  const auto number = [](bool there, double value) { return there ? csv_number(value) : std::string(); };
  return {bar.name,
          fmt::format("{}", n),
          number(bar.value.has_value(), bar.value.value_or(0)),
          number(bar.spread.has_value(), bar.spread.value_or(Interval{}).low),
          number(bar.spread.has_value(), bar.spread.value_or(Interval{}).high),
          bar.text};
}

/// The interval of the median from 6 values, the least and the most of fewer.
std::optional<Interval> spread_of(const Numbers& values) {
  if (const auto interval = median_interval(values)) return interval;
  if (values.size() < 2) return std::nullopt;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return Interval{*least, *most};
}

Bar median_bar(const Group& group, const Variant& variant, const Numbers& values) {
  Bar bar;
  bar.name = variant.name;
  bar.reference = variant.name == group.reference;
  bar.text = values.empty() ? "no trial ended well" : median_text(values);
  if (values.empty()) return bar;
  bar.value = median(values);
  bar.spread = spread_of(values);
  return bar;
}

Figure rate_figure(const Group& group, const char* id, const std::string& label, double TrialRecord::*rate) {
  BarChart chart{group.title + ": " + label, label, {}, std::nullopt};
  Rows data = bars_head();
  for (const Variant& variant : group.variants) {
    Numbers values;
    for (const TrialRow* row : variant.ok()) values.push_back(row->record.*rate);
    chart.bars.push_back(median_bar(group, variant, values));
    data.push_back(bar_row(chart.bars.back(), values.size()));
  }
  return {label, chart::bars_svg(chart), "", {}, std::move(data), false, id};
}

/// One that did not get there counts as later than every other, as in the table.
Bar reach_bar(const Group& group, const Variant& variant) {
  const std::vector<Reach> trials = times_to_target(variant);
  Numbers reached, all;
  for (const Reach& trial : trials) {
    if (trial.at) reached.push_back(*trial.at);
    all.push_back(trial.at.value_or(std::numeric_limits<double>::infinity()));
  }
  if (reached.size() == trials.size()) return median_bar(group, variant, reached);
  Bar bar;
  bar.name = variant.name;
  bar.reference = variant.name == group.reference;
  const Reach middle = median_reach(trials);
  bar.value = middle.at.value_or(middle.until);
  bar.beyond = !middle.at;
  if (middle.at) bar.spread = spread_of(all);
  bar.text = fmt::format("{}{} ({} of {} reached)", bar.beyond ? "> " : "", number_text(*bar.value), reached.size(),
                         trials.size());
  return bar;
}

Figure reach_figure(const Group& group, double target) {
  BarChart chart{group.title + ": time to target", fmt::format("s to a loss of {:g}", target), {}, std::nullopt};
  Rows data = bars_head();
  for (const Variant& variant : group.variants) {
    chart.bars.push_back(reach_bar(group, variant));
    data.push_back(bar_row(chart.bars.back(), variant.ok().size()));
  }
  return {"time to target, s", chart::bars_svg(chart), "", {}, std::move(data), false, "time-to-target"};
}

Bar speed_up_bar(const Group& group, const Variant& variant) {
  const SpeedUpPairs pairs = group.is_convergence() ? target_pairs(group, variant) : rate_pairs(group, variant);
  const PairedRatio ratio = paired_ratio(pairs.above, pairs.below);
  Bar bar;
  bar.name = variant.name;
  bar.reference = variant.name == group.reference;
  bar.text = bar.reference && ratio.n > 0 ? "1 (reference)" : ratio_text(pairs.above, pairs.below);
  if (ratio.n == 0) return bar;
  bar.value = bar.reference ? 1 : ratio.ratio;
  if (bar.reference) return bar;
  bar.spread = ratio.interval;
  if (ratio.n == 2) {
    const double first = pairs.above[0] / pairs.below[0], second = pairs.above[1] / pairs.below[1];
    bar.spread = Interval{std::min(first, second), std::max(first, second)};
  }
  return bar;
}

Figure speed_up_figure(const Group& group) {
  const std::string title = "speed-up over " + group.reference;
  BarChart chart{group.title + ": " + title, title, {}, 1.0};
  chart.label = "times as fast";
  Rows data = bars_head();
  for (const Variant& variant : group.variants) {
    const std::size_t n =
        (group.is_convergence() ? target_pairs(group, variant) : rate_pairs(group, variant)).above.size();
    chart.bars.push_back(speed_up_bar(group, variant));
    data.push_back(bar_row(chart.bars.back(), n));
  }
  return {title, chart::bars_svg(chart), "", {}, std::move(data), false, "speed-up"};
}

const TrialLabels& labels_of(const Group& group) { return group.variants.front().trials.front()->labels; }

struct CurveKind {
  const char *id, *title, *x;
  double (*x_of)(const CurvePoint&);
};

Figure curve_figure(const Group& group, const CurveKind& kind) {
  chart::LineChart chart{group.title + ": " + kind.title, kind.x, "loss", {}, std::nullopt};
  if (labels_of(group).target_loss > 0) chart.target = labels_of(group).target_loss;
  Rows data{{"variant", "seed", "repeat", kind.x, "loss"}};
  std::string legend;
  int style = 0;
  for (const Variant& variant : group.variants) {
    bool first = true;
    for (const TrialRow* row : variant.ok()) {
      chart::Line line{variant.name, {}, style, first};
      for (const CurvePoint& point : row->record.curve) {
        if (point.model != "mean") continue;
        line.points.emplace_back(kind.x_of(point), point.loss);
        data.push_back({variant.name, fmt::format("{}", row->labels.seed), fmt::format("{}", row->labels.repeat),
                        csv_number(kind.x_of(point)), csv_number(point.loss)});
      }
      if (line.points.empty()) continue;
      chart.lines.push_back(std::move(line));
      first = false;
    }
    if (!first) {
      legend += fmt::format("<span>{} {}</span>\n", chart::line_sample(style), chart::markup(variant.name));
    }
    ++style;
  }
  return {kind.title, chart::lines_svg(chart), std::move(legend), {}, std::move(data), false, kind.id};
}

/// The group with so many repeats of each variant that it has about `most` trials.
Group first_lines(const Group& group, std::size_t most) {
  Group first = group;
  const std::size_t repeats = std::max<std::size_t>(1, most / std::max<std::size_t>(1, group.variants.size()));
  for (Variant& variant : first.variants) variant.trials.resize(std::min(repeats, variant.trials.size()));
  return first;
}

bool has_curve(const Group& group) {
  const auto trials = group.trials();
  return std::any_of(trials.begin(), trials.end(), [](const TrialRow* row) { return row->record.curve.size() > 1; });
}

}  // namespace

std::vector<Figure> bar_figures(const Group& group) {
  std::vector<Figure> figures;
  const double target = labels_of(group).target_loss;
  if (group.is_convergence() && target <= 0) return figures;
  if (group.is_convergence()) {
    figures.push_back(reach_figure(group, target));
  } else {
    figures.push_back(rate_figure(group, "rate", "samples/s, all workers", &TrialRecord::samples_per_s));
    figures.push_back(rate_figure(group, "iterations", "iterations/s, mean of the workers", &TrialRecord::iters_per_s));
  }
  if (group.find(group.reference) != nullptr) figures.push_back(speed_up_figure(group));
  return figures;
}

std::vector<Figure> curve_figures(const Group& group) {
  if (!group.is_convergence() || !has_curve(group)) return {};
  return {curve_figure(group, {"loss-time", "loss over time", "time, s",
                               [](const CurvePoint& p) { return to_seconds(p.time); }}),
          curve_figure(group, {"loss-iterations", "loss over iterations", "iteration, mean of the workers",
                               [](const CurvePoint& p) { return p.iteration; }})};
}

void add_bars(Page& page, const std::vector<Group>& groups) {
  page.section("bars", "How fast");
  page.paragraph(
      "Bars: medians over the repeats. Whiskers: the smallest and the largest, from 6 repeats the 95 % interval of the "
      "median; of a speed-up its 95 % interval, from 3 pairs. An arrow: not reached by the end of a trial.",
      "note");
  bool any = false;
  for (const Group& group : groups) {
    const std::vector<Figure> figures = bar_figures(group);
    if (figures.empty()) continue;
    any = true;
    page.heading(group.title);
    page.begin_figures();
    for (const Figure& figure : figures) page.figure(figure);
    page.end_figures();
    if (group.find(group.reference) == nullptr) {
      page.paragraph("no speed-up: the reference '" + group.reference + "' has no trial here", "note");
    }
  }
  if (!any) page.paragraph("nothing here: no measure of rates, and no target loss is set");
}

void add_curves(Page& page, const std::vector<Group>& groups, std::size_t most) {
  page.section("curves", "Loss");
  page.paragraph("Of the mean model. A variant's first repeat is a strong line, its others are thin.", "note");
  bool any = false;
  std::size_t lines = 0, left_out = 0;
  for (const Group& group : groups) {
    const Group first = first_lines(group, most);
    const std::vector<Figure> figures = lines < most ? curve_figures(first) : std::vector<Figure>{};
    lines += figures.empty() ? 0 : first.trials().size();
    if (has_curve(group)) left_out += group.trials().size() - (figures.empty() ? 0 : first.trials().size());
    if (figures.empty()) continue;
    any = true;
    page.heading(group.title);
    page.begin_figures();
    for (const Figure& figure : figures) page.figure(figure);
    page.end_figures();
  }
  if (!any) page.paragraph("no trial here was evaluated more than once");
  if (left_out > 0) {
    page.paragraph(
        fmt::format("The losses of {} trials are left out, to keep the page small. --filter takes others, and "
                    "curve.csv has all.",
                    left_out),
        "note");
  }
}

}  // namespace hopbench::report
