// Rules with memory for links: slow phases of a link, and recordings of its bandwidth and latency.
//
// The state of a link at a time depends only on (seed, repeat, rule, time). So all variants of a repeat meet the same
// links, in virtual time and over emulated links, with both models of queues. The times of changes are found one by one
// while the trial runs, so it may last for ever.
#pragma once

#include <cstdint>
#include <string>

#include "backends/base/time.h"
#include "backends/runtime/trace.h"

namespace hopbench {

enum class LinkRuleKind { kFixed, kMarkov, kTrace };

/// The state of a link under a rule. First `bandwidth` and `latency` replace those that the link has without the rule,
/// unless they are unset, then the factors apply.
struct LinkState {
  double bandwidth = 0;       // bytes/s; 0: unset
  double factor = 1;          // by which the bandwidth is divided
  Duration latency{-1};       // negative: unset
  double latency_factor = 1;  // by which the latency is multiplied
  Time until = kNever;        // the state stays at least until then
};

struct LinkRule {
  LinkRuleKind what = LinkRuleKind::kFixed;
  double factor = 1;          // markov: the bandwidth is divided by this while the link is slow
  double latency_factor = 1;  // markov: the latency is multiplied by this while the link is slow
  Duration slow{}, normal{};  // markov: mean time slow, mean time at its usual speed
  TraceReplay replay{};       // trace. A block bootstrap draws one place for all rules whose traces are equally long
  std::string digest{};       // trace: of the file's content; it stands for the trace in JSON

  /// Returns true if the link has a bandwidth of the rule's own at some time.
  bool sets_bandwidth() const;
  /// Returns the state at `now`. `number`: the number of the rule among those with memory, from 0. Error(kUsage) after
  /// the end of a trace with kError.
  LinkState at(std::uint64_t seed, std::uint32_t repeat, int number, Time now) const;
};

}  // namespace hopbench
