// The rule by which an asynchronous parameter server with a bound answers (protocols/server/parameter_server.cpp,
// protocols/server/dssp.cpp and others).
#pragma once

#include <functional>

#include "protocols/node/node.h"
#include "protocols/server/shard.h"

namespace hopbench::server {

/// The rule: returns the number of gradients that all workers must have pushed before `push`, which has just been
/// applied, is answered; 0: at once. `when` is the time at which the push was taken.
using LeastPushed = std::function<Iter(const Message& push, Time when)>;

/// Runs a server for ever: applies each push on arrival and holds the answer until `least` allows it. Does not wait for
/// workers that have left. All servers have one clock. Only the first calls `least`, for its own counts. The others
/// hold their answer until its decision is there and until they have applied what the decision rests on. `most`: by how
/// much a worker may be ahead of the slowest when it returns from an absence.
void serve(Node& self, Shard& shard, Iter most, const LeastPushed& least);

/// Does this by SSP's rule: a worker with t pushed gradients is held until all have pushed at least t - staleness.
void serve_ssp(Node& self, Iter staleness);
/// Returns the knob `staleness`, or its value as the fact `free_run`.
Knob staleness_knob();
int staleness_of(const KnobValues& knobs);
/// Returns s + 1: a worker that has pushed s times more than another enters the iteration after that.
std::optional<std::int64_t> staleness_bound(const Setting& setting);

}  // namespace hopbench::server
