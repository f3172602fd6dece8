#include "suites/import/marks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <regex>
#include <set>
#include <sstream>
#include <utility>

#include "backends/base/error.h"
#include "backends/base/printable.h"
#include "results/arithmetic/statistics.h"

namespace hopbench {
namespace {

constexpr std::size_t kLeastToSettle = 4096;

void unite_parts(StepMarks& whole, const StepMarks& part) {
  whole.begin = std::min(whole.begin, part.begin);
  whole.end = std::max(whole.end, part.end);
  whole.last_collective = std::max(whole.last_collective, part.last_collective);
  whole.collectives += part.collectives;
}

bool is_earlier(const StepMarks& a, const StepMarks& b) { return a.step < b.step; }

/// The replica of a rank, and its place in it.
struct Place {
  int replica = 0, stage = 0;
};

Place place_of(const Layout& layout, std::int64_t rank, std::int64_t world) {
  if (!layout.grouped()) return {int(rank), 0};
  if (layout.replicas > 0) {
    const std::int64_t members = world / layout.replicas;
    return {int(rank / members), int(rank % members)};
  }
  const std::int64_t tensor = rank % layout.tensor, above = rank / layout.tensor;
  return {int(above % layout.data), int(above / layout.data * layout.tensor + tensor)};
}

/// Returns the number of ranks by the layout. Throws if they are not those that were found.
std::int64_t world_of(const std::vector<RankMarks>& ranks, const Layout& layout) {
  const std::int64_t found = ranks.back().rank + 1;
  if (!layout.grouped()) return found;
  if (layout.replicas > 0) {
    if (found % layout.replicas != 0)
      throw usage_error(fmt::format("--replicas {} does not divide the {} ranks of the trace (0 to {})",
                                    layout.replicas, found, found - 1));
    return found;
  }
  const std::int64_t world = std::int64_t{layout.data} * layout.pipeline * layout.tensor;
  if (found > world)
    throw usage_error(fmt::format("--parallel is of {} ranks, but the trace has rank {}", world, found - 1));
  return world;
}

/// Calls `use` for each step that ranks have, in rising order, with these ranks (indices) and their marks.
using MarksOfRanks = std::vector<std::pair<std::size_t, const StepMarks*>>;
void for_each_step(const std::vector<RankMarks>& ranks, const std::function<void(const MarksOfRanks&)>& use) {
  std::vector<std::deque<StepMarks>::const_iterator> at;
  using Next = std::pair<std::int64_t, std::size_t>;  // the next step of a rank, and the rank
  std::priority_queue<Next, std::vector<Next>, std::greater<>> next;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    at.push_back(ranks[r].steps.begin());
    if (!ranks[r].steps.empty()) next.emplace(at[r]->step, r);
  }
  for (MarksOfRanks having; !next.empty(); having.clear()) {
    for (const std::int64_t step = next.top().first; !next.empty() && next.top().first == step;) {
      const std::size_t r = next.top().second;
      next.pop();
      having.emplace_back(r, &*at[r]);
      if (++at[r] != ranks[r].steps.end()) next.emplace(at[r]->step, r);
    }
    use(having);
  }
}

/// Finds steps with another number of collectives than most ranks of the same stage have: their last collectives do not
/// tell how clocks differ. Leaves such steps out if rows depend on clocks, and reports them.
void check_collectives(std::vector<RankMarks>& ranks, const Layout& layout, std::int64_t world, bool by_clocks,
                       Remarks& remarks) {
  const auto stage_of = [&](std::size_t r) { return place_of(layout, ranks[r].rank, world).stage; };
  std::map<std::size_t, std::set<std::int64_t>> unusual;  // steps by rank
  std::map<std::size_t, std::string> first;
  for_each_step(ranks, [&](const MarksOfRanks& having) {
    std::map<int, std::map<std::uint32_t, int>> counts;  // stage; ranks with a number
    for (const auto& [r, marks] : having) ++counts[stage_of(r)][marks->collectives];
    for (const auto& [r, marks] : having) {
      std::pair<int, std::uint32_t> usual{0, 0};  // ranks, number
      for (const auto& [number, ranks_with_it] : counts[stage_of(r)]) usual = std::max(usual, {ranks_with_it, number});
      if (marks->collectives == usual.second) continue;
      if (unusual[r].empty())
        first[r] = fmt::format("step {}: {}, where others have {}", marks->step, marks->collectives, usual.second);
      unusual[r].insert(marks->step);
    }
  });
  for (const auto& [r, steps] : unusual) {
    Steps& own = ranks[r].steps;
    const bool all = std::size_t(std::distance(own.begin(), own.end())) == steps.size();
    if (by_clocks && all)
      remarks.cause(
          fmt::format("rank {} is left out: all its steps have another number of collectives than most ranks "
                      "({})",
                      ranks[r].rank, first[r]));
    for (const std::int64_t step : steps) {
      own.find(step)->collectives = 0;  // says nothing about its clock
      if (by_clocks && all) continue;
      remarks.step(ranks[r].rank, step,
                   by_clocks ? "another number of collectives than on most ranks: left out"
                             : "another number of collectives than on most ranks, on which no row depends",
                   first[r]);
    }
    if (by_clocks)
      own.erase_if([&, &left_out = steps](const StepMarks& marks) { return left_out.contains(marks.step); });
  }
}

/// Compares the clock of `rank` with that of `base`. Returns an offset of no steps if they share no collective.
ClockOffset offset_of(const RankMarks& rank, const RankMarks& base) {
  std::vector<double> differences;
  for (const StepMarks& marks : rank.steps) {
    const StepMarks* const same = base.steps.find(marks.step);
    if (same == nullptr || marks.collectives == 0 || same->collectives == 0) continue;
    differences.push_back(marks.last_collective - same->last_collective);
  }
  ClockOffset offset{int(rank.rank), 0, 0, differences.size()};
  if (differences.empty()) return offset;
  offset.seconds = median(differences);
  for (double& difference : differences) difference = std::abs(difference - offset.seconds);
  offset.spread = median(differences);
  return offset;
}

void move_clock(RankMarks& rank, double offset) {
  for (StepMarks& marks : rank.steps) {
    for (const auto time : {&StepMarks::begin, &StepMarks::end, &StepMarks::last_collective}) marks.*time -= offset;
  }
  for (Span& span : rank.exposed) span = {span.begin - offset, span.end - offset};
}

/// Returns how long a replica works in a step, or nothing if one of its ranks lacks the step.
std::optional<double> replica_seconds(const std::vector<RankMarks*>& members, std::int64_t step) {
  Span whole{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (const RankMarks* member : members) {
    const StepMarks* const found = member->steps.find(step);
    if (found == nullptr) return std::nullopt;
    whole = {std::min(whole.begin, found->begin), std::max(whole.end, found->end)};
  }
  Spans idle{whole};
  for (const RankMarks* member : members) {
    const StepMarks& marks = *member->steps.find(step);
    Spans own = within(member->exposed, marks.begin, marks.end);
    own.push_back({whole.begin, marks.begin});
    own.push_back({marks.end, whole.end});
    unite(own);
    idle = common_to(idle, own);
  }
  return whole.end - whole.begin - length_of(idle);
}

/// Returns the mean over the members of the time that each computes, divided by that of the busiest.
double balance_of(const std::vector<RankMarks*>& members) {
  double sum = 0, most = 0;
  for (const RankMarks* member : members) {
    double busy = 0;
    for (const StepMarks& marks : member->steps)
      busy += marks.end - marks.begin - length_of(within(member->exposed, marks.begin, marks.end));
    sum += busy;
    most = std::max(most, busy);
  }
  return most > 0 ? sum / double(members.size()) / most : 1;
}

void add_replicas(std::vector<RankMarks>& ranks, const Layout& layout, std::int64_t world, Imported& to) {
  const std::int64_t replicas = layout.replicas > 0 ? layout.replicas : layout.data;
  std::map<int, std::vector<RankMarks*>> members;
  for (RankMarks& rank : ranks) members[place_of(layout, rank.rank, world).replica].push_back(&rank);
  double balances = 0;
  bool communicates = false;
  for (const auto& [replica, own] : members) {
    if (std::int64_t(own.size()) < world / replicas) {
      to.remarks.cause(fmt::format("replica {}: {} of its {} ranks are missing: it is left out", replica,
                                   world / replicas - std::int64_t(own.size()), world / replicas));
      continue;
    }
    std::map<std::int64_t, int> steps;
    for (const RankMarks* rank : own) {
      for (const StepMarks& marks : rank->steps) ++steps[marks.step];
      communicates = communicates || !rank->exposed.empty();
    }
    for (const auto& [step, having] : steps) {
      if (const auto seconds = replica_seconds(own, step)) {
        to.add(replica, step, *seconds);
      } else {
        to.remarks.step(replica, step, "missing in a rank of this replica: left out",
                        fmt::format("{} of {} ranks", own.size() - std::size_t(having), own.size()));
      }
    }
    balances += balance_of(own) / double(members.size());
  }
  if (communicates) to.stage_balance = balances;
}

}  // namespace

void Steps::add(const StepMarks& part) {
  if (!list_.empty() && list_.back().step == part.step) return unite_parts(list_.back(), part);
  if (!list_.empty() && part.step < list_.back().step && settled_) {
    if (StepMarks* const whole = find(part.step)) return unite_parts(*whole, part);
    settled_ = false;
    settle_at_ = std::max(kLeastToSettle, 2 * list_.size());
  }
  list_.push_back(part);
  if (!settled_ && list_.size() >= settle_at_) settle();
}

void Steps::settle() {
  if (settled_) return;
  settled_ = true;
  std::sort(list_.begin(), list_.end(), is_earlier);
  auto to = list_.begin();
  for (auto from = std::next(to); from != list_.end(); ++from) {
    if (from->step == to->step) {
      unite_parts(*to, *from);
    } else {
      *++to = *from;
    }
  }
  list_.erase(std::next(to), list_.end());
}

const StepMarks* Steps::find(std::int64_t step) const {
  const auto found = std::lower_bound(list_.begin(), list_.end(), StepMarks{.step = step}, is_earlier);
  return found != list_.end() && found->step == step ? &*found : nullptr;
}

void settle_exposed(RankMarks& rank) {
  for (StepMarks& marks : rank.steps) marks.exposed = length_of(within(rank.exposed, marks.begin, marks.end));
  rank.exposed = {};
}

void add_rows(std::vector<RankMarks>& ranks, const Layout& layout, bool align, Imported& to) {
  std::erase_if(ranks, [](const RankMarks& rank) { return rank.steps.empty(); });
  if (ranks.empty()) return;
  std::sort(ranks.begin(), ranks.end(), [](const RankMarks& a, const RankMarks& b) { return a.rank < b.rank; });
  const std::int64_t world = world_of(ranks, layout);
  check_collectives(ranks, layout, world, align && layout.grouped(), to.remarks);
  for (std::size_t i = 1; i < ranks.size() && align; ++i) {
    const ClockOffset offset = offset_of(ranks[i], ranks.front());
    if (offset.steps > 0) {
      to.clocks.push_back(offset);
    } else if (layout.grouped() && !ranks[i].steps.empty()) {
      to.remarks.cause(
          fmt::format("rank {} is left out: it shares no collective with rank {}, so that its clock is "
                      "unknown",
                      ranks[i].rank, ranks.front().rank));
      ranks[i].steps.clear();
    }
    if (layout.grouped()) move_clock(ranks[i], offset.seconds);
  }
  to.clocks_applied = align && layout.grouped();
  if (layout.grouped()) {
    add_replicas(ranks, layout, world, to);
    return;
  }
  for (RankMarks& rank : ranks) {
    for (const StepMarks& marks : rank.steps)
      to.add(int(rank.rank), marks.step, marks.end - marks.begin - marks.exposed);
    rank.steps.clear();
  }
}

Layout parse_layout(const std::string& text) {
  constexpr int kMostOfLayout = 100'000;
  Layout layout;
  std::string rest = text;
  std::replace(rest.begin(), rest.end(), ',', ' ');
  std::istringstream words(rest);
  for (std::string word; words >> word;) {
    static const std::regex kSize("(dp|pp|tp)([0-9]{1,6})");
    std::smatch parts;
    const int size = std::regex_match(word, parts, kSize) ? std::stoi(parts[2]) : 0;
    if (size < 1 || size > kMostOfLayout)
      throw usage_error(fmt::format("--parallel '{}': '{}' is not a size: give dpN, ppN and tpN, as in \"dp2 pp4 tp1\"",
                                    quotable(text), quotable(word)));
    if (text.find(parts[1]) != text.rfind(parts[1]))
      throw usage_error(fmt::format("--parallel '{}': {} is there twice", quotable(text), parts[1].str()));
    (word[0] == 'd' ? layout.data : word[0] == 'p' ? layout.pipeline : layout.tensor) = size;
  }
  if (layout.data == 0) throw usage_error("--parallel needs dpN, the number of replicas, as in \"dp2 pp4 tp1\"");
  return layout;
}

}  // namespace hopbench
