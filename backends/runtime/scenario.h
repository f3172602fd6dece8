// What the world does to a trial: slow ranks and links, ranks that crash, leave, join late or hang, and links that are
// cut, as plain data, obeyed alike in virtual time and by real processes (links by those whose links are emulated).
//
// Every draw is keyed by (seed, repeat, kSlowdown, rank or host, iteration or time slot), never by trial or variant:
// all variants of a repeat meet the same slowdowns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "backends/base/time.h"
#include "backends/runtime/network.h"
#include "results/record.h"

namespace hopbench {

/// One rule of a scenario. It multiplies the compute time of the ranks that it names.
struct ComputeRule {
  enum class What { kConstant, kBernoulli, kExponential, kLogNormal, kPareto };
  /// Whether a new draw is made each iteration (the papers' rule) or each `slot` of time (how machines are slow).
  enum class Per { kIteration, kTime };
  enum class Correlated { kRank, kHost, kAll };
  /// The work that the rule slows: gradients, or gradients and vector operations.
  enum class Of { kGradients, kAll };

  What what = What::kConstant;
  std::vector<int> ranks{};  // empty: every worker
  double factor = 1.0;       // constant, bernoulli: slowed by this much
  double probability = 0.0;  // bernoulli; "1/n" in a suite
  double scale = 0.0;        // exponential: factor 1 + scale * Exp(1);  pareto: minimum 1, heavier with smaller shape
  double shape = 0.0;        // log-normal: sigma (median 1);  pareto: alpha
  Per per = Per::kIteration;
  Duration slot{std::chrono::seconds(1)};  // per = time
  Correlated correlated = Correlated::kRank;
  Of of = Of::kGradients;
  Time from{};  // the rule holds within [from, until)
  Time until = kNever;
};

/// What happens once, to each of `ranks` or to a link.
struct Fault {
  enum class What {
    kCrash,  // the rank is gone without a word: peers find kGone
    kLeave,  // its body ends where it would have begun an iteration: peers find kBye
    kJoin,   // its body begins no earlier; messages to it wait
    kHang,   // for `lasts` nothing of the rank runs; a gradient that is being computed is, to its end
    kCut,    // for `lasts` nothing gets through between hosts a and b, or through the NIC of a where b is -1
  };
  What what = What::kCrash;
  std::vector<int> ranks{};  // workers
  Time at = kNever;          // kNever: at an iteration
  Iter iteration = -1;       // before its gradient; where a rank jumps over it, before the next one
  Duration lasts{};
  int a = -1, b = -1;

  bool is_of(int rank) const { return std::find(ranks.begin(), ranks.end(), rank) != ranks.end(); }
  bool is_due(Iter k, Time now) const { return at != kNever ? now >= at : k >= iteration; }
};
/// "crash", "leave": as suites, records and event logs call it.
const char* to_string(Fault::What what);

struct Scenario {
  std::string name = "homogeneous";
  std::vector<ComputeRule> compute;
  std::vector<NetworkSpec::Link> links{};  // beside the network's own, and before them
  std::vector<Fault> faults{};

  /// By how much the compute of `rank` (a worker, on `host`) in iteration k that starts at `now` is slowed: the product
  /// of the rules that apply; 1 = not at all. A pure function of its arguments.
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

/// Returns what the compute time of a worker's gradient in iteration k is multiplied by in virtual time, where no two
/// gradients of a real machine would take the same time: a draw close to a normal one, of mean 1 and of the standard
/// deviation `noise`, from 1 - 6 * noise to 1 + 6 * noise. It is the sum of 12 uniform draws, from sums and products
/// alone, so every machine draws the same. A pure function of its arguments; no such draw is a slowdown.
double noise_factor(double noise, const Scenario::Where& where, Iter k);
/// By how many standard deviations such a draw may be away from 1.
inline constexpr double kMostNoise = 6;

}  // namespace hopbench
