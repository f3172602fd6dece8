// Parameter servers, synchronous and not. Ho et al.: "More Effective Distributed ML via a Stale Synchronous Parallel
// Parameter Server", NeurIPS 2013; rules as stated by Zhao, An, Liu, Chen: "Dynamic Stale Synchronous Parallel
// Distributed Training", ICDCS 2019.
//
// A worker pushes the gradient of iteration k and goes on when the answer, the new weights, has arrived. The rule
// enforced here is when the server answers:
//   ps_bsp   once all workers' gradients of iteration k are applied, as one mean
//   ps_asp   at once, after applying the one that was pushed
//   ps_ssp   as ps_asp, but a worker that has pushed t gradients is held until all have pushed at least t - s
//
// Each server keeps a part of every layer (protocols/server/stripes.h). The servers of SSP have one clock (ps_clock.h).
#include "protocols/node/node.h"
#include "protocols/server/ps_clock.h"
#include "protocols/server/server.h"
#include "protocols/server/shard.h"

namespace hopbench::server::parameter_server {

void bsp(Node& self, const KnobValues& knobs) { return self.is_server() ? serve_bsp(self) : work(self, knobs); }

void asp(Node& self, const KnobValues& knobs) {
  if (!self.is_server()) return work(self, knobs);
  Shard shard(self);
  for (;;) {
    const Message push = self.recv(is(kPush), "a gradient");
    shard.apply(push);
    shard.answer(push.from, push.iter);
  }
}

void ssp(Node& self, const KnobValues& knobs) {
  if (!self.is_server()) return work(self, knobs);
  serve_ssp(self, knobs.integer("staleness"));
}

constexpr std::string_view kPaper =
    "Ho et al.: More Effective Distributed ML via a Stale Synchronous Parallel Parameter Server, NeurIPS 2013";

const Protocol& ps_bsp_protocol() {
  static const Protocol protocol{
      .name = "ps_bsp",
      .summary = "parameter server, bulk synchronous: an update is the mean of all workers' gradients",
      .paper = kPaper,
      .family = Family::kServer,
      .knobs = with_server_knobs({}),
      .body = bsp,
      .extra_ranks = server_count,
      .links = server_links,
      .changes = always<Changes::kRounding>,
      .gap_bound = one_ahead,
      .source = Source::kFullText,
      .reading = "ps/as stated in DSSP"};
  return protocol;
}

const Protocol& ps_asp_protocol() {
  static const Protocol protocol = asynchronous(
      {.name = "ps_asp",
       .summary = "parameter server, asynchronous: each gradient is applied on arrival, nobody waits for anybody",
       .paper = kPaper,
       .family = Family::kServer,
       .knobs = with_server_knobs({}),
       .body = asp,
       .gradients_per_update = always<1>,
       .source = Source::kFullText,
       .reading = "ps/as stated in DSSP"});
  return protocol;
}

const Protocol& ps_ssp_protocol() {
  static const Protocol protocol =
      asynchronous({.name = "ps_ssp",
                    .summary = "parameter server, stale synchronous: asynchronous within a bound on the push counts",
                    .paper = kPaper,
                    .family = Family::kServer,
                    .knobs = with_server_knobs({staleness_knob()}),
                    .body = ssp,
                    .gradients_per_update = always<1>,
                    .free_run = staleness_of,
                    .gap_bound = staleness_bound,
                    .source = Source::kFullText,
                    .reading = "ps/as stated in DSSP"});
  return protocol;
}

}  // namespace hopbench::server::parameter_server
