#include "backends/runtime/scenario.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "backends/base/error.h"
#include "backends/base/printable.h"
#include "backends/base/random.h"
#include "backends/runtime/markov.h"

namespace hopbench {
namespace {

/// The number of draws reserved for each rule of a scenario. Each rule draws from its own place in the stream, so two
/// rules of one kind are independent, and a rule added at the end changes no other.
constexpr std::size_t kDrawsPerRule = 8;

bool applies(const ComputeRule& rule, int rank, Time now) {
  if (now < rule.from || now >= rule.until) return false;
  return rule.ranks.empty() || std::find(rule.ranks.begin(), rule.ranks.end(), rank) != rule.ranks.end();
}

RandomKey key_of(const ComputeRule& rule, const Scenario::Where& where, Iter k, Time now) {
  RandomKey key{.seed = where.seed, .repeat = where.repeat, .purpose = Purpose::kSlowdown, .rank = where.rank};
  if (rule.correlated == ComputeRule::Correlated::kHost) key.rank = where.host;
  if (rule.correlated == ComputeRule::Correlated::kAll) key.rank = -1;
  key.iteration = rule.per == ComputeRule::Per::kIteration ? k : now.time_since_epoch() / rule.slot;
  return key;
}

double drawn_factor(const ComputeRule& rule, Random random) {
  switch (rule.what) {
    case SlowdownKind::kConstant:
      return rule.factor;
    case SlowdownKind::kBernoulli:
      return random.chance(rule.probability) ? rule.factor : 1.0;
    case SlowdownKind::kExponential:
      return 1.0 + rule.scale * random.exponential();
    case SlowdownKind::kLogNormal:
      return std::exp(rule.shape * random.normal());
    case SlowdownKind::kPareto:
      return std::pow(1.0 - random.uniform(), -1.0 / rule.shape);
    case SlowdownKind::kTrace:
    case SlowdownKind::kMarkov:
      break;  // not by a single draw
  }
  return 1.0;
}

double replayed_factor(const ComputeRule& rule, RandomKey key, std::size_t skipped, Iter k, Time now) {
  key.purpose = Purpose::kTrace;
  const bool by_step = rule.replay.trace->kind() == Trace::Kind::kSteps;
  return rule.scale * (by_step ? rule.replay.seconds(key, skipped, k) : rule.replay.factor(key, skipped, now));
}

/// Returns the factor of the i-th rule of a scenario.
double factor_of(const ComputeRule& rule, std::size_t i, const Scenario::Where& where, Iter k, Time now) {
  if (!applies(rule, where.rank, now)) return 1.0;
  if (rule.what == SlowdownKind::kConstant) return rule.factor;
  const RandomKey key = key_of(rule, where, k, now);
  const std::size_t skipped = i * kDrawsPerRule;
  if (rule.what == SlowdownKind::kTrace) return replayed_factor(rule, key, skipped, k, now);
  if (rule.what == SlowdownKind::kMarkov)
    return SlowPhases{rule.slow, rule.normal}.slow_at(key, skipped, now) ? rule.factor : 1.0;
  Random random(key);
  random.skip(skipped);
  return drawn_factor(rule, random);
}

}  // namespace

const char* to_string(FaultKind what) {
  switch (what) {
    case FaultKind::kCrash:
      return "crash";
    case FaultKind::kLeave:
      return "leave";
    case FaultKind::kJoin:
      return "join";
    case FaultKind::kHang:
      return "hang";
    case FaultKind::kCut:
      return "cut";
    case FaultKind::kRestart:
      return "restart";
  }
  return "";
}

std::vector<Fault> Scenario::faults_of(int rank) const {
  std::vector<Fault> of_rank;
  std::copy_if(faults.begin(), faults.end(), std::back_inserter(of_rank),
               [rank](const Fault& fault) { return fault.is_of(rank); });
  return of_rank;
}

void Scenario::open_traces() {
  auto path = traces.begin();
  const auto open = [&](TraceReplay& replay, const std::string& digest) {
    HB_ASSERT(path != traces.end());
    const std::string& file = *path++;
    if (replay.trace != nullptr) return;
    replay.trace = Trace::read(file);
    if (replay.trace->digest() != digest)
      throw usage_error(fmt::format(
          "the trace {} is not the one that the trial was made with (its digest is {}, not {}): put that one there",
          printable(file), replay.trace->digest(), digest));
    replay.prepare();
  };
  for (ComputeRule& rule : compute) {
    if (rule.what == SlowdownKind::kTrace) open(rule.replay, rule.digest);
  }
  for (NetworkSpec::Link& link : links) {
    if (link.rule.what == LinkRuleKind::kTrace) open(link.rule.replay, link.rule.digest);
  }
}

double Scenario::slowdown(const Where& where, Iter k, Time now) const {
  double factor = 1.0;
  for (std::size_t i = 0; i < compute.size(); ++i) factor *= factor_of(compute[i], i, where, k, now);
  return factor;
}

double noise_factor(double noise, const Scenario::Where& where, Iter k) {
  if (noise == 0) return 1.0;
  Random random(
      {.seed = where.seed, .repeat = where.repeat, .purpose = Purpose::kNoise, .rank = where.rank, .iteration = k});
  constexpr int kDraws = 12;  // each of variance 1/12
  double sum = 0;
  for (int draw = 0; draw < kDraws; ++draw) sum += random.uniform();
  return 1.0 + noise * (sum - kDraws / 2.0);
}

bool Scenario::slows_vectors() const {
  return std::any_of(compute.begin(), compute.end(),
                     [](const ComputeRule& rule) { return rule.of == ComputeRule::Of::kAll; });
}

double Scenario::vector_slowdown(const Where& where, Time now) const {
  constexpr Iter kNoIteration = 0;  // such rules do not depend on it
  double factor = 1.0;
  for (std::size_t i = 0; i < compute.size(); ++i) {
    if (compute[i].of == ComputeRule::Of::kAll) factor *= factor_of(compute[i], i, where, kNoIteration, now);
  }
  return factor;
}

}  // namespace hopbench
