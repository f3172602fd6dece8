// The kinds of charts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "results/report/chart.h"

namespace hopbench::chart {
namespace {

using Anchor = Svg::Anchor;

constexpr int kLineColours = 8;

/// Returns the classes of a line. The first eight differ in colour and dashes; later ones never repeat both together.
std::string line_class(int style) {
  return fmt::format("line l{} d{}", style % kLineColours, (style + style / kLineColours) % kLineColours);
}

/// Returns the largest value that bars and their whiskers reach, without arrows.
double bars_most(const BarChart& chart) {
  double most = chart.mark.value_or(0);
  for (const Bar& bar : chart.bars) {
    if (bar.value && std::isfinite(*bar.value)) most = std::max(most, *bar.value);
    if (bar.spread && std::isfinite(bar.spread->high)) most = std::max(most, bar.spread->high);
  }
  return most;
}

void arrow(Svg& svg, double x, double y) {
  svg.path(fmt::format("M{0} {1}l7 5l-7 5z", coordinate(x), coordinate(y - 5)), "arrow");
}

void whisker(Svg& svg, const Axis& axis, const Interval& spread, double x, double y, double w) {
  const bool open = !std::isfinite(spread.high);
  const double from = x + w * axis.at(spread.low), to = open ? x + w : x + w * axis.at(spread.high);
  svg.line(from, y, to, y, "whisker");
  svg.line(from, y - 4, from, y + 4, "whisker");
  if (open) {
    arrow(svg, to - 7, y);
  } else {
    svg.line(to, y - 4, to, y + 4, "whisker");
  }
}

struct Span {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  void add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

std::string line_path(const Line& line, const Axis& x, const Axis& y, const Interval& across, const Interval& down) {
  std::string d;
  bool pen = false;
  for (const auto& [px, py] : line.points) {
    const bool drawn = std::isfinite(px) && std::isfinite(py);
    if (drawn) {
      const double at_x = across.low + (across.high - across.low) * x.at(px);
      const double at_y = down.high - (down.high - down.low) * y.at(py);
      d += fmt::format("{}{} {}", pen ? "L" : "M", coordinate(at_x), coordinate(at_y));
    }
    pen = drawn;
  }
  return d;
}

/// Returns a band's outline: its upper ends from left to right, its lower ones back. A missing lower end splits it.
std::string band_path(const Line& line, const Axis& x, const Axis& y, const Interval& across, const Interval& down) {
  const auto place = [&](double px, double py) {
    const double at_y = std::isfinite(py) ? down.high - (down.high - down.low) * y.at(py) : down.low;
    return coordinate(across.low + (across.high - across.low) * x.at(px)) + " " + coordinate(at_y);
  };
  std::string d;
  for (std::size_t from = 0, to = 0; from < line.band.size(); from = to + 1) {
    for (to = from; to < line.band.size() && std::isfinite(line.band[to].low);) ++to;
    if (to - from < 2) continue;
    for (std::size_t i = from; i < to; ++i) d += (i == from ? "M" : "L") + place(line.band[i].x, line.band[i].high);
    for (std::size_t i = to; i-- > from;) d += "L" + place(line.band[i].x, line.band[i].low);
    d += "Z";
  }
  return d;
}

/// Where the parts of a bar chart lie. In a column bars have what names and texts leave.
struct BarsLayout {
  double names = 170, plot = 300, text = 180, row = 22;
  std::size_t letters = 25;  // of a name
  int ticks = 5;
};
constexpr double kBarsTop = 6;
constexpr double kLetter = 5.3, kSmallLetter = 4.9;  // their mean widths in a column

BarsLayout in_a_column(const BarChart& chart) {
  std::size_t name = 0, text = 0;
  for (const Bar& bar : chart.bars) {
    name = std::max(name, bar.name.size());
    text = std::max(text, bar.text.size());
  }
  BarsLayout at{.names = 12, .plot = 0, .text = 14 + kSmallLetter * double(text), .row = 16, .letters = 0, .ticks = 3};
  at.letters = std::min(name, std::size_t(std::max(8.0, (kColumnWidth - 60 - at.names - at.text) / kLetter)));
  at.names += kLetter * double(at.letters);
  at.plot = std::max(60.0, kColumnWidth - at.names - at.text);
  return at;
}

/// The legend below a chart: entries one after the other, in as many rows as they need.
struct Legend {
  struct Entry {
    const Line* line;
    double x, y;
  };
  std::vector<Entry> entries;
  double height = 0;
};

Legend legend_in_a_column(const LineChart& chart) {
  constexpr double kRow = 12;
  Legend legend{{}, kRow};
  double x = 6;
  for (const Line& line : chart.lines) {
    const double width = 38 + kLetter * double(line.name.size());
    if (x > 6 && x + width > kColumnWidth) {
      x = 6;
      legend.height += kRow;
    }
    legend.entries.push_back({&line, x, legend.height - kRow});
    x += width;
  }
  return legend;
}

std::string scale_text(double value) {
  return value == std::floor(value) ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

/// Draws the scale of the shades below a heat map, with the bound marked. A bound that is not reached lies beyond the
/// shades, so that they still tell small gaps apart. A bound that is far off is only written.
void heat_scale(Svg& svg, const HeatMap& map, double most, double x, double y, double w) {
  constexpr int kSteps = 20;
  const bool far = map.bound && *map.bound > 6 * most;
  const double end = map.bound && !far ? std::max(most, *map.bound) : most;
  const double step = w * most / end / kSteps;
  for (int i = 0; i < kSteps; ++i) svg.rect(x + i * step, y, step, 8, "heat", "", (i + 0.5) / kSteps);
  svg.rect(x, y, w, 8, "empty");
  svg.text(x - 6, y + 8, "0", Anchor::kEnd, "tick");
  svg.text(x + w + 6, y + 8, scale_text(end) + " " + map.unit, Anchor::kStart, "tick");
  if (!map.bound) return;
  if (far)
    return svg.text(x, y + 23, "bound " + scale_text(*map.bound) + ", off the scale", Anchor::kStart, "bound-text");
  if (end > most) svg.text(x + w * most / end, y + 20, scale_text(most), Anchor::kMiddle, "tick");
  const double at = x + w * *map.bound / end;
  svg.line(at, y - 4, at, y + 12, "bound");
  svg.text(at, y + 23, "bound " + scale_text(*map.bound), Anchor::kMiddle, "bound-text");
}

Svg draw(const BarChart& chart, const BarsLayout& at) {
  const double height = at.row * double(chart.bars.size());
  Svg svg(at.names + at.plot + at.text, kBarsTop + height + 38, chart.title);
  const Axis axis = make_axis(chart.label, 0, bars_most(chart), at.ticks);
  svg.bottom_axis(axis, at.names, kBarsTop, at.plot, height);
  for (std::size_t i = 0; i < chart.bars.size(); ++i) {
    const Bar& bar = chart.bars[i];
    const double y = kBarsTop + at.row * double(i), middle = y + at.row / 2;
    svg.name(at.names - 8, middle + 4, bar.name, at.letters);
    svg.text(at.names + at.plot + 12, middle + 4, bar.text, Anchor::kStart, "value");
    if (!bar.value) continue;
    const double w = at.plot * std::min(1.0, axis.at(*bar.value));
    svg.rect(at.names, y + 4, w, at.row - 8,
             bar.beyond      ? "bar open"
             : bar.reference ? "bar ref"
                             : "bar",
             bar.name + ": " + bar.text);
    if (bar.beyond) arrow(svg, at.names + w, middle);
    if (bar.spread) whisker(svg, axis, *bar.spread, at.names, middle, at.plot);
  }
  if (chart.mark) {
    const double x = at.names + at.plot * axis.at(*chart.mark);
    svg.line(x, kBarsTop, x, kBarsTop + height, "mark");
  }
  return svg;
}

/// Where the parts of a chart of lines lie.
struct LinesLayout {
  double left = 56, wide = 400, right = 14, high = 230;
  Legend legend = {};
};

Svg draw(const LineChart& chart, const LinesLayout& layout) {
  const auto& [left, wide, right, high, legend] = layout;
  constexpr double top = 26;
  Svg svg(left + wide + right, top + high + 38 + legend.height, chart.title);
  Span x_span, y_span;
  for (const Line& line : chart.lines) {
    for (const auto& [x, y] : line.points) {
      if (!std::isfinite(x) || !std::isfinite(y)) continue;
      x_span.add(x);
      y_span.add(y);
    }
    for (const Spread& spread : line.band) {
      y_span.add(spread.low);
      y_span.add(spread.high);
    }
  }
  if (chart.target) y_span.add(*chart.target);
  if (x_span.empty() || y_span.empty()) x_span = y_span = Span{0, 1};
  const Axis x = make_axis(chart.x, std::min(0.0, x_span.low), x_span.high);
  const bool log = y_span.low > 0 && y_span.high > 50 * y_span.low;
  const Axis y =
      log ? make_log_axis(chart.y + " (log)", y_span.low, y_span.high) : make_axis(chart.y, y_span.low, y_span.high);
  svg.left_axis(y, left, top, wide, high);
  svg.bottom_axis(x, left, top, wide, high);
  const Interval across{left, left + wide}, down{top, top + high};
  for (const Line& line : chart.lines) {
    const std::string d = band_path(line, x, y, across, down);
    if (!d.empty()) svg.path(d, fmt::format("band b{}", line.style % kLineColours), line.name);
  }
  for (const Line& line : chart.lines) {
    const std::string d = line_path(line, x, y, across, down);
    if (!d.empty()) svg.path(d, line_class(line.style), line.name);
  }
  if (chart.target) {
    const double at = top + high * (1 - y.at(*chart.target));
    svg.line(left, at, left + wide, at, "mark");
    svg.text(left + wide - 4, at - 4, fmt::format("target {:g}", *chart.target), Anchor::kEnd, "halo");
  }
  for (const Legend::Entry& entry : legend.entries) {
    const double line = top + high + 38 + entry.y;
    svg.path(fmt::format("M{0} {1}h22", coordinate(entry.x), coordinate(line + 6)), line_class(entry.line->style));
    svg.text(entry.x + 26, line + 9, entry.line->name);
  }
  return svg;
}

}  // namespace

std::string bars_svg(const BarChart& chart) { return draw(chart, BarsLayout{}).finish(); }
Svg bars_in_column(const BarChart& chart) { return draw(chart, in_a_column(chart)); }

std::string lines_svg(const LineChart& chart) { return draw(chart, LinesLayout{}).finish(); }
Svg lines_in_column(const LineChart& chart) {
  constexpr double kLeft = 40, kRight = 6;
  return draw(chart, {kLeft, kColumnWidth - kLeft - kRight, kRight, 130, legend_in_a_column(chart)});
}

std::string line_sample(int style) {
  return fmt::format(R"(<svg class="sample" viewBox="0 0 30 10"><path d="M0 5L30 5" class="{}"/></svg>)",
                     line_class(style));
}

std::string stacks_svg(const StackChart& chart) {
  const double row = chart.rows.size() > 20 ? 12 : 18;
  constexpr double kNames = 74, kPlot = 300, kRight = 16, kTop = 6;
  const double height = row * double(chart.rows.size());
  double most = chart.most;
  for (const StackRow& stack : chart.rows) {
    double sum = 0;
    for (const Part& part : stack.parts) sum += part.value;
    most = std::max(most, sum);
  }
  Svg svg(kNames + kPlot + kRight, kTop + height + 38, chart.title);
  // Rounding errors must not cause a longer axis, half of which would be empty.
  const Axis axis = make_axis(chart.label, 0, most < 1.02 * chart.most ? chart.most : most);
  svg.bottom_axis(axis, kNames, kTop, kPlot, height);
  for (std::size_t i = 0; i < chart.rows.size(); ++i) {
    const double y = kTop + row * double(i);
    svg.name(kNames - 6, y + row / 2 + 4, chart.rows[i].name, 11);
    double sum = 0;
    for (const Part& part : chart.rows[i].parts) {
      const double from = kNames + kPlot * axis.at(sum), to = kNames + kPlot * axis.at(sum + part.value);
      if (part.value > 0) {
        svg.rect(from, y + 2, to - from, row - 4, part.fill,
                 fmt::format("{}: {}, {:.3g}", chart.rows[i].name, part.name, part.value));
      }
      sum += part.value;
    }
  }
  return svg.finish();
}

std::string heat_svg(const HeatMap& map) {
  const double row = map.rows.size() > 20 ? 10 : 16;
  constexpr double kNames = 74, kPlot = 300, kRight = 16, kTop = 6;
  const double height = row * double(map.rows.size());
  double largest = 0;
  std::size_t columns = 1;
  for (const auto& cells : map.cells) {
    columns = std::max(columns, cells.size());
    for (const double cell : cells) largest = std::isnan(cell) ? largest : std::max(largest, cell);
  }
  const double most = std::max(1.0, largest);
  Svg svg(kNames + kPlot + kRight, kTop + height + 76, map.title);
  Axis axis = make_axis(map.x, map.from, map.to);
  axis.low = map.from, axis.high = std::max(map.to, map.from + 1e-9);
  std::erase_if(axis.ticks, [&](double tick) { return tick < axis.low || tick > axis.high; });
  const double step = kPlot / double(columns);
  svg.bottom_axis(axis, kNames, kTop, kPlot, height);
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    const double y = kTop + row * double(r);
    if (row > 10 || r % 4 == 0) svg.name(kNames - 6, y + row / 2 + 4, map.rows[r], 11);
    const std::vector<double>& cells = map.cells[r];
    for (std::size_t c = 0, next = 0; c < cells.size(); c = next) {  // equal neighbours are one rectangle
      for (next = c + 1; next < cells.size() && cells[next] == cells[c];) ++next;
      if (std::isnan(cells[c])) continue;
      svg.rect(kNames + step * double(c), y + 1, step * double(next - c), row - 2, "heat",
               fmt::format("{}: {} {}", map.rows[r], scale_text(cells[c]), map.unit), std::max(0.04, cells[c] / most));
    }
  }
  heat_scale(svg, map, most, kNames, kTop + height + 42, 160);
  return svg.finish();
}

std::string histogram_svg(const Histogram& histogram) {
  constexpr double kLeft = 64, kTop = 26, kPlot = 310, kHigh = 130, kRight = 16;
  Svg svg(kLeft + kPlot + kRight, kTop + kHigh + 38, histogram.title);
  double most = 0, low = 0, high = 1;
  if (!histogram.bins.empty()) {
    low = std::min(0.0, histogram.bins.front().first);
    high = histogram.bins.back().first + histogram.width;
  }
  for (const auto& [value, count] : histogram.bins) most = std::max(most, count);
  // A bar of whole numbers stands over its number; the axis names those.
  const bool whole = histogram.width == 1;
  high = std::max(high, low + 6 * histogram.width);  // a single bar must not fill the drawing
  if (histogram.bound && *histogram.bound + 1 <= 2 * high) high = std::max(high, *histogram.bound + 1);
  const double shift = whole ? 0.5 : 0;
  Axis x = make_axis(histogram.x, low, high, 6);
  x.low = low, x.high = high;
  std::erase_if(x.ticks,
                [&](double tick) { return tick < low || tick > high - (whole ? 1 : 0) || tick != std::floor(tick); });
  const Axis y = make_axis(histogram.y, 0, most, 4);
  svg.left_axis(y, kLeft, kTop, kPlot, kHigh);
  for (const double tick : x.ticks) {
    svg.text(kLeft + kPlot * x.at(tick + shift), kTop + kHigh + 14, x.tick_text(tick), Anchor::kMiddle, "tick");
  }
  svg.line(kLeft, kTop + kHigh, kLeft + kPlot, kTop + kHigh, "axis");
  svg.text(kLeft + kPlot / 2, kTop + kHigh + 30, x.label, Anchor::kMiddle, "label");
  for (const auto& [value, count] : histogram.bins) {
    const double from = kLeft + kPlot * x.at(value), to = kLeft + kPlot * x.at(value + histogram.width);
    const double h = count > 0 ? std::max(0.7, kHigh * y.at(count)) : 0;
    svg.rect(from + 1, kTop + kHigh - h, to - from - 2, h, "bar", fmt::format("{:g}: {:g}", value, count));
  }
  if (histogram.bound && *histogram.bound + 1 <= high) {
    const double at = kLeft + kPlot * x.at(*histogram.bound + 1);
    svg.line(at, kTop - 4, at, kTop + kHigh, "bound");
    const bool right = x.at(*histogram.bound + 1) < 0.7;
    svg.text(right ? at + 5 : at - 5, kTop + 8, fmt::format("bound {:g}", *histogram.bound),
             right ? Anchor::kStart : Anchor::kEnd, "bound-text halo");
  }
  return svg.finish();
}

}  // namespace hopbench::chart
