// Figures of the ranks' use of time, of how far ahead they were, and of the staleness of what they averaged.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "results/report/chart.h"
#include "results/report/report_parts.h"

namespace hopbench::report {
namespace {

struct Fill {
  std::string name, colour, hatch;
};
constexpr int kColours = 5, kWaits = 25;  // fills of waiting, all different

/// Returns all fills. Adjacent ones differ in colour, lightness and pattern; any one of these is enough to tell them.
std::vector<Fill> all_fills() {
  constexpr const char* kColour[kColours] = {"orange", "sky", "purple", "yellow", "grey"};
  constexpr const char* kHatch[kColours] = {"", "dots", "level", "cross", "left"};
  std::vector<Fill> fills{
      {"compute", "blue", ""}, {"slow", "vermillion", "right"}, {"ops", "green", "upright"}, {"rest", "pale", ""}};
  for (int i = 0; i < kWaits; ++i) {
    fills.push_back({fmt::format("w{}", i), kColour[i % kColours], kHatch[(i + i / kColours) % kColours]});
  }
  return fills;
}

std::string hatch_path(const std::string& hatch) {
  if (hatch == "dots") return "M2 2h1.6v1.6h-1.6zM5 5h1.6v1.6h-1.6z";
  if (hatch == "level") return "M0 3h6v1.4h-6z";
  if (hatch == "upright") return "M3 0h1.2v6h-1.2z";
  if (hatch == "left") return "M0 0l1.4 0l4.6 4.6v1.4zM4.6 0h1.4v1.4zM0 4.6v1.4h1.4z";
  if (hatch == "right") return "M6 0l-1.4 0l-4.6 4.6v1.4zM1.4 0h-1.4v1.4zM6 4.6v1.4h-1.4z";
  if (hatch == "cross") return "M2.4 0h1.2v6h-1.2zM0 2.4h6v1.2h-6z";
  return "";
}

std::string swatch(const std::string& fill, const std::string& name) {
  return fmt::format(
      "<span><svg class=\"sample\" viewBox=\"0 0 30 10\"><rect width=\"30\" height=\"10\" class=\"{}\"/></svg> "
      "{}</span>\n",
      fill, chart::markup(name));
}

double of_total(Duration part, double total_s) { return 100 * to_seconds(part) / total_s; }

std::vector<chart::Part> parts_of(const RankRecord& rank, double total_s, Fills& fills) {
  std::vector<chart::Part> parts{
      {"compute", "compute", of_total(rank.compute - rank.injected_delay, total_s)},
      {"slowdown", "slow", of_total(rank.injected_delay, total_s)},
      {"vector operations", "ops", of_total(rank.vector_ops, total_s)},
  };
  for (const auto& [reason, time] : rank.waits) {
    parts.push_back({"waiting, " + reason, fills.of(reason), of_total(time, total_s)});
  }
  double sum = 0;
  for (const chart::Part& part : parts) sum += part.value;
  parts.push_back({"rest", "rest", std::max(0.0, 100 - sum)});
  return parts;
}

std::set<std::string> reasons_of(const TrialRow& row) {
  std::set<std::string> reasons;
  for (const RankRecord& rank : row.record.ranks) {
    for (const auto& [reason, time] : rank.waits) {
      if (time.count() != 0) reasons.insert(reason);
    }
  }
  return reasons;
}

std::span<const RankRecord> first_of(const std::vector<RankRecord>& ranks) {
  return std::span(ranks).first(std::min(ranks.size(), kMostRanksInData));
}

/// Returns "drawn are 32 of 1000 ranks, and the data are of 256; ranks.csv has all"; "" if all are drawn.
std::string ranks_note(const char* what, std::size_t number) {
  if (number <= kMostRanks) return "";
  std::string note = fmt::format("drawn are {} of {} {}", kMostRanks, number, what);
  if (number > kMostRanksInData) {
    note += fmt::format(", and the data are of {}: ranks.csv and hopbench trace have all", kMostRanksInData);
  }
  return note;
}

Figure stack_figure(const TrialRow& row, Fills& fills) {
  chart::StackChart chart{row.labels.variant, "% of the trial's time", {}, 100};
  Figure figure;
  figure.title = row.labels.variant;
  figure.data.columns = {"rank", "part", "percent"};
  for (const RankRecord& rank : first_of(row.record.ranks)) {
    const std::vector<chart::Part> parts = parts_of(rank, row.record.time_s, fills);
    for (const chart::Part& part : parts) figure.data.rows.push_back({rank_name(rank), part.name, exact(part.value)});
    if (chart.rows.size() < kMostRanks) chart.rows.push_back({rank_name(rank), parts});
  }
  if (const std::string note = ranks_note("ranks", row.record.ranks.size()); !note.empty())
    figure.notes.push_back(note);
  figure.svg = chart::stacks_svg(chart);
  return figure;
}

Figure gap_figure(const Shown& shown) {
  const TrialRow& row = *shown.row;
  chart::HeatMap map{row.labels.variant + ": iteration gap",
                     "time, s",
                     "iterations ahead",
                     0,
                     row.record.time_s,
                     {},
                     {},
                     shown.bound.gap};
  Figure figure;
  figure.data.columns = {"rank", "from_s", "gap"};
  std::size_t at = 0;
  for (const RankRecord& rank : row.record.ranks) {
    if (rank.server || at++ >= kMostRanksInData) continue;
    const std::vector<double>& gaps = shown.digest.gaps[at - 1];
    for (std::size_t part = 0; part < gaps.size(); ++part) {
      if (std::isnan(gaps[part])) continue;
      figure.data.rows.push_back(
          {rank_name(rank), exact(row.record.time_s * double(part) / double(gaps.size())), exact(gaps[part])});
    }
    if (map.rows.size() == kMostRanks) continue;
    map.rows.push_back(rank_name(rank));
    map.cells.push_back(gaps);
  }
  figure.title = fmt::format("{}: largest {:g}{}", row.labels.variant, shown.digest.gap_most,
                             shown.bound.gap ? fmt::format(", bound {:g}", *shown.bound.gap) : ", no bound known here");
  if (const std::string note = ranks_note("workers", at); !note.empty()) figure.notes.push_back(note);
  figure.svg = chart::heat_svg(map);
  return figure;
}

Figure staleness_figure(const Shown& shown) {
  constexpr std::int64_t kMostBins = 40;
  const auto& counts = shown.digest.staleness;
  const std::int64_t low = std::min<std::int64_t>(0, counts.begin()->first), high = counts.rbegin()->first;
  const std::int64_t width = (high - low) / kMostBins + 1;
  chart::Histogram histogram{shown.row->labels.variant + ": staleness",
                             "iterations behind",
                             "terms",
                             {},
                             double(width),
                             shown.bound.staleness};
  std::map<std::int64_t, std::int64_t> bins;
  for (const auto& [staleness, count] : counts) bins[low + (staleness - low) / width * width] += count;
  Figure figure;
  figure.data.columns = {"staleness", "terms"};
  if (width > 1) figure.notes.push_back(fmt::format("a bar is {} iterations wide", width));
  for (const auto& [from, count] : bins) {
    histogram.bins.emplace_back(double(from), double(count));
    figure.data.rows.push_back({fmt::format("{}", from), fmt::format("{}", count)});
  }
  figure.title = fmt::format("{}: largest {}{}", shown.row->labels.variant, high,
                             shown.bound.staleness ? fmt::format(", bound {:g}", *shown.bound.staleness) : "");
  figure.svg = chart::histogram_svg(histogram);
  return figure;
}

}  // namespace

Fills::Fills(const std::vector<Group>& groups) {
  std::map<std::string, double> sums;
  for (const Group& group : groups) {
    for (const TrialRow* row : group.trials()) {
      for (const RankRecord& rank : row->record.ranks) {
        for (const auto& [reason, time] : rank.waits) sums[reason] += to_seconds(time);
      }
    }
  }
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [reason, seconds] : sums) order.emplace_back(-seconds, reason);
  std::sort(order.begin(), order.end());
  for (const auto& [seconds, reason] : order) places_.try_emplace(reason, int(places_.size()));
}

std::string Fills::of(const std::string& reason) {
  const int place = places_.try_emplace(reason, int(places_.size())).first->second;
  return fmt::format("w{}", place % kWaits);
}

std::string Fills::legend(const std::set<std::string>& reasons, bool with_rest) {
  std::string text = swatch("compute", "compute") + swatch("slow", "slowdown") + swatch("ops", "vector operations");
  if (with_rest) text += swatch("rest", "rest");
  return reasons.size() <= kMostInLegend ? text + waits_legend(reasons) : text;
}

std::string Fills::waits_legend(const std::set<std::string>& reasons) {
  std::string text;
  for (const std::string& reason : reasons) text += swatch(of(reason), "waiting: " + reason);
  return text;
}

std::string Fills::patterns() {
  std::string text = "<svg class=\"patterns\" width=\"0\" height=\"0\" aria-hidden=\"true\"><defs>\n";
  for (const Fill& fill : all_fills()) {
    text += fmt::format(
        "<pattern id=\"fill-{}\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><rect width=\"6\" "
        "height=\"6\" "
        "class=\"c-{}\"/><path d=\"{}\" class=\"hatch\"/></pattern>\n",
        fill.name, fill.colour, fill.hatch.empty() ? "M0 0" : hatch_path(fill.hatch));
  }
  return text + "</defs></svg>\n";
}

void add_stacks(Page& page, const std::vector<Group>& groups, const Drawn& drawn, Fills& fills) {
  page.section("time", "Where the time went");
  page.paragraph(
      "The first repeat of each variant, a bar a rank. Parts may add up to more than 100 % where a rank "
      "waits for two things at once.",
      "note");
  if (!drawn.left_out.empty()) page.paragraph(drawn.left_out, "note");
  for (const Group& group : groups) {
    std::set<std::string> reasons;
    std::vector<const TrialRow*> rows;
    for (const Shown& shown : drawn.trials) {
      if (shown.group != &group || shown.row->record.time_s <= 0 || shown.row->record.ranks.empty()) continue;
      rows.push_back(shown.row);
      reasons.merge(reasons_of(*shown.row));
    }
    if (rows.empty() && !drawn.left_out.empty()) continue;
    page.heading(group.in_words());
    if (rows.empty()) {
      page.paragraph("no trial ended well");
      continue;
    }
    page.raw("<p class=\"legend\">" + fills.legend(reasons, true) + "</p>\n");
    page.begin_figures();
    for (const TrialRow* row : rows) {
      Figure figure = stack_figure(*row, fills);
      if (reasons.size() > Fills::kMostInLegend) figure.legend = fills.waits_legend(reasons_of(*row));
      page.figure(figure);
    }
    page.end_figures();
  }
}

void add_gaps(Page& page, const Drawn& drawn) {
  const std::vector<Shown>& trials = drawn.trials;
  page.section("gaps", "Iteration gaps and staleness");
  page.paragraph(
      "Gap: a worker's iteration minus the slowest worker's, the largest in each sixtieth of the trial; every map has "
      "a "
      "scale of its own. Staleness: by how many iterations what other workers sent was behind the average that it went "
      "into. The first repeat of each variant.",
      "note");
  if (!drawn.left_out.empty()) page.paragraph(drawn.left_out, "note");
  const Group* last = nullptr;
  for (std::size_t t = 0; t < trials.size(); ++t) {
    const Shown& shown = trials[t];
    if (shown.group != last) {
      if (last != nullptr) page.end_figures();
      page.heading(shown.group->in_words());
      page.begin_figures();
      last = shown.group;
    }
    if (!shown.digest.problem.empty()) {
      page.paragraph(shown.row->labels.variant + ": no event log: " + shown.digest.problem, "missing");
      continue;
    }
    page.raw("<div class=\"pair\">\n");
    page.figure(gap_figure(shown));
    if (shown.digest.staleness.empty()) {
      page.paragraph(shown.row->labels.variant + ": its workers average nothing of each other's", "missing");
    } else {
      page.figure(staleness_figure(shown));
    }
    page.raw("</div>\n");
  }
  if (last != nullptr) page.end_figures();
  if (trials.empty()) page.paragraph("no trial ended well");
}

}  // namespace hopbench::report
