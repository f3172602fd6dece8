// Text, axes and the pieces that all charts are made of.
#include "results/report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hopbench::chart {
namespace {

constexpr const char* kReplacement = "\xEF\xBF\xBD";

/// Returns the number of bytes of the well-formed code point at the front (RFC 3629); 0: there is none.
std::size_t code_point_size(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  const unsigned second = byte(1);
  if (first >= 0xE0 && first <= 0xEF) {
    const bool overlong = first == 0xE0 && second < 0xA0, surrogate = first == 0xED && second > 0x9F;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool outside = (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
    return follows(1) && follows(2) && follows(3) && !outside ? 4 : 0;
  }
  return 0;
}

const char* escape_of(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    case '\n':
    case '\r':
    case '\t':
      return " ";
    default:
      return static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? kReplacement : nullptr;
  }
}

/// Rounds up to the nearest of 1, 2 and 5 times a power of ten.
double round_step(double raw) {
  const double power = std::pow(10, std::floor(std::log10(raw)));
  const double digit = raw / power;
  return power * (digit <= 1.0001 ? 1 : digit <= 2.0001 ? 2 : digit <= 5.0001 ? 5 : 10);
}

const char* anchor_text(Svg::Anchor anchor) {
  return anchor == Svg::Anchor::kStart ? "" : anchor == Svg::Anchor::kMiddle ? " mid" : " end";
}

}  // namespace

std::string markup(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t size = code_point_size(text);
    const char* escape = size == 1 ? escape_of(text[0]) : size == 0 ? kReplacement : nullptr;
    out += escape != nullptr ? std::string_view(escape) : text.substr(0, size);
    text.remove_prefix(std::max<std::size_t>(1, size));
  }
  return out;
}

std::string shortened(std::string_view text, std::size_t most) {
  std::size_t end = 0, before_last = 0;
  for (std::size_t count = 0; end < text.size(); ++count) {
    if (count == most) return std::string(text.substr(0, before_last)) + "\xE2\x80\xA6";
    before_last = end;
    end += std::max<std::size_t>(1, code_point_size(text.substr(end)));
  }
  return std::string(text);
}

std::string coordinate(double value) {
  std::string text = fmt::format("{:.2f}", std::isfinite(value) ? value : 0);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

double Axis::at(double value) const {
  if (log) return (std::log(std::max(value, low)) - std::log(low)) / (std::log(high) - std::log(low));
  return (value - low) / (high - low);
}

std::string Axis::tick_text(double tick) const {
  if (log || ticks.size() < 2) return fmt::format("{:g}", tick);
  const double step = ticks[1] - ticks[0];
  if (std::max(std::abs(low), std::abs(high)) >= 1e6 || step < 1e-4) return fmt::format("{:g}", tick);
  return fmt::format("{:.{}f}", tick, std::max(0, -static_cast<int>(std::floor(std::log10(step) + 1e-9))));
}

Axis make_axis(std::string label, double low, double high, int count) {
  if (!std::isfinite(low)) low = 0;
  if (!std::isfinite(high) || high <= low) high = low + (low == 0 ? 1 : std::abs(low));
  const double step = round_step((high - low) / count);
  Axis axis{std::move(label), 0, 0, false, {}};
  const double first = std::floor(low / step + 1e-9), last = std::ceil(high / step - 1e-9);
  for (double k = first; k <= last; ++k) axis.ticks.push_back(k == 0 ? 0 : k * step);
  axis.low = axis.ticks.front();
  axis.high = axis.ticks.back();
  return axis;
}

Axis make_log_axis(std::string label, double low, double high) {
  Axis axis{std::move(label), low, std::max(high, low * 1.1), true, {}};
  const bool few = std::log10(axis.high / axis.low) < 2.5;
  for (double power = std::pow(10, std::floor(std::log10(low))); power <= axis.high; power *= 10) {
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double tick = power * digit;
      if ((few || digit == 1) && tick >= axis.low && tick <= axis.high) axis.ticks.push_back(tick);
    }
  }
  return axis;
}

std::string Svg::finish() const {
  return fmt::format(
      "<svg class=\"chart\" viewBox=\"0 0 {0} {1}\" style=\"max-width:{0}px\" role=\"img\" "
      "aria-label=\"{2}\">\n{3}</svg>\n",
      coordinate(width_), coordinate(height_), markup(title_), text_);
}

std::string Svg::part(double y) const {
  return fmt::format("<g transform=\"translate(0 {})\">\n{}</g>\n", coordinate(y), text_);
}

void Svg::rect(double x, double y, double w, double h, std::string_view fill, std::string_view hint, double opacity) {
  text_ += fmt::format(R"(<rect x="{}" y="{}" width="{}" height="{}" class="{}")", coordinate(x), coordinate(y),
                       coordinate(std::max(0.0, w)), coordinate(std::max(0.0, h)), markup(fill));
  if (opacity < 1) text_ += fmt::format(R"( fill-opacity="{}")", coordinate(opacity));
  text_ += hint.empty() ? std::string("/>") : fmt::format("><title>{}</title></rect>", markup(hint));
  text_ += "\n";
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view kind) {
  text_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" class=\"{}\"/>\n", coordinate(x1), coordinate(y1),
                       coordinate(x2), coordinate(y2), markup(kind));
}

void Svg::path(const std::string& d, std::string_view kind, std::string_view hint) {
  text_ += fmt::format(R"(<path d="{}" class="{}")", d, markup(kind));
  text_ += hint.empty() ? std::string("/>\n") : fmt::format("><title>{}</title></path>\n", markup(hint));
}

void Svg::text(double x, double y, std::string_view words, Anchor anchor, std::string_view kind) {
  text_ += fmt::format("<text x=\"{}\" y=\"{}\" class=\"{}{}\">{}</text>\n", coordinate(x), coordinate(y), markup(kind),
                       anchor_text(anchor), markup(words));
}

void Svg::name(double x, double y, std::string_view words, std::size_t most) {
  const std::string shown = shortened(words, most);
  text_ += fmt::format("<text x=\"{}\" y=\"{}\" class=\"end\">{}", coordinate(x), coordinate(y), markup(shown));
  if (shown != words) text_ += fmt::format("<title>{}</title>", markup(words));
  text_ += "</text>\n";
}

void Svg::bottom_axis(const Axis& axis, double x, double y, double w, double h) {
  for (const double tick : axis.ticks) {
    const double at = x + w * axis.at(tick);
    line(at, y, at, y + h, "grid");
    text(at, y + h + 14, axis.tick_text(tick), Anchor::kMiddle, "tick");
  }
  line(x, y + h, x + w, y + h, "axis");
  text(x + w / 2, y + h + 30, axis.label, Anchor::kMiddle, "label");
}

void Svg::left_axis(const Axis& axis, double x, double y, double w, double h) {
  for (const double tick : axis.ticks) {
    const double at = y + h * (1 - axis.at(tick));
    line(x, at, x + w, at, "grid");
    text(x - 6, at + 4, axis.tick_text(tick), Anchor::kEnd, "tick");
  }
  line(x, y, x, y + h, "axis");
  text(x - 6, y - 8, axis.label, Anchor::kStart, "label");
}

}  // namespace hopbench::chart
