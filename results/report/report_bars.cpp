// Figures of speed, and of speed-ups over the reference: bars for each measure and scenario, and losses as lines.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "results/files/csv.h"
#include "results/report/chart.h"
#include "results/report/report_parts.h"

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

/// Returns the interval of the median from 6 values, the least and the most of fewer.
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
  return {label, chart::bars_svg(chart), "", {}, std::move(data), false, id, chart::bars_in_column(chart)};
}

/// Returns the bar of a time to target. A trial that did not reach it counts as later than any other, as in the table.
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
  return {"time to target, s", chart::bars_svg(chart),      "", {}, std::move(data), false,
          "time-to-target",    chart::bars_in_column(chart)};
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
  return {title, chart::bars_svg(chart), "", {}, std::move(data), false, "speed-up", chart::bars_in_column(chart)};
}

const TrialLabels& labels_of(const Group& group) { return group.variants.front().trials.front()->labels; }

struct CurveKind {
  const char *id, *title, *x;
  double (*x_of)(const CurvePoint&);
};

constexpr double kDiverged = std::numeric_limits<double>::infinity();

/// The mean model's losses of one trial over x, which never falls. A loss that is not finite is kDiverged.
struct Curve {
  Numbers x, loss;

  /// Returns the interpolated loss; nothing before the first evaluation and after the last.
  std::optional<double> at(double where) const {
    const auto after = std::size_t(std::upper_bound(x.begin(), x.end(), where) - x.begin());
    if (after == 0) return std::nullopt;
    if (x[after - 1] == where) return loss[after - 1];
    if (after == x.size()) return std::nullopt;
    if (std::isinf(loss[after - 1]) || std::isinf(loss[after])) return kDiverged;
    const double share = (where - x[after - 1]) / (x[after] - x[after - 1]);
    return loss[after - 1] + share * (loss[after] - loss[after - 1]);
  }
};

std::vector<Curve> curves_of(const Variant& variant, double (*x_of)(const CurvePoint&)) {
  std::vector<Curve> curves;
  for (const TrialRow* row : variant.ok()) {
    Curve curve;
    for (const CurvePoint& point : row->record.curve) {
      if (point.model != "mean") continue;
      curve.x.push_back(curve.x.empty() ? x_of(point) : std::max(curve.x.back(), x_of(point)));
      curve.loss.push_back(std::isfinite(point.loss) ? point.loss : kDiverged);
    }
    if (!curve.x.empty()) curves.push_back(std::move(curve));
  }
  return curves;
}

/// Returns the places to compare a variant's curves at: its first trial's evaluations, and its shortest trial's end.
Numbers places_of(const std::vector<Curve>& curves) {
  double end = curves[0].x.back();
  for (const Curve& curve : curves) end = std::min(end, curve.x.back());
  Numbers places;
  for (const double x : curves[0].x) {
    if (x <= end) places.push_back(x);
  }
  if (places.empty() || places.back() < end) places.push_back(end);
  return places;
}

/// Returns the median over the trials, and as a band the smallest and the largest loss.
chart::Line line_of(const std::vector<Curve>& curves) {
  chart::Line line;
  for (const double x : places_of(curves)) {
    Numbers losses;
    for (const Curve& curve : curves) {
      if (const std::optional<double> loss = curve.at(x)) losses.push_back(*loss);
    }
    if (losses.size() < curves.size()) continue;
    line.points.emplace_back(x, median(losses));
    const auto [least, most] = std::minmax_element(losses.begin(), losses.end());
    if (curves.size() > 1) line.band.push_back({x, *least, *most});
  }
  return line;
}

Figure curve_figure(const Group& group, const CurveKind& kind) {
  chart::LineChart chart{group.title + ": " + kind.title, kind.x, "loss", {}, std::nullopt};
  if (labels_of(group).target_loss > 0) chart.target = labels_of(group).target_loss;
  Rows data{{"variant", "n", kind.x, "loss", "low", "high"}};
  std::string legend;
  int style = 0;
  for (const Variant& variant : group.variants) {
    const std::vector<Curve> curves = curves_of(variant, kind.x_of);
    if (!curves.empty()) {
      chart::Line line = line_of(curves);
      line.name = variant.name;
      line.style = style;
      for (std::size_t i = 0; i < line.points.size(); ++i) {
        const auto& [x, loss] = line.points[i];
        const bool spread = i < line.band.size();
        data.push_back({variant.name, fmt::format("{}", curves.size()), csv_number(x), csv_number(loss),
                        spread ? csv_number(line.band[i].low) : "", spread ? csv_number(line.band[i].high) : ""});
      }
      chart.lines.push_back(std::move(line));
      legend += fmt::format("<span>{} {}</span>\n", chart::line_sample(style), chart::markup(variant.name));
    }
    ++style;
  }
  return {kind.title, chart::lines_svg(chart),      std::move(legend), {}, std::move(data), false,
          kind.id,    chart::lines_in_column(chart)};
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
  page.paragraph(
      "Loss of the mean model. A line is the median over a variant's repeats, its band reaches from the smallest to "
      "the largest. Both end where the shortest repeat ends.",
      "note");
  bool any = false;
  std::size_t lines = 0, left_out = 0;
  for (const Group& group : groups) {
    const std::vector<Figure> figures = lines < most ? curve_figures(group) : std::vector<Figure>{};
    (figures.empty() ? left_out : lines) += has_curve(group) ? group.variants.size() : 0;
    if (figures.empty()) continue;
    any = true;
    page.heading(group.title);
    page.begin_figures();
    for (const Figure& figure : figures) page.figure(figure);
    page.end_figures();
  }
  if (!any) page.paragraph("no trial here was evaluated more than once");
  if (left_out > 0) {
    page.paragraph(fmt::format("{} lines of losses are left out, to keep the page small. --filter takes others, and "
                               "curve.csv has all.",
                               left_out),
                   "note");
  }
}

}  // namespace hopbench::report
