// Parameter servers, synchronous and not. Ho et al.: "More Effective Distributed ML via a Stale Synchronous Parallel
// Parameter Server", NeurIPS 2013; rules as stated by Zhao, An, Liu, Chen: "Dynamic Stale Synchronous Parallel
// Distributed Training", ICDCS 2019.
//
// A worker pushes the gradient of iteration k and goes on when the answer, the new weights, is there. What is enforced
// is when the server answers:
//   ps_bsp   once all workers' gradients of iteration k are applied, as one mean
//   ps_asp   at once, after applying the one that was pushed
//   ps_ssp   as ps_asp, but a worker that has pushed t gradients is held until nobody has pushed fewer than t - s
//
// The parameters are cut into slices, a server each. A sharded SSP server has one clock: the first server alone decides
// whom to answer; the others hold their answer until its decision is there, and until they have themselves applied what
// the decision rests on.
#include <algorithm>

#include "protocols/node.h"
#include "protocols/shard.h"

namespace hopbench {
namespace {

void work(Node& self) {
  Vec x = self.initial();
  const std::vector<int>& servers = self.servers();
  for (Iter k = 0; self.running(k); ++k) {
    self.enter(k);
    const Gradient g = self.gradient(x, k);
    for (std::size_t i = 0; i < servers.size(); ++i) {
      const Slice slice = slice_of(x.size(), i, servers.size());
      self.send(servers[i], kPush, k, g.values.slice(slice.offset, slice.size));
    }
    Vec weights = Vec::uninitialised(x.size(), x.space());
    const int all = static_cast<int>(servers.size());
    for (const Message& answer : self.gather(servers, all, is(kWeights, k), "weights from the servers")) {
      const auto i = static_cast<std::size_t>(answer.from - servers.front());
      const double bytes = static_cast<double>(2 * answer.body.size() * sizeof(float));
      self.operate(bytes, [&] { weights.assign(slice_of(x.size(), i, servers.size()).offset, answer.body); });
    }
    x = std::move(weights);
    self.report(k + 1, x);
  }
}

void bsp(Node& self, const KnobValues&) {
  if (!self.is_server()) return work(self);
  Shard shard(self);
  for (Iter k = 0;; ++k) {
    const auto pushes = self.gather(self.workers(), self.worker_count(), is(kPush, k), "gradients of all workers");
    if (pushes.empty()) return;  // everybody has left
    shard.apply_mean(k, pushes);
    for (const Message& push : pushes) shard.answer(push.from, k);
  }
}

void asp(Node& self, const KnobValues&) {
  if (!self.is_server()) return work(self);
  Shard shard(self);
  for (;;) {
    const Message push = self.recv(is(kPush), "a gradient");
    shard.apply(push);
    shard.answer(push.from, push.iter);
  }
}

void ssp(Node& self, const KnobValues& knobs) {
  if (!self.is_server()) return work(self);
  const Iter staleness = knobs.integer("staleness");
  const bool decides = self.rank == self.servers().front();
  Shard shard(self);
  struct Held {  // an answer to worker's push of iteration k; it may leave once everybody has pushed `least`
    int worker;
    Iter k, least;
  };
  std::vector<Held> held;
  const auto due = [&](const Held& h) { return shard.pushed(h.worker) > h.k && shard.least_pushed() >= h.least; };
  for (;;) {
    self.until(
        [&] { return self.has(is(kPush)) || self.has(is(kClock)) || std::any_of(held.begin(), held.end(), due); },
        "a gradient");
    if (const auto push = self.take(is(kPush))) {
      shard.apply(*push);
      if (decides) held.push_back({push->from, push->iter, shard.pushed(push->from) - staleness});
    }
    if (const auto decision = self.take(is(kClock)))
      held.push_back({int(decision->words[0]), decision->iter, decision->words[1]});
    for (const Held& h : held) {
      if (!due(h)) continue;
      for (int server : self.servers()) {
        if (decides && server != self.rank) self.send(server, kClock, h.k, {}, {h.worker, h.least});
      }
      shard.answer(h.worker, h.k);
    }
    std::erase_if(held, due);
  }
}

int servers(const Setting& setting) {
  const int wanted = setting.knobs.integer("servers");
  return wanted > 0 ? wanted : setting.workers;
}

std::vector<Edge> links(const Setting& setting) {
  std::vector<Edge> edges;
  const int n = setting.workers;
  for (int server = n; server < n + servers(setting); ++server) {
    for (int worker = 0; worker < n; ++worker) edges.emplace_back(worker, server);
    if (server > n) edges.emplace_back(n, server);
  }
  return edges;
}

Control by_schedule(const KnobValues&) { return Control::kSchedule; }

int staleness_of(const KnobValues& knobs) { return knobs.integer("staleness"); }

Knob servers_knob() {
  return {"servers", 0, 0, 256, {}, "how many servers share the parameters; 0: one beside each worker", "ours"};
}

Knob staleness_knob() {
  return {"staleness", 3, 0, 1000, {}, "s: a worker that has pushed over s gradients more than the slowest is held",
          "DSSP"};
}

constexpr std::string_view kPaper =
    "Ho et al.: More Effective Distributed ML via a Stale Synchronous Parallel Parameter Server, NeurIPS 2013";

}  // namespace

const Protocol& ps_bsp_protocol() {
  static const Protocol protocol{
      .name = "ps_bsp",
      .summary = "parameter server, bulk synchronous: an update is the mean of all workers' gradients",
      .paper = kPaper,
      .knobs = {servers_knob()},
      .body = bsp,
      .extra_ranks = servers,
      .links = links,
      .source = Source::kFullText,
      .reading = "ps/as stated in DSSP"};
  return protocol;
}

const Protocol& ps_asp_protocol() {
  static const Protocol protocol{
      .name = "ps_asp",
      .summary = "parameter server, asynchronous: each gradient is applied on arrival, nobody waits for anybody",
      .paper = kPaper,
      .knobs = {servers_knob()},
      .body = asp,
      .extra_ranks = servers,
      .links = links,
      .control = by_schedule,
      .step_factor = StepFactor::kOverN,
      .source = Source::kFullText,
      .reading = "ps/as stated in DSSP"};
  return protocol;
}

const Protocol& ps_ssp_protocol() {
  static const Protocol protocol{
      .name = "ps_ssp",
      .summary = "parameter server, stale synchronous: asynchronous within a bound on the push counts",
      .paper = kPaper,
      .knobs = {staleness_knob(), servers_knob()},
      .body = ssp,
      .extra_ranks = servers,
      .links = links,
      .control = by_schedule,
      .step_factor = StepFactor::kOverN,
      .free_run = staleness_of,
      .source = Source::kFullText,
      .reading = "ps/as stated in DSSP"};
  return protocol;
}

}  // namespace hopbench
