#include "suites/advice/replayed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hopbench {
namespace {

constexpr double kRemembered = 0.2;        // correlation above which steps depend on each other
constexpr std::int64_t kFewestPairs = 10;  // of steps
constexpr std::int64_t kFewBlocks = 5;     // with fewer repeats meet much the same steps

/// The log seconds of a recording without the mean of each rank.
class Deviations {
 public:
  explicit Deviations(const Trace& trace) : trace_(trace), values_(std::size_t(trace.ranks() * trace.steps())) {
    for (int rank = 0; rank < trace.ranks(); ++rank) {
      double sum = 0;
      for (std::int64_t at = 0; at < trace.steps(); ++at) sum += value(rank, at) = std::log(trace.seconds(rank, at));
      for (std::int64_t at = 0; at < trace.steps(); ++at) value(rank, at) -= sum / double(trace.steps());
    }
  }

  /// Returns the same as the function of that name.
  double correlation_after(std::int64_t lag) const {
    const std::vector<std::int64_t> starts = trace_.starts(lag + 1);
    if (std::int64_t(starts.size()) < kFewestPairs) return 0;
    Products all, of_rank, of_largest;
    for (int rank = 0; rank < trace_.ranks(); ++rank, of_rank = {}) {
      for (const std::int64_t at : starts) of_rank.add(value(rank, at), value(rank, at + lag));
      all.products += of_rank.products, all.squares += of_rank.squares;
      if (of_rank.squares > of_largest.squares) of_largest = of_rank;
    }
    return std::max(all.correlation(), of_largest.correlation());
  }

  /// Returns the first distance of steps, at least `from`, at which they hardly depend on each other; 0 if there is
  /// none.
  std::int64_t memory_from(std::int64_t from) const {
    for (std::int64_t lag = from; lag + kFewestPairs <= trace_.longest_run(); lag += 1 + lag / 4) {
      if (correlation_after(lag) <= kRemembered) return lag;
    }
    return 0;
  }

 private:
  struct Products {
    double products = 0, squares = 0;
    void add(double now, double later) {
      products += now * later;
      squares += (now * now + later * later) / 2;
    }
    double correlation() const { return squares > 0 ? products / squares : 0; }
  };
  double& value(int rank, std::int64_t at) { return values_[std::size_t(rank * trace_.steps() + at)]; }
  double value(int rank, std::int64_t at) const { return values_[std::size_t(rank * trace_.steps() + at)]; }

  const Trace& trace_;
  std::vector<double> values_;
};

/// Returns what blocks cut; "" if nothing.
std::string cut_by_blocks(const TraceReplay& replay) {
  const Trace& trace = *replay.trace;
  const Deviations deviations(trace);
  const double kept = deviations.correlation_after(replay.block);
  if (kept <= std::max(kRemembered, 2 / std::sqrt(double(trace.steps())))) return "";
  const std::int64_t enough = 2 * deviations.memory_from(replay.block);
  const std::string what_to_do =
      enough > 0 && enough * kFewBlocks <= trace.longest_run()
          ? fmt::format("take block = {}", enough)
          : fmt::format("record longer, or replay the recording as it is: map = \"fixed\" and run.iterations = {}",
                        trace.steps());
  return fmt::format(
      "slow phases that outlast a block of {} step{}, which are cut short (correlation {:.2f} from one "
      "block to the next): {}",
      replay.block, replay.block == 1 ? "" : "s", kept, what_to_do);
}

std::string unused_ranks(const TraceReplay& replay, int workers) {
  const int ranks = replay.trace->ranks();
  if (replay.map == TraceMap::kResampleRanks || ranks <= workers) return "";
  const std::string which =
      ranks - 1 == workers ? fmt::format("rank {} is", workers) : fmt::format("ranks {} to {} are", workers, ranks - 1);
  return fmt::format("the whole recording: it has {} ranks for {} workers, so {} not replayed", ranks, workers, which);
}

std::vector<std::string> missed_steps(const TraceReplay& replay, double iterations) {
  const Trace& trace = *replay.trace;
  if (replay.map == TraceMap::kFixed) {
    if (iterations == double(trace.steps())) return {};
    const std::string what =
        iterations > double(trace.steps())
            ? fmt::format("the recording is replayed {:.1f} times, since it", iterations / double(trace.steps()))
            : fmt::format("{:.0f} steps of the recording are replayed; it", iterations);
    return {fmt::format("other steps than those recorded: {} has {} steps (run.iterations is how many are replayed)",
                        what, trace.steps())};
  }
  std::vector<std::string> lines;
  if (std::string cut = cut_by_blocks(replay); !cut.empty()) lines.push_back(std::move(cut));
  const std::int64_t blocks = trace.steps() / std::max<std::int64_t>(replay.block, 1);
  if (blocks < kFewBlocks)
    lines.push_back(
        fmt::format("chance: the recording has {} block{} of {} steps, so all repeats are much alike, and intervals "
                    "hold too little of it: record more steps",
                    blocks, blocks == 1 ? "" : "s", replay.block));
  return lines;
}

}  // namespace

double correlation_after(const Trace& trace, std::int64_t lag) { return Deviations(trace).correlation_after(lag); }

std::vector<std::string> missed_of_recordings(const TrialSpec& spec, double iterations) {
  std::vector<std::string> lines;
  for (const ComputeRule& rule : spec.scenario.compute) {
    if (rule.what != SlowdownKind::kTrace) continue;
    if (std::string unused = unused_ranks(rule.replay, spec.workers()); !unused.empty())
      lines.push_back(std::move(unused));
    if (rule.replay.trace->kind() != Trace::Kind::kSteps) continue;
    for (std::string& line : missed_steps(rule.replay, iterations)) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace hopbench
