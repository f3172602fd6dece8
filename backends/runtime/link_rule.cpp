#include "backends/runtime/link_rule.h"

#include <algorithm>

#include "backends/base/random.h"
#include "backends/runtime/markov.h"

namespace hopbench {
namespace {

constexpr std::size_t kAllDraws = 0;  // each rule has streams of its own, so no draws are left out

LinkState recorded_state(const TraceReplay& replay, const RandomKey& key, Time now) {
  const Trace& trace = *replay.trace;
  const TraceReplay::Place place = replay.place(key, kAllDraws, now);
  LinkState state{.until = std::min(place.until, after(now, trace.next_row(place.at) - place.at))};
  state.bandwidth = trace.value(Trace::Column::kBandwidth, place.at).value_or(state.bandwidth);
  state.factor = trace.value(Trace::Column::kFactor, place.at).value_or(state.factor);
  if (const auto latency = trace.value(Trace::Column::kLatency, place.at))
    state.latency = seconds_to_duration(*latency);
  return state;
}

}  // namespace

bool LinkRule::sets_bandwidth() const {
  return what == LinkRuleKind::kTrace && replay.trace->has(Trace::Column::kBandwidth);
}

LinkState LinkRule::at(std::uint64_t seed, std::uint32_t repeat, int number, Time now) const {
  const RandomKey key{.seed = seed, .repeat = repeat, .purpose = Purpose::kLinkRule, .rank = number};
  if (what == LinkRuleKind::kTrace) return recorded_state(replay, key, now);
  if (what == LinkRuleKind::kFixed) return {};
  const SlowPhases phases{slow, normal};
  const bool is_slow = phases.slow_at(key, kAllDraws, now);
  return {.factor = is_slow ? factor : 1,
          .latency_factor = is_slow ? latency_factor : 1,
          .until = phases.next_change(key, kAllDraws, now)};
}

}  // namespace hopbench
