// Charts as SVG: bars with whiskers, lines, stacks, heat maps, histograms. Text stays text, names are escaped, colours
// and fills are classes that report.css sets, so that one chart does for light, dark and paper.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "results/statistics.h"

namespace hopbench::chart {

/// For HTML and SVG, between tags and in attributes: what would end it is escaped, line breaks are spaces, other
/// control characters and bytes that are no UTF-8 are U+FFFD.
std::string markup(std::string_view text);
/// At most so many code points, an ellipsis for the rest.
std::string shortened(std::string_view text, std::size_t most);

/// Values that an axis names, and where on it (0 .. 1) a value lies.
struct Axis {
  std::string label;
  double low = 0, high = 1;
  bool log = false;
  std::vector<double> ticks;
  double at(double value) const;
  std::string tick_text(double tick) const;
};
/// Steps of 1, 2 or 5 times a power of ten, about `count` of them; low and high are moved out to the nearest.
Axis make_axis(std::string label, double low, double high, int count = 5);
/// Powers of ten, and 2 and 5 times them where few; low > 0.
Axis make_log_axis(std::string label, double low, double high);

/// Pieces of one drawing, in the order they lie upon each other.
class Svg {
 public:
  Svg(double width, double height, std::string_view title);
  enum class Anchor { kStart, kMiddle, kEnd };
  /// `hint`: shown where the pointer rests; empty: none.
  void rect(double x, double y, double w, double h, std::string_view fill, std::string_view hint = "",
            double opacity = 1);
  void line(double x1, double y1, double x2, double y2, std::string_view kind);
  void path(const std::string& d, std::string_view kind, std::string_view hint = "");
  void text(double x, double y, std::string_view words, Anchor anchor = Anchor::kStart, std::string_view kind = "");
  void name(double x, double y, std::string_view words,
            std::size_t most);  // at its end; shortened, the whole as a hint
  void raw(std::string_view markup_text) { text_ += markup_text; }
  /// Grid lines and numbers of an axis along the bottom: values run from x to x + w.
  void bottom_axis(const Axis& axis, double x, double y, double w, double h);
  void left_axis(const Axis& axis, double x, double y, double w, double h);
  std::string finish() const { return text_ + "</svg>\n"; }

 private:
  std::string text_;
};
/// A coordinate: two digits after the point at most.
std::string coordinate(double value);

/// Horizontal bars from 0 (or the axis' low end), a whisker for the spread.
struct Bar {
  std::string name;
  std::optional<double> value;     // none: only the text
  std::optional<Interval> spread;  // an end that is infinite is an arrow
  bool beyond = false;             // the value is a lower bound: an arrow
  bool reference = false;
  std::string text;  // at the right
};
struct BarChart {
  std::string title, label;
  std::vector<Bar> bars;
  std::optional<double> mark;  // a line across: what a ratio of 1 is
};
std::string bars_svg(const BarChart& chart);

/// How far values spread at an x. An infinite `high` reaches the top of the drawing; an infinite `low` draws nothing.
struct Spread {
  double x = 0, low = 0, high = 0;
};
struct Line {
  std::string name;
  std::vector<std::pair<double, double>> points;  // what is not finite breaks the line
  int style = 0;                                  // of colour and dashes
  std::vector<Spread> band = {};                  // a shade behind the line
};
struct LineChart {
  std::string title, x, y;
  std::vector<Line> lines;
  std::optional<double> target;
};
/// The y axis is logarithmic where all losses are above 0 and span more than a factor of 50.
std::string lines_svg(const LineChart& chart);
/// What the legend of lines shows of one.
std::string line_sample(int style);

struct Part {
  std::string name, fill;
  double value = 0;
};
struct StackRow {
  std::string name;
  std::vector<Part> parts;
};
struct StackChart {
  std::string title, label;
  std::vector<StackRow> rows;
  double most = 0;  // the axis goes that far at least
};
std::string stacks_svg(const StackChart& chart);

/// Rows over columns from `from` to `to` of the x axis; a cell that is NaN is empty.
struct HeatMap {
  std::string title, x, unit;
  double from = 0, to = 1;
  std::vector<std::string> rows;
  std::vector<std::vector<double>> cells;
  std::optional<double> bound;  // drawn on the scale
};
std::string heat_svg(const HeatMap& map);

struct Histogram {
  std::string title, x, y;
  std::vector<std::pair<double, double>> bins;  // value, count; values ascending, a whole width apart
  double width = 1;
  std::optional<double> bound;  // drawn after the last value that is within
};
std::string histogram_svg(const Histogram& histogram);

}  // namespace hopbench::chart
