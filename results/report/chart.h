// Charts as SVG: bars with whiskers, lines, stacks, heat maps, histograms. Text stays text, names are escaped, colours
// and fills are classes that report.css sets, so that one chart does for light, dark and paper.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "results/arithmetic/statistics.h"

namespace hopbench::chart {

/// Returns the text for HTML and SVG, between tags and in attributes. Special characters are escaped, and line breaks
/// become spaces. Other control characters and bytes that are not UTF-8 become U+FFFD.
std::string markup(std::string_view text);
/// Shortens the text to at most `most` code points. If some are cut off, the last one is an ellipsis.
std::string shortened(std::string_view text, std::size_t most);

/// An axis: the values that are named on it, and the position (0 .. 1) of a value along it.
struct Axis {
  std::string label;
  double low = 0, high = 1;
  bool log = false;
  std::vector<double> ticks;
  double at(double value) const;
  std::string tick_text(double tick) const;
};
/// Makes an axis of about `count` steps of 1, 2 or 5 times a power of ten. Moves low and high out to the nearest step.
Axis make_axis(std::string label, double low, double high, int count = 5);
/// Makes a logarithmic axis that names powers of ten, and 2 and 5 times them if these are few. `low` must be above 0.
Axis make_log_axis(std::string label, double low, double high);

inline constexpr double kColumnWidth = 320;  // of a drawing for a paper's column of 3.33 inches: 96 units are an inch

/// A drawing of several pieces. Later pieces lie over earlier ones.
class Svg {
 public:
  Svg(double width, double height, std::string title) : width_(width), height_(height), title_(std::move(title)) {}
  enum class Anchor { kStart, kMiddle, kEnd };
  /// `hint`: a text that is shown where the pointer rests; empty: no hint.
  void rect(double x, double y, double w, double h, std::string_view fill, std::string_view hint = "",
            double opacity = 1);
  void line(double x1, double y1, double x2, double y2, std::string_view kind);
  void path(const std::string& d, std::string_view kind, std::string_view hint = "");
  void text(double x, double y, std::string_view words, Anchor anchor = Anchor::kStart, std::string_view kind = "");
  void name(double x, double y, std::string_view words,
            std::size_t most);  // ends at x; if it is shortened, the hint is the whole
  void raw(std::string_view markup_text) { text_ += markup_text; }
  /// Draws grid lines and numbers of an axis along the bottom. Values run from x to x + w.
  void bottom_axis(const Axis& axis, double x, double y, double w, double h);
  void left_axis(const Axis& axis, double x, double y, double w, double h);
  double height() const { return height_; }
  /// Returns the drawing for a page, which may scale it down, or as a part of another drawing, from y on.
  std::string finish() const;
  std::string part(double y) const;

 private:
  double width_, height_;
  std::string title_, text_;
};
/// Returns a coordinate as text, with at most two digits after the point.
std::string coordinate(double value);

/// A horizontal bar from 0 (or the axis' low end), with a whisker for the spread.
struct Bar {
  std::string name;
  std::optional<double> value;     // empty: only the text
  std::optional<Interval> spread;  // an end that is infinite is an arrow
  bool beyond = false;             // the value is a lower bound: an arrow
  bool reference = false;
  std::string text;  // at the right
};
struct BarChart {
  std::string title, label;
  std::vector<Bar> bars;
  std::optional<double> mark;  // a line across, such as at a ratio of 1
};
std::string bars_svg(const BarChart& chart);
/// Draws the same for a column of a paper, with letters of 7 points. Names, texts and bars share its width.
Svg bars_in_column(const BarChart& chart);

/// The range of values at an x. An infinite `high` reaches the top of the drawing; an infinite `low` draws nothing.
struct Spread {
  double x = 0, low = 0, high = 0;
};
struct Line {
  std::string name;
  std::vector<std::pair<double, double>> points;  // a point that is not finite breaks the line
  int style = 0;                                  // of colour and dashes
  std::vector<Spread> band = {};                  // a shade behind the line
};
struct LineChart {
  std::string title, x, y;
  std::vector<Line> lines;
  std::optional<double> target;
};
/// Draws lines. The y axis is logarithmic if all losses are above 0 and span more than a factor of 50.
std::string lines_svg(const LineChart& chart);
/// Draws the same for a column of a paper, with a legend.
Svg lines_in_column(const LineChart& chart);
/// Returns a sample of a line for the legend.
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
  double most = 0;  // the axis goes at least that far
};
std::string stacks_svg(const StackChart& chart);

/// A heat map whose columns cover the x axis from `from` to `to`. A cell that is NaN is empty.
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
