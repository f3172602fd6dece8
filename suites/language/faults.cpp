// Faults of a scenario: what each kind needs and knows, and if the faults have an effect.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "backends/base/text.h"
#include "backends/runtime/absences.h"
#include "suites/language/only_with.h"
#include "suites/language/to_trial.h"

namespace hopbench {
namespace {

// Keys of each kind other than `at`.
const std::vector<ItemKind> kKinds = {
    {"crash", {"ranks"}, {"iteration", "restart", "checkpoint"}},
    {"leave", {}, {"ranks", "iteration", "lasts", "file"}},
    {"join", {"ranks"}},
    {"hang", {"ranks", "lasts"}, {"iteration"}},
    {"cut", {"a", "lasts"}, {"b"}},
};
constexpr FaultKind kFaultKinds[] = {FaultKind::kCrash, FaultKind::kLeave, FaultKind::kJoin, FaultKind::kHang,
                                     FaultKind::kCut};

FaultKind fault_kind(const Value& table) { return kFaultKinds[kind_among(kKinds, table) - kKinds.data()]; }

/// Returns true if the rank is lost for a while only, and how long that is.
std::optional<Duration> away_for(const Value& table) {
  const Entry *lasts = table.find("lasts"), *restart = table.find("restart");
  if (fault_kind(table) == FaultKind::kLeave && lasts != nullptr) return Duration(duration_of(lasts->value));
  if (fault_kind(table) == FaultKind::kCrash && restart != nullptr) return Duration(duration_of(restart->value));
  return std::nullopt;
}

/// Checks that a fault comes at one moment, to some workers.
void check_moment(const Value& table, Mistakes& mistakes) {
  const FaultKind what = fault_kind(table);
  const bool may_count = what != FaultKind::kJoin && what != FaultKind::kCut;
  const Entry *at = table.find("at"), *iteration = may_count ? table.find("iteration") : nullptr;
  if (what == FaultKind::kLeave && table.find("ranks") == nullptr) mistakes.add(table.place, "a leave needs 'ranks'");
  if (at != nullptr && iteration != nullptr)
    mistakes.add(iteration->place, "'at' and 'iteration' are two moments: give one");
  if (at == nullptr && iteration == nullptr)
    mistakes.add(table.place, "a {} needs a moment: give 'at'{}", to_string(what), may_count ? " or 'iteration'" : "");
}

void check_fault(const Value& table, Mistakes& mistakes) {
  const FaultKind what = fault_kind(table);
  check_kind(table, kKinds, "", mistakes);
  check_allowed("scenario.faults.", {.item = &table}, mistakes);
  if (const Entry* file = table.find("file"); file != nullptr && what == FaultKind::kLeave) {
    try {
      read_absences(file->value.text);
    } catch (const Error& error) {
      mistakes.add(file->value.place, error.what());
    }
    return;
  }
  check_moment(table, mistakes);
  const Entry *restart = table.find("restart"), *a = table.find("a"), *b = table.find("b");
  if (restart != nullptr && what == FaultKind::kCrash && table.find("checkpoint") == nullptr)
    mistakes.add(restart->place, "'restart' needs 'checkpoint', the time between two of them");
  if (what == FaultKind::kCut && a != nullptr && b != nullptr && a->value.integer == b->value.integer)
    mistakes.add(b->value.place, "'a' and 'b' are one host: leave out 'b' to mean its NIC");
}

// Refuses to lose a worker twice, or all workers, which would leave none to measure.
void check_losses(const ScenarioDraft& scenario, int workers, Mistakes& mistakes) {
  std::set<std::int64_t> lost;
  for (const Value& table : scenario.faults) {
    const FaultKind what = fault_kind(table);
    const Entry* ranks = table.find("ranks");
    if ((what != FaultKind::kCrash && what != FaultKind::kLeave) || ranks == nullptr || away_for(table)) continue;
    for (const Value& rank : ranks->value.items) {
      if (!lost.insert(rank.integer).second)
        mistakes.add(rank.place, "scenario '{}' loses rank {} twice: once is enough", scenario.name, rank.integer);
    }
  }
  if (int(lost.size()) >= workers)
    mistakes.add(scenario.faults.front().place, "scenario '{}' loses all {} workers: leave one to be measured",
                 scenario.name, workers);
}

/// A fault of one rank, at a time.
struct Moment {
  const Value* place;
  Time at;
  Duration lasts{};
};

bool hangs(const Value& table) { return fault_kind(table) == FaultKind::kHang; }
bool is_away(const Value& table) { return away_for(table).has_value(); }

std::string time_text(Time at) { return duration_text(at.time_since_epoch().count()); }

using Moments = std::map<std::int64_t, std::vector<Moment>>;

// Returns for each rank the faults for which `fits` holds and that come at a time, in the order of the text.
template <class Fits>
Moments moments_of(const ScenarioDraft& scenario, const Fits& fits) {
  Moments moments;
  for (const Value& table : scenario.faults) {
    const Entry *ranks = table.find("ranks"), *at = table.find("at"), *lasts = table.find("lasts");
    if (!fits(table) || ranks == nullptr || at == nullptr) continue;
    const Duration long_for = lasts != nullptr ? Duration(duration_of(lasts->value)) : Duration{};
    for (const Value& rank : ranks->value.items) {
      moments[rank.integer].push_back(
          {&rank, Time(Duration(duration_of(at->value))), away_for(table).value_or(long_for)});
    }
  }
  return moments;
}

Moments moments_of(const ScenarioDraft& scenario, FaultKind what) {
  return moments_of(scenario, [what](const Value& table) { return fault_kind(table) == what; });
}

// Checks that a rank joins once, and before it is lost.
void check_joins(const ScenarioDraft& scenario, Mistakes& mistakes) {
  const auto joining = moments_of(scenario, FaultKind::kJoin);
  for (const auto& [rank, joins] : joining) {
    for (std::size_t i = 1; i < joins.size(); ++i)
      mistakes.add(joins[i].place->place, "scenario '{}' has rank {} join twice: once is enough", scenario.name, rank);
  }
  for (const FaultKind what : {FaultKind::kCrash, FaultKind::kLeave}) {
    const auto losses = moments_of(scenario, what);
    for (const auto& [rank, joins] : joining) {
      const auto own = losses.find(rank);
      if (own == losses.end() || own->second[0].at > joins[0].at) continue;
      mistakes.add(own->second[0].place->place,
                   "scenario '{}' loses rank {} at {}, but it joins at {}: set a later 'at', or leave out "
                   "its join",
                   scenario.name, rank, time_text(own->second[0].at), time_text(joins[0].at));
    }
  }
}

// Refuses a fault of a rank that comes during another of its kind. It would begin after the other one, which no user
// means. `does` and `what` are texts such as "hangs" and "hang".
void check_overlaps(const ScenarioDraft& scenario, Moments all, const char* does, const char* what,
                    Mistakes& mistakes) {
  for (auto& [rank, moments] : all) {
    std::stable_sort(moments.begin(), moments.end(), [](const Moment& a, const Moment& b) { return a.at < b.at; });
    Moment last = moments.front();  // the one of those before that ends last
    for (std::size_t i = 1; i < moments.size(); ++i) {
      const Moment& next = moments[i];
      const Time end = last.at + last.lasts;
      if (next.at < end)
        mistakes.add(next.place->place, "scenario '{}' {} rank {} at {}, during its {} from {} to {}: make it one {}",
                     scenario.name, does, rank, time_text(next.at), what, time_text(last.at), time_text(end), what);
      if (next.at + next.lasts > end) last = next;
    }
  }
}

/// The crash of a worker that is replaced, in a job whose other workers cannot go on.
struct Crash {
  Time at;
  Duration restart, checkpoint;  // how long a restart takes; the time of work between two checkpoints
};

/// Returns the restarts, each until the job is again as far as it was before the crash. A crash during a restart, or
/// during the work that is repeated after it, begins that restart again.
std::vector<Fault> restarts_of(std::vector<Crash> crashes) {
  std::stable_sort(crashes.begin(), crashes.end(), [](const Crash& a, const Crash& b) { return a.at < b.at; });
  std::vector<Fault> restarts;
  Duration stood{}, lost{};  // in all restarts so far; work that the last one repeats
  for (const Crash& crash : crashes) {
    const bool again = !restarts.empty() && crash.at < restarts.back().at + restarts.back().lasts;
    if (again) {
      stood -= restarts.back().at + restarts.back().lasts - crash.at;
      restarts.back().lasts = crash.at - restarts.back().at;
    } else {
      lost = (crash.at.time_since_epoch() - stood) % crash.checkpoint;
    }
    restarts.push_back({.what = FaultKind::kRestart, .at = crash.at, .lasts = crash.restart + lost});
    stood += restarts.back().lasts;
  }
  std::erase_if(restarts, [](const Fault& restart) { return restart.lasts == Duration{}; });  // two at one moment
  return restarts;
}

/// Returns the fault, or all absences of its file.
std::vector<Fault> faults_in(const Value& table) {
  const Entry* file = table.find("file");
  if (file == nullptr) {
    Fault fault = record_of<Fault>(table, "scenario.faults");
    fault.what = fault_kind(table);
    return {fault};
  }
  std::vector<Fault> faults;
  for (const Absence& absence : read_absences(file->value.text)) {
    faults.push_back({.what = FaultKind::kLeave,
                      .ranks = {absence.rank},
                      .at = absence.from,
                      .lasts = absence.until - absence.from});
  }
  return faults;
}

}  // namespace

std::vector<Fault> faults_of(const ScenarioDraft& scenario, bool others_go_on, int workers) {
  std::vector<Crash> crashes;
  std::vector<Fault> kept;
  for (const Value& table : scenario.faults) {
    const bool restarts = fault_kind(table) == FaultKind::kCrash && table.find("restart") != nullptr;
    for (Fault& fault : faults_in(table)) {
      if (!restarts) {
        std::erase_if(fault.ranks, [&](int rank) { return table.find("file") != nullptr && rank >= workers; });
        if (!fault.ranks.empty() || fault.what == FaultKind::kCut) kept.push_back(std::move(fault));
      } else if (others_go_on) {
        kept.push_back({.what = FaultKind::kLeave, .ranks = fault.ranks, .at = fault.at, .lasts = *away_for(table)});
      } else {
        crashes.push_back({fault.at, *away_for(table), Duration(duration_of(table.find("checkpoint")->value))});
      }
    }
  }
  std::vector<int> all;
  for (int worker = 0; worker < workers; ++worker) all.push_back(worker);
  for (const Fault& restart : restarts_of(std::move(crashes))) {
    kept.push_back(restart);
    kept.back().ranks = all;
  }
  return kept;
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
        mistakes.add(rank.place, "scenario '{}' names rank {}, but the workers are 0 to {}", scenario.name,
                     rank.integer, workers - 1);
    }
  }
  if (!scenario.faults.empty()) check_losses(scenario, workers, mistakes);
  check_joins(scenario, mistakes);
  check_overlaps(scenario, moments_of(scenario, hangs), "hangs", "hang", mistakes);
  check_overlaps(scenario, moments_of(scenario, is_away), "takes away", "absence", mistakes);
}

void check_cuts(const ScenarioDraft& scenario, int hosts, Mistakes& mistakes) {
  for (const Value& table : scenario.faults) {
    for (const char* key : {"a", "b"}) {
      const Entry* host = fault_kind(table) == FaultKind::kCut ? table.find(key) : nullptr;
      if (host != nullptr && host->value.integer >= hosts)
        mistakes.add(host->value.place, "scenario '{}' cuts host {}, but the hosts are 0 to {}", scenario.name,
                     host->value.integer, hosts - 1);
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
    mistakes.add(cut->place,
                 "scenario '{}' cuts links, but measure '{}' has queue = \"fifo\", where links "
                 "are never cut: take \"fair\" or choose its scenarios",
                 scenario.name, c.name);
  if (!instant && (simulated || c.at("network.emulate").flag)) return;
  mistakes.add(scenario.links.empty() ? cut->place : scenario.links.front().place,
               "scenario '{}' {} links, but measure '{}' {}", scenario.name,
               scenario.links.empty() ? "cuts" : "changes", c.name,
               instant ? "has none: leave out network.instant or choose its scenarios"
                       : "has the machine's own: set network.emulate = true, measure in virtual time "
                         "(sim) or choose its scenarios");
}

}  // namespace hopbench
