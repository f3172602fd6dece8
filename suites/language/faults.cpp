// Faults of a scenario: what each kind needs and knows, and if the faults have an effect.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "backends/base/text.h"
#include "suites/language/draft.h"

namespace hopbench {
namespace {

constexpr FaultKind kFaultKinds[] = {FaultKind::kCrash, FaultKind::kLeave, FaultKind::kJoin, FaultKind::kHang,
                                     FaultKind::kCut};

FaultKind fault_kind(const Value& table) {
  const std::string& kind = table.find("kind")->value.text;
  return *std::find_if(std::begin(kFaultKinds), std::end(kFaultKinds),
                       [&](FaultKind what) { return kind == to_string(what); });
}

/// Returns the keys of a kind other than `at`.
std::vector<std::string> keys_of_kind(FaultKind what) {
  switch (what) {
    case FaultKind::kCrash:
    case FaultKind::kLeave:
      return {"ranks", "iteration"};
    case FaultKind::kJoin:
      return {"ranks"};
    case FaultKind::kHang:
      return {"ranks", "iteration", "lasts"};
    case FaultKind::kCut:
      return {"a", "b", "lasts"};
  }
  return {};
}

bool can_be_left_out(const std::string& key) { return key == "iteration" || key == "b"; }

void check_fault(const Value& table, Mistakes& mistakes) {
  const FaultKind what = fault_kind(table);
  const std::vector<std::string> own = keys_of_kind(what);
  const auto has = [&](const std::string& key) { return std::find(own.begin(), own.end(), key) != own.end(); };
  for (const std::string& key : own) {
    if (!can_be_left_out(key) && table.find(key) == nullptr)
      mistakes.add(table.place, fmt::format("a {} needs '{}'", to_string(what), key));
  }
  for (const char* key : {"ranks", "iteration", "lasts", "a", "b"}) {
    if (const Entry* entry = table.find(key); entry != nullptr && !has(key))
      mistakes.add(entry->place,
                   fmt::format("'{}' means nothing to a {}: it has at, {}", key, to_string(what), join(own, ", ")));
  }
  const Entry *at = table.find("at"), *iteration = has("iteration") ? table.find("iteration") : nullptr;
  if (at != nullptr && iteration != nullptr)
    mistakes.add(iteration->place, "'at' and 'iteration' are two moments: give one");
  if (at == nullptr && iteration == nullptr)
    mistakes.add(table.place, fmt::format("a {} needs a moment: give 'at'{}", to_string(what),
                                          has("iteration") ? " or 'iteration'" : ""));
  const Entry *a = table.find("a"), *b = table.find("b");
  if (what == FaultKind::kCut && a != nullptr && b != nullptr && a->value.integer == b->value.integer)
    mistakes.add(b->value.place, "'a' and 'b' are one host: leave out 'b' to mean its NIC");
}

// Refuses to lose a worker twice, or all workers, which would leave none to measure.
void check_losses(const ScenarioDraft& scenario, int workers, Mistakes& mistakes) {
  std::set<std::int64_t> lost;
  for (const Value& table : scenario.faults) {
    const FaultKind what = fault_kind(table);
    const Entry* ranks = table.find("ranks");
    if ((what != FaultKind::kCrash && what != FaultKind::kLeave) || ranks == nullptr) continue;
    for (const Value& rank : ranks->value.items) {
      if (!lost.insert(rank.integer).second)
        mistakes.add(rank.place,
                     fmt::format("scenario '{}' loses rank {} twice: once is enough", scenario.name, rank.integer));
    }
  }
  if (int(lost.size()) >= workers)
    mistakes.add(scenario.faults.front().place,
                 fmt::format("scenario '{}' loses all {} workers: leave one to be measured", scenario.name, workers));
}

/// A fault of one rank, at a time.
struct Moment {
  const Value* place;
  Time at;
  Duration lasts{};
};

std::string time_text(Time at) { return duration_text(at.time_since_epoch().count()); }

// Returns for each rank the faults of that kind that come at a time, in the order of the text.
std::map<std::int64_t, std::vector<Moment>> moments_of(const ScenarioDraft& scenario, FaultKind what) {
  std::map<std::int64_t, std::vector<Moment>> moments;
  for (const Value& table : scenario.faults) {
    const Entry *ranks = table.find("ranks"), *at = table.find("at"), *lasts = table.find("lasts");
    if (fault_kind(table) != what || ranks == nullptr || at == nullptr) continue;
    for (const Value& rank : ranks->value.items) {
      moments[rank.integer].push_back(
          {&rank, Time(Duration(duration_of(at->value))), Duration(lasts == nullptr ? 0 : duration_of(lasts->value))});
    }
  }
  return moments;
}

// Checks that a rank joins once, and before it is lost.
void check_joins(const ScenarioDraft& scenario, Mistakes& mistakes) {
  const auto joining = moments_of(scenario, FaultKind::kJoin);
  for (const auto& [rank, joins] : joining) {
    for (std::size_t i = 1; i < joins.size(); ++i)
      mistakes.add(joins[i].place->place,
                   fmt::format("scenario '{}' has rank {} join twice: once is enough", scenario.name, rank));
  }
  for (const FaultKind what : {FaultKind::kCrash, FaultKind::kLeave}) {
    const auto losses = moments_of(scenario, what);
    for (const auto& [rank, joins] : joining) {
      const auto own = losses.find(rank);
      if (own == losses.end() || own->second[0].at > joins[0].at) continue;
      mistakes.add(own->second[0].place->place,
                   fmt::format("scenario '{}' loses rank {} at {}, but it joins at {}: set a later 'at', or leave out "
                               "its join",
                               scenario.name, rank, time_text(own->second[0].at), time_text(joins[0].at)));
    }
  }
}

// Refuses a hang that comes during another. It would begin after the other one, which no user means.
void check_hangs(const ScenarioDraft& scenario, Mistakes& mistakes) {
  for (auto& [rank, hangs] : moments_of(scenario, FaultKind::kHang)) {
    std::stable_sort(hangs.begin(), hangs.end(), [](const Moment& a, const Moment& b) { return a.at < b.at; });
    Moment last = hangs.front();  // the one of those before that ends last
    for (std::size_t i = 1; i < hangs.size(); ++i) {
      const Moment& next = hangs[i];
      const Time end = last.at + last.lasts;
      if (next.at < end)
        mistakes.add(next.place->place,
                     fmt::format("scenario '{}' hangs rank {} at {}, during its hang from {} to {}: make it one hang",
                                 scenario.name, rank, time_text(next.at), time_text(last.at), time_text(end)));
      if (next.at + next.lasts > end) last = next;
    }
  }
}

}  // namespace

Fault fault_of(const Value& table) {
  Fault fault;
  fault.what = fault_kind(table);
  if (const Entry* ranks = table.find("ranks"))
    for (const Value& rank : ranks->value.items) fault.ranks.push_back(int(rank.integer));
  if (const Entry* at = table.find("at")) fault.at = Time(Duration(duration_of(at->value)));
  if (const Entry* iteration = table.find("iteration")) fault.iteration = iteration->value.integer;
  if (const Entry* lasts = table.find("lasts")) fault.lasts = Duration(duration_of(lasts->value));
  if (const Entry* a = table.find("a")) fault.a = int(a->value.integer);
  if (const Entry* b = table.find("b")) fault.b = int(b->value.integer);
  return fault;
}

void check_faults(const std::vector<Value>& faults, Mistakes& mistakes) {
  for (const Value& table : faults) check_fault(table, mistakes);
}

void check_faults_with(const ScenarioDraft& scenario, int workers, Mistakes& mistakes) {
  for (const Value& table : scenario.faults) {
    const Entry* ranks = table.find("ranks");
    if (ranks == nullptr) continue;
    for (const Value& rank : ranks->value.items) {
      if (rank.integer >= workers)
        mistakes.add(rank.place, fmt::format("scenario '{}' names rank {}, but the workers are 0 to {}", scenario.name,
                                             rank.integer, workers - 1));
    }
  }
  if (!scenario.faults.empty()) check_losses(scenario, workers, mistakes);
  check_joins(scenario, mistakes);
  check_hangs(scenario, mistakes);
}

void check_cuts(const ScenarioDraft& scenario, int hosts, Mistakes& mistakes) {
  for (const Value& table : scenario.faults) {
    for (const char* key : {"a", "b"}) {
      const Entry* host = fault_kind(table) == FaultKind::kCut ? table.find(key) : nullptr;
      if (host != nullptr && host->value.integer >= hosts)
        mistakes.add(host->value.place, fmt::format("scenario '{}' cuts host {}, but the hosts are 0 to {}",
                                                    scenario.name, host->value.integer, hosts - 1));
    }
  }
}

void check_obeyed(const ScenarioDraft& scenario, const Configuration& c, Mistakes& mistakes) {
  const auto cut = std::find_if(scenario.faults.begin(), scenario.faults.end(),
                                [](const Value& table) { return fault_kind(table) == FaultKind::kCut; });
  const bool cuts = cut != scenario.faults.end();
  if (scenario.links.empty() && !cuts) return;
  const bool simulated = c.at("transport.name").text == "sim";
  const bool instant = simulated && c.at("network.instant").flag;
  if (cuts && simulated && c.at("network.queue").text == "fifo")
    mistakes.add(cut->place, fmt::format("scenario '{}' cuts links, but measure '{}' has queue = \"fifo\", where links "
                                         "are never cut: take \"fair\" or choose its scenarios",
                                         scenario.name, c.name));
  if (!instant && (simulated || c.at("network.emulate").flag)) return;
  mistakes.add(scenario.links.empty() ? cut->place : scenario.links.front().place,
               fmt::format("scenario '{}' {} links, but measure '{}' {}", scenario.name,
                           scenario.links.empty() ? "cuts" : "changes", c.name,
                           instant ? "has none: leave out network.instant or choose its scenarios"
                                   : "has the machine's own: set network.emulate = true, measure in virtual time "
                                     "(sim) or choose its scenarios"));
}

}  // namespace hopbench
