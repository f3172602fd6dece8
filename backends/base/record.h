// The record of a trial, as plain data. Writers (JSON, CSV, tables) and checkers read it; nothing here computes.
// Every module may see it, but protocols, which must not decide by it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "backends/base/failure.h"
#include "backends/base/iter.h"
#include "backends/base/time.h"

namespace hopbench {

// ---------------------------------------------------------------------------------------------------------------------
// The event stream: what a protocol does, as checkers, traces and metrics see it. They see nothing else.

enum class EventKind : std::uint8_t {
  kEnter,     // rank entered iteration iter (iter 0 at the start); from -> iter is a jump if it is more than one ahead
  kGradient,  // rank finished computing a gradient of iteration iter on `count` samples from `first` on, begun at
              // `since`, of which a slowdown added `delay`; value = the loss
  kOperated,  // rank finished a vector operation (an average, an optimizer step) begun at `since`, if it took time
  kReduced,   // rank combined the vectors of `senders` (their tags, the weights used) into its own in iteration iter
  kApplied,   // rank (a server, or a worker's own step) applied a gradient that sender `peer` computed in iteration
              // iter; value = the factor of that step, if it is not 1
  kSend,      // rank posted a message of `kind`, iteration iter, `count` = words[0] if any, to peer
  kDeliver,   // rank's mailbox received it from peer, which posted it at `since` (virtual time only)
  kDrop,      // rank's mailbox dropped it (ignored: too late)
  kTake,      // a strand of rank took it from the mailbox
  kSpend,     // rank removed `count` tokens of peer's queue TokenQ(peer -> rank)
  kWait,      // rank waited from `since` until now; text = the reason
  kLost,      // a gradient of rank, iteration iter, is thrown away; text = why
  kReport,    // rank reported a snapshot after iteration iter
  kFinished,  // rank's body returned
  kGone,      // rank knows that peer is dead
  kFault,     // the scenario has done something to rank: text = "crash", "leave", "join", "hang" (begun at `since`)
};

struct Event {
  Time time{};
  int rank = 0;
  EventKind what = EventKind::kEnter;
  Iter iter = 0;
  int peer = -1;
  std::uint16_t kind = 0;  // message kind
  std::int64_t count = 0;  // tokens, samples, words[0]
  std::int64_t first = 0;  // kGradient: position of its first sample, in the order the worker took it from
  double value = 0;
  Time since{};
  Duration delay{};
  std::vector<int> senders{};  // kReduced only
  std::vector<Iter> tags{};
  std::vector<float> weights{};
  const char* text = "";  // static storage: a reason
};

/// An observer of every event, in the order of the trial's clock within a rank (virtual time: across all ranks).
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on(const Event& event) = 0;
  /// Virtual time only: called after each simulated event has been dealt with and every strand waits again. Invariants
  /// that a strand may break and mend within one turn are checked here.
  virtual void settled(Time) {}
};

// ---------------------------------------------------------------------------------------------------------------------
// The record of a trial

/// One finished iteration of a rank: the raw material of every rate.
struct IterationMark {
  Time end{};
  Iter iter = 0;
  Duration compute{};        // as paced, slowdown included
  std::int32_t samples = 0;  // 0: jumped
  float loss = 0;
};
/// Returns true if the rank was away from the end of `before` until the end of `mark`, the mark that follows it.
inline bool is_absence(const IterationMark& before, const IterationMark& mark) {
  return mark.samples == 0 && mark.iter == before.iter;
}
static_assert(sizeof(IterationMark) == 32);  // a record has one for each iteration of each rank

struct RankRecord {
  int rank = 0;
  int worker =
      -1;  // its number in the suite, which differs from `rank` where workers are left out; -1: a server, or not known
  bool server = false;
  std::vector<IterationMark> marks;
  Time finished{};
  std::string lost;  // "crash" or "leave": the scenario took it at `finished`, before the end; after a crash, all else
                     // is as if the rank had done nothing
  Duration compute{}, injected_delay{}, vector_ops{};
  std::map<std::string, Duration> waits;  // by reason
  std::int64_t iters = 0, iters_jumped = 0, gradients = 0, gradients_lost = 0, samples = 0;
  std::int64_t messages_sent = 0, bytes_sent = 0;
  int host = -1;                       // -1: not known
  std::vector<std::int64_t> bytes_to;  // of bytes_sent, by the receiver's host; empty where there are more than 64
  std::int64_t slow_events = 0;        // iterations that met a slowdown
  std::int64_t overruns = 0;           // paced iterations whose work did not fit (real processes)
  double staleness_mean = 0;           // iterations that terms of its vector were behind it, without its own terms
  std::int64_t staleness_max = 0;
  double gap_mean = 0;  // own iteration minus the slowest live worker's, over its own entries
  std::int64_t gap_max = 0;
  std::int64_t queue_max = 0;  // most messages in the mailbox
  /// Pairs of a worker and its newest iteration whose vector or gradient this rank has averaged or applied, by worker.
  /// The rank's own entry is its newest iteration in a mean that other workers have. Of several servers, only the first
  /// one records this, unless each hears other workers (Node::hears_alone).
  std::vector<std::pair<int, Iter>> heard;
  Iter heard_step = 0;                    // the most iterations between two of one worker
  std::vector<Iter> lost_in;              // the iterations of its gradients_lost
  std::map<std::string, double> figures;  // the protocol's own figures, by name
  // Real processes only; these are of the host, not the protocol.
  std::string machine;  // the one that it ran on, if a run has several processes (docs/clusters.md)
  double cpu_s = 0, cpu_wait_s = 0,
         contended_s = 0;  // contended: run delay outside compute slots or past their deadline
  std::int64_t max_rss_bytes = 0;
  double state_vectors = 0;         // Node::state_vectors
  std::int64_t awaited_bodies = 0;  // sent once the receiver asked for them
  std::string carriers;             // the ranks that it reached over each transport
  std::string congestion_control;   // TCP's, of its machine; empty: it used no TCP
  std::string gpu;                  // address of the GPU that it computed on; empty: none
  bool gpu_shared_well = false;     // with MPS: ranks that share it compute at the same time
  int gpu_fallbacks = 0;            // number of things that it could not do there as it should
  std::string gpu_remarks;          // its use of that GPU: graphs, CUDA IPC, waits
  std::int64_t staged_bodies = 0;   // vectors copied between a GPU and host memory for messages
  double link_late_median_s = 0,
         link_late_p99_s = 0;  // lateness of emulated links' messages that it waited for
};

/// The model whose loss has to reach a target. kAuto: the servers' model if there is one, else the workers' mean.
enum class TargetModel { kAuto, kMean, kMedianRank, kWorstRank };

struct CurvePoint {
  std::string model;  // mean | median rank | worst rank | server
  Time time{};
  double iteration = 0;      // mean over ranks
  std::int64_t samples = 0;  // summed over ranks
  double loss = 0, accuracy = 0, consensus_distance = 0;
};

enum class TrialStatus { kOk, kFailed, kInterrupted };

/// A warning about a trial's numbers.
enum class WarningKind : std::uint8_t {
  kOther,           // of a later version: only its text is known
  kNotSteady,       // the halves of the window differ
  kNoSteadyWindow,  // rates are over the whole trial
  kOversubscribed,  // too many iterations did not fit into their pace
  kContended,       // a rank waited for a core
  kOverpaced,       // the pace is far above what a step takes
  kAboveIdeal,      // the rate is above what the devices could compute
  kFaultNeverCame,
  kLateLinks,  // emulated messages came late
  kDiverged,
  kMeasuredAgain,  // the machine disturbed an earlier attempt
  kKept,           // by --force, with other settings
  kShortWarmUp,    // a rank may still be running ahead when the window begins
  kMovesData,      // workers compute on samples of others' parts, on skewed data
  kDependsOnTies,  // other orders of what happens at one instant give other rates
  kUnchanged,      // all final models are the initial one
};
inline constexpr int kWarningKinds = 16;

struct Warning {
  Warning() = default;
  Warning(WarningKind its_kind, std::string its_text = "") : kind(its_kind), text(message_text(std::move(its_text))) {}
  friend bool operator==(const Warning& a, const Warning& b) = default;

  WarningKind kind = WarningKind::kOther;
  std::string text;  // for people: details beyond the kind; empty: no details
};

/// The share by which rounding may lift a rate in virtual time above its window_ideal_samples_per_s.
inline constexpr double kIdealRounding = 1e-6;

struct TrialRecord {
  std::string id;    // suite/measure/scenario/variant/seed/repeat: readable, unique in a run
  std::string hash;  // of the resolved trial; --resume compares it
  TrialStatus status = TrialStatus::kOk;
  Failure failure;  // kNone if ok
  std::vector<Warning> warnings;
  // The trial's clock (real or virtual)
  double time_s = 0;
  int ranks_lost = 0;        // workers; rates, losses, `time_s` and `params_hash` are of the others
  double first_lost_s = -1;  // -1: no worker was lost
  std::vector<RankRecord> ranks;
  std::vector<CurvePoint> curve;
  std::string params_hash;
  // Rates over the steady window (fairness section 5)
  double window_start_s = 0, window_end_s = 0, samples_per_s = 0, iters_per_s = 0, wait_share = 0,
         median_iteration_s = 0;
  std::string main_wait;  // the reason with the most waiting time
  // Virtual time with event logs: what the critical path to the end of the trial consists of
  // (results/arithmetic/critical_path.h)
  std::map<std::string, Duration> path;
  // Bound rows, from the paired draws and the cost
  std::int64_t gap_bound = -1;  // of `gap_max` of any worker, by the protocol; -1: none
  double slowest_rank_samples_per_s = 0, without_slowest_samples_per_s = 0;
  double samples_heard_per_s = -1;         // of gradients that came to another rank; -1: not known
  double window_ideal_samples_per_s = -1;  // suites/trial/bounds.h; -1: not known, as in rows of schema 1.0
  double overrun_share = 0;
  // The host (host.csv)
  double wall_s = 0, cpu_s = 0;
  std::int64_t max_rss_bytes = 0;
};

}  // namespace hopbench
