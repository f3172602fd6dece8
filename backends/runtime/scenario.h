// External events of a trial: slow ranks and links, ranks that crash, leave, join late or hang, and links that are cut.
// Plain data, applied alike in virtual time and by real processes (links: only if they are emulated).
//
// Every draw is keyed by (seed, repeat, kSlowdown, rank or host, iteration or time slot), never by trial or variant. So
// all variants of a repeat meet the same slowdowns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "backends/base/iter.h"
#include "backends/base/time.h"
#include "backends/runtime/network_spec.h"
#include "backends/runtime/trace.h"

namespace hopbench {

enum class SlowdownKind { kConstant, kBernoulli, kExponential, kLogNormal, kPareto, kTrace, kMarkov };

/// One rule of a scenario. It multiplies the compute time of the ranks that it names.
struct ComputeRule {
  /// A new draw is made each iteration (the papers' rule) or each `slot` of time (the way in which machines are slow).
  enum class Per { kIteration, kTime };
  enum class Correlated { kRank, kHost, kAll };
  /// The work that the rule slows: gradients, or gradients and vector operations.
  enum class Of { kGradients, kAll };

  SlowdownKind what = SlowdownKind::kConstant;
  std::vector<int> ranks{};  // empty: every worker
  double factor = 1.0;       // constant, bernoulli, markov: slowed by this much
  double probability = 0.0;  // bernoulli; "1/n" in a suite
  double scale = 0.0;        // exponential: factor 1 + scale * Exp(1);  trace: factor of the file's numbers
  double shape = 0.0;        // log-normal: sigma (median 1);  pareto: alpha (minimum 1, heavier with smaller alpha)
  Per per = Per::kIteration;
  Duration slot{std::chrono::seconds(1)};  // per = time
  Correlated correlated = Correlated::kRank;
  Of of = Of::kGradients;
  Duration slow{}, normal{};  // markov: mean time slow, mean time at its usual speed
  TraceReplay replay{};       // trace
  std::string digest{};       // trace: of the file's content; it stands for the trace in JSON
  Time from{};                // the rule holds within [from, until)
  Time until = kNever;
};

enum class FaultKind {
  kCrash,    // the rank disappears without a message: peers find kGone
  kLeave,    // where the rank would have begun an iteration, its body ends (peers find kBye), or it is away for `lasts`
  kJoin,     // its body begins no earlier; messages to it wait
  kHang,     // for `lasts` nothing of the rank runs, except that a gradient in progress is completed
  kRestart,  // a hang of all workers: the job starts again from a checkpoint, and repeats the work since then
  kCut,      // for `lasts` nothing gets through between hosts a and b, or through the NIC of a if b is -1
};

/// An event that happens once, to each of `ranks` or to a link.
struct Fault {
  FaultKind what = FaultKind::kCrash;
  std::vector<int> ranks{};  // workers
  Time at = kNever;          // kNever: at an iteration
  Iter iteration = -1;       // before its gradient; if a rank jumps over it, before the next one
  Duration lasts{};          // leave: 0 means for good
  int a = -1, b = -1;

  bool returns() const { return what == FaultKind::kLeave && lasts > Duration{}; }
  bool is_of(int rank) const { return std::find(ranks.begin(), ranks.end(), rank) != ranks.end(); }
  bool is_due(Iter k, Time now) const { return at != kNever ? now >= at : k >= iteration; }
};
/// Returns "crash", "leave": the name in suites, records and event logs.
const char* to_string(FaultKind what);

struct Scenario {
  std::string name = "homogeneous";
  std::vector<ComputeRule> compute;
  std::vector<NetworkSpec::Link> links{};  // in addition to the network's own, and before them
  std::vector<Fault> faults{};
  std::vector<std::string> traces{};  // paths of the traces of `compute` in their order, then of those of `links`

  /// Reads the files of traces that have only a digest, as after decoding. Error(kUsage) if one is not as it was.
  void open_traces();
  /// slowdown() returns the factor by which the compute of `rank` (a worker, on `host`) in iteration k that starts at
  /// `now` is slowed: the product of the rules that apply; 1 = not at all. It is a pure function of its arguments.
  struct Where {
    std::uint64_t seed = 1;
    std::uint32_t repeat = 0;
    int rank = 0, host = 0;
  };
  double slowdown(const Where& where, Iter k, Time now) const;
  /// Returns the factor by which averages and optimizer steps of that rank are slowed: the product of the rules that
  /// apply to it and have `of` = kAll. 1 means not at all.
  double vector_slowdown(const Where& where, Time now) const;

  /// Returns true if some rule has `of` = kAll.
  bool slows_vectors() const;

  std::vector<Fault> faults_of(int rank) const;
};

/// Returns the factor of the compute time of a worker's gradient in iteration k in virtual time, since no two gradients
/// of a real machine take the same time. It is a draw close to a normal one, with mean 1 and standard deviation
/// `noise`, from 1 - 6 * noise to 1 + 6 * noise: the sum of 12 uniform draws, from sums and products alone, so every
/// machine draws the same. A pure function of its arguments. Such a draw is not a slowdown.
double noise_factor(double noise, const Scenario::Where& where, Iter k);
/// The largest distance of such a draw from 1, in standard deviations.
inline constexpr double kMostNoise = 6;

}  // namespace hopbench
