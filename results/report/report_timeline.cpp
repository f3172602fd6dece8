// Timelines: a lane for each rank. A window is drawn; report.js moves it over the slices that the page holds.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "results/report/chart.h"
#include "results/report/report_parts.h"

namespace hopbench::report {
namespace {

constexpr std::size_t kMostSlices = 2000;
constexpr double kLeft = 74, kWide = 840, kRight = 16, kTop = 6;

struct Window {
  std::int64_t from = 0, to = 0;  // ns
};

/// Returns the slices that a page keeps of a trial: those from the window on, and earlier ones if there is room.
std::vector<Slice> kept_slices(std::vector<Slice> slices, std::int64_t from) {
  if (slices.size() <= kMostSlices) return slices;
  const auto first = std::find_if(slices.begin(), slices.end(), [&](const Slice& s) { return s.to > from; });
  const std::size_t begin = std::min(std::size_t(first - slices.begin()), slices.size() - kMostSlices);
  return {slices.begin() + std::ptrdiff_t(begin), slices.begin() + std::ptrdiff_t(begin + kMostSlices)};
}

/// Returns the layer of a slice. Gradients lie over waits: if both are under way, the rank is computing.
int layer(const Slice& slice) { return slice.kind >= 0 ? 0 : slice.kind == Slice::kGradient ? 1 : 2; }

struct Lanes {
  std::vector<std::string> names;
  std::map<int, int> lane_of;  // of a rank
  double height = 18;
  double bottom() const { return kTop + height * double(names.size()); }
};

Lanes lanes_of(const TrialRow& row) {
  Lanes lanes;
  for (const RankRecord& rank : row.record.ranks) {
    if (lanes.names.size() == kMostRanks) break;
    lanes.lane_of[rank.rank] = int(lanes.names.size());
    lanes.names.push_back(rank_name(rank));
  }
  if (lanes.names.size() > 16) lanes.height = 12;
  return lanes;
}

struct Named {
  std::string fill, name;
};
Named named(const Slice& slice, const Digest& digest, Fills& fills) {
  if (slice.kind == Slice::kGradient) return {"compute", "gradient"};
  if (slice.kind == Slice::kOperation) return {"ops", "vector operation"};
  const std::string& reason = digest.reasons[std::size_t(slice.kind)];
  return {fills.of(reason), "waiting: " + reason};
}

/// Draws one stretch of a lane, cut to the window.
void draw(chart::Svg& svg, const Window& window, const Lanes& lanes, int lane, std::int64_t from, std::int64_t to,
          const Named& what) {
  from = std::max(from, window.from), to = std::min(to, window.to);
  if (to <= from) return;
  const double scale = kWide / double(window.to - window.from);
  svg.rect(kLeft + scale * double(from - window.from), kTop + lanes.height * lane + 2,
           std::max(0.4, scale * double(to - from)), lanes.height - 4, what.fill, what.name);
}

std::string timeline_svg(const TrialRow& row, const Digest& digest, const std::vector<Slice>& slices,
                         const Window& window, const Lanes& lanes, Fills& fills) {
  chart::Svg svg(kLeft + kWide + kRight, lanes.bottom() + 38, row.labels.variant + ": timeline");
  for (std::size_t lane = 0; lane < lanes.names.size(); ++lane) {
    const double y = kTop + lanes.height * double(lane);
    svg.name(kLeft - 6, y + lanes.height / 2 + 4, lanes.names[lane], 11);
    svg.rect(kLeft, y + 2, kWide, lanes.height - 4, "lane");
  }
  svg.raw("<g class=\"moving\">\n");
  chart::Axis axis = chart::make_axis("time, s", double(window.from) / 1e9, double(window.to) / 1e9, 8);
  axis.low = double(window.from) / 1e9, axis.high = double(window.to) / 1e9;
  std::erase_if(axis.ticks, [&](double tick) { return tick < axis.low - 1e-12 || tick > axis.high + 1e-12; });
  svg.bottom_axis(axis, kLeft, kTop, kWide, lanes.bottom() - kTop);
  for (const Slice& slice : slices) {
    const int lane = lanes.lane_of.at(slice.rank);
    draw(svg, window, lanes, lane, slice.from, slice.to - slice.delay, named(slice, digest, fills));
    draw(svg, window, lanes, lane, std::max(slice.from, slice.to - slice.delay), slice.to, {"slow", "slowdown"});
  }
  svg.raw("</g>\n");
  return svg.finish();
}

/// Returns for report.js [lane, what, from, length, delay] of every slice in microseconds, one after the other.
std::string timeline_json(const Digest& digest, const std::vector<Slice>& slices, const Window& window,
                          const Lanes& lanes, Fills& fills) {
  nlohmann::json what = nlohmann::json::array({{"ops", "vector operation"}, {"compute", "gradient"}});
  for (std::size_t r = 0; r < digest.reasons.size(); ++r) {
    const Named wait = named({0, int(r), 0, 0, 0}, digest, fills);
    what.push_back({wait.fill, wait.name});
  }
  nlohmann::json numbers = nlohmann::json::array();
  std::int64_t first = window.from / 1000, last = window.to / 1000;
  for (const Slice& slice : slices) {
    const std::int64_t from = slice.from / 1000, to = slice.to / 1000;
    first = std::min(first, from), last = std::max(last, to);
    for (const std::int64_t n : {std::int64_t(lanes.lane_of.at(slice.rank)), std::int64_t(slice.kind + 2), from,
                                 to - from, slice.delay / 1000}) {
      numbers.push_back(n);
    }
  }
  const nlohmann::json all{{"left", kLeft},
                           {"wide", kWide},
                           {"top", kTop},
                           {"lane", lanes.height},
                           {"lanes", lanes.names.size()},
                           {"from", window.from / 1000},
                           {"to", window.to / 1000},
                           {"first", first},
                           {"last", last},
                           {"what", what},
                           {"slices", numbers}};
  std::string text;
  for (const char c : all.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)) {
    text += c == '<' ? std::string("\\u003c") : std::string(1, c);  // nothing in it may end the script
  }
  return text;
}

Table timeline_data(const TrialRow& row, const Digest& digest, const std::vector<Slice>& slices, const Window& window,
                    const Lanes& lanes, Fills& fills) {
  Table data{.columns = {"rank", "what", "from_s", "to_s", "slowdown_s"}};
  for (const Slice& slice : slices) {
    if (slice.to <= window.from || slice.from >= window.to) continue;
    data.rows.push_back({rank_name(row.record.ranks[std::size_t(lanes.lane_of.at(slice.rank))]),
                         named(slice, digest, fills).name, exact(double(slice.from) / 1e9),
                         exact(double(slice.to) / 1e9), exact(double(slice.delay) / 1e9)});
  }
  return data;
}

/// Returns the window of each group. All its variants have windows of one length, from the end of the longest warm-up
/// on if the trial goes that far.
std::map<const Group*, Window> windows_of(const std::vector<Shown>& trials) {
  constexpr double kIterations = 8;
  std::map<const Group*, Window> windows;
  for (const Shown& shown : trials) {
    const TrialRecord& record = shown.row->record;
    Window& window = windows[shown.group];
    window.from = std::max(window.from, seconds_to_duration(record.window_start_s).count());
    window.to = std::max(window.to, seconds_to_duration(kIterations * record.median_iteration_s).count());
  }
  for (auto& [group, window] : windows) window.to += window.from;
  return windows;
}

Window window_of(Window window, const TrialRecord& record) {
  const std::int64_t end = seconds_to_duration(record.time_s).count(), length = window.to - window.from;
  if (length <= 0 || length >= end) return {0, std::max<std::int64_t>(1000, end)};
  if (window.to > end) window = {std::max<std::int64_t>(0, end - length), end};
  return window;
}

void add_timeline(Page& page, const Shown& shown, const Window& common, bool own_legend, Fills& fills) {
  const TrialRow& row = *shown.row;
  const Window window = window_of(common, row.record);
  const Lanes lanes = lanes_of(row);
  const Digest& digest = shown.digest;
  std::vector<Slice> slices = kept_slices(digest.slices, window.from);
  std::stable_sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) { return layer(a) < layer(b); });
  Figure figure;
  figure.wide = true;
  figure.title = row.labels.variant;
  figure.svg = "<div class=\"timeline\">\n" + timeline_svg(row, digest, slices, window, lanes, fills) +
               "<script type=\"application/json\">" + timeline_json(digest, slices, window, lanes, fills) +
               "</script>\n</div>\n";
  if (own_legend) figure.legend = fills.waits_legend({digest.reasons.begin(), digest.reasons.end()});
  figure.data = timeline_data(row, digest, slices, window, lanes, fills);
  if (slices.size() < digest.slices_in_log) {
    std::int64_t from = window.to, to = window.from;
    for (const Slice& slice : slices) from = std::min(from, slice.from), to = std::max(to, slice.to);
    figure.notes.push_back(fmt::format("{} of {} slices are here, from {} s to {} s: hopbench trace has them all",
                                       slices.size(), digest.slices_in_log, number_text(double(from) / 1e9),
                                       number_text(double(to) / 1e9)));
  }
  page.figure(figure);
}

}  // namespace

void add_timelines(Page& page, const Drawn& drawn, Fills& fills) {
  const std::vector<Shown>& trials = drawn.trials;
  page.section("timelines", "Timelines");
  page.paragraph(
      "The first repeat of each variant, a lane a rank, from the end of the warm-up on. The data below a timeline are "
      "the slices of the window that is drawn without JavaScript.",
      "note");
  if (!drawn.left_out.empty()) page.paragraph(drawn.left_out, "note");
  const std::map<const Group*, Window> windows = windows_of(trials);
  const Group* last = nullptr;
  bool own_legends = false;
  for (const Shown& shown : trials) {
    if (shown.group != last) {
      std::set<std::string> reasons;
      for (const Shown& other : trials) {
        if (other.group == shown.group) reasons.insert(other.digest.reasons.begin(), other.digest.reasons.end());
      }
      page.heading(shown.group->in_words());
      page.raw("<p class=\"legend\">" + fills.legend(reasons, false) + "</p>\n");
      own_legends = reasons.size() > Fills::kMostInLegend;
      last = shown.group;
    }
    if (!shown.digest.problem.empty()) {
      page.paragraph(shown.row->labels.variant + ": no event log: " + shown.digest.problem, "missing");
    } else {
      add_timeline(page, shown, windows.at(shown.group), own_legends, fills);
    }
  }
  if (trials.empty()) page.paragraph("no trial ended well");
}

}  // namespace hopbench::report
