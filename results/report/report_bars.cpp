// Figures of speed, and of speed-ups over the reference: bars for each measure and scenario, and losses as lines.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "results/report/chart.h"
#include "results/report/report_parts.h"
#include "results/tables/summary_parts.h"

namespace hopbench::report {
namespace {

using Numbers = std::vector<double>;

/// A figure of bars: a column of the summary's table.
struct BarKind {
  const char *id, *column;
  std::string title, of, label;  // `of`: what the title of the drawing says behind the group's
  const char* none = "no trial ended well";
  bool with_spread = false;  // the table shows the number alone
  std::optional<double> mark{};
};

chart::Bar bar_of(const TableRow& row, const Cell& cell, const BarKind& kind) {
  chart::Bar bar;
  bar.name = row[0].text;
  bar.text = kind.none;
  const Number* number = cell.number();
  if (number == nullptr || std::isnan(number->value)) return bar;
  bar.value = number->value;
  bar.spread = number->spread();
  bar.beyond = number->beyond;
  bar.text = kind.with_spread ? text_of(*number) : cell.text;
  return bar;
}

Figure bar_figure(const Group& group, const Table& table, const BarKind& kind) {
  chart::BarChart chart{group.title() + ": " + kind.of, kind.label, {}, kind.mark};
  Table data{.columns = {"variant", "n", "value", "low", "high", "shown"}};
  for (std::size_t v = 0; v < group.variants.size(); ++v) {
    const Cell& cell = table.rows[v].at(table.place_of(kind.column));
    chart::Bar bar = bar_of(table.rows[v], cell, kind);
    bar.reference = bar.name == group.reference;
    TableRow& row =
        data.rows.emplace_back(TableRow{bar.name, fmt::format("{}", cell.number()->n), "", "", "", bar.text});
    if (bar.value) row[2] = exact(*bar.value, bar.beyond);
    if (bar.spread) row[3] = exact(bar.spread->low), row[4] = exact(bar.spread->high);
    chart.bars.push_back(std::move(bar));
  }
  return {kind.title, chart::bars_svg(chart), "", {}, std::move(data), false, kind.id, chart::bars_in_column(chart)};
}

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
  chart::LineChart chart{group.title() + ": " + kind.title, kind.x, "loss", {}, std::nullopt};
  if (group.labels().target_loss > 0) chart.target = group.labels().target_loss;
  Table data{.columns = {"variant", "n", kind.x, "loss", "low", "high"}};
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
        data.rows.push_back({variant.name, fmt::format("{}", curves.size()), exact(x), exact(loss),
                             spread ? exact(line.band[i].low) : "", spread ? exact(line.band[i].high) : ""});
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
  std::vector<BarKind> kinds;
  const double target = group.labels().target_loss;
  if (group.is_convergence() && target <= 0) return {};
  if (group.is_convergence()) {
    kinds.push_back({.id = "time-to-target",
                     .column = "time to target",
                     .title = "time to target, s",
                     .of = "time to target",
                     .label = fmt::format("s to a loss of {:g}", target)});
  } else {
    const std::string rate = "samples/s, all workers", iterations = "iterations/s, mean of the workers";
    kinds.push_back({.id = "rate", .column = "samples/s", .title = rate, .of = rate, .label = rate});
    kinds.push_back({.id = "iterations",
                     .column = "iterations/s",
                     .title = iterations,
                     .of = iterations,
                     .label = iterations,
                     .with_spread = true});
  }
  const std::string over = "speed-up over " + group.reference;
  if (group.find(group.reference) != nullptr) {
    kinds.push_back({.id = "speed-up",
                     .column = "speed-up",
                     .title = over,
                     .of = over,
                     .label = "times as fast",
                     .none = "-",
                     .mark = 1.0});
  }
  const Table table = group.is_convergence() ? convergence_table(group) : rate_table(group);
  std::vector<Figure> figures;
  for (const BarKind& kind : kinds) figures.push_back(bar_figure(group, table, kind));
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
    page.heading(group.in_words());
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
    page.heading(group.in_words());
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
