// When an asynchronous parameter server with a bound answers (protocols/parameter_server.cpp, protocols/dssp.cpp and
// others).
#pragma once

#include <functional>

#include "protocols/node.h"
#include "protocols/shard.h"

namespace hopbench {

/// The rule: how many gradients everybody must have pushed before `push`, which has just been applied, is answered.
/// 0: at once. `when`: the instant it was taken.
using LeastPushed = std::function<Iter(const Message& push, Time when)>;

/// A server, for ever: applies each push on arrival and holds the answer until `least` allows it. Workers that have
/// left are not waited for. All servers have one clock: the first alone asks `least`, for its own counts; the others
/// hold their answer until its decision is there, and until they have themselves applied what the decision rests on.
void serve(Node& self, Shard& shard, const LeastPushed& least);

/// That with SSP's rule: a worker that has pushed t gradients is held until nobody has pushed fewer than t - staleness.
void serve_ssp(Node& self, Iter staleness);
/// The knob `staleness`, and its value as the fact `free_run`.
Knob staleness_knob();
int staleness_of(const KnobValues& knobs);
/// Who has pushed s times more than another enters the iteration after that.
std::optional<std::int64_t> staleness_bound(const Setting& setting);

}  // namespace hopbench
