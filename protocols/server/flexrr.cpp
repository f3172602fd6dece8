// FlexRR: stale synchronous parallel in which stragglers get help before they hold up other workers.
// Harlap, Cui, Dai, Wei, Ganger, Gibbons, Gibson, Xing: "Addressing the Straggler Problem for Iterative Convergent
// Parallel ML", SoCC 2016.
//
// Rules enforced here:
//   - the servers are those of SSP (protocols/server/ps_clock.h): a worker that has pushed t gradients is held until
//     every worker has pushed at least t - s;
//   - RapidReassignment (protocols/server/reassignment.h): a worker that is ahead of another by a share of an
//     iteration takes over slices of the samples that the other has not begun, small ones first. Each is agreed on
//     and confirmed;
//   - each sample of an iteration is computed once, by its worker or by a helper, and a push is the mean over all.
//
// A helper computes at its own weights. Since it is ahead, they hold all that SSP promises to the worker it helps.
#include <algorithm>
#include <memory>

#include "protocols/node/node.h"
#include "protocols/server/ps_clock.h"
#include "protocols/server/reassignment.h"
#include "protocols/server/server.h"

namespace hopbench::server::flexrr {

void work_and_help(Node& self, const KnobValues& knobs) {
  const auto samples = std::make_shared<Reassignment>(self, knobs);  // the strand outlives this body
  self.spawn([samples] { samples->listen(); });
  Vec x = self.initial();
  Iter k = 0;
  for (; self.running(k); ++k) {
    self.enter(k);
    samples->begin(k);
    while (const auto part = samples->next()) {
      const Gradient g = self.gradient(x, k, *part);
      if (part->first % self.batch() != 0) self.continued();
      samples->add(self.rank, share(g.values), g.samples);
      samples->help(x);
    }
    push_gradient(self, k, samples->whole(x));
    const auto answered = [&](int server) { return self.has(is_from(kWeights, server, k)); };
    const auto all_answered = [&] { return std::all_of(self.servers().begin(), self.servers().end(), answered); };
    samples->help_until(x, all_answered, "weights from the servers");
    x = pull_weights(self, k, x);
    self.report(k + 1, x);
  }
  samples->settle(x);
  self.report(k, x);  // with the samples computed for others since
}

void flexrr(Node& self, const KnobValues& knobs) {
  return self.is_server() ? serve_ssp(self, knobs.integer("staleness")) : work_and_help(self, knobs);
}

std::vector<Edge> links(const Setting& setting) {
  std::vector<Edge> edges = server_links(setting);
  for (int worker = 0; worker < setting.workers; ++worker) {
    for (const int helper : helpers_of(worker, setting.workers, setting.knobs.integer("helpers")))
      edges.emplace_back(worker, helper);
  }
  return edges;
}

const Protocol& flexrr_protocol() {
  static const Protocol protocol{
      .name = "flexrr",
      .summary = "parameter server, stale synchronous, where workers ahead take samples off stragglers",
      .paper = "Harlap et al.: Addressing the Straggler Problem for Iterative Convergent Parallel ML, SoCC 2016",
      .family = Family::kServer,
      .knobs = {staleness_knob(), servers_knob(),
                knob("parts", 10, 1, 1000, "a worker does its iteration in so many parts, and reports after each",
                     "ours"),
                knob("helpers", 4, 0, 1000, "how many workers may help one: the next ranks; 0: nobody helps",
                     "memory L"),
                knob("trigger", 0.2, 0.001, 10, "who is ahead by this share of an iteration helps", "memory L"),
                knob("first_slice", 0.025, 0.0001, 1,
                     "first slice a helper gets in an iteration; each next is twice it", "memory M")},
      .body = flexrr,
      .extra_ranks = server_count,
      .links = links,
      .control = always<Control::kSchedule>,
      .moves_data = [](const KnobValues& knobs) { return knobs.integer("helpers") > 0; },
      .gradients_per_update = always<1>,
      .free_run = staleness_of,
      .gap_bound = staleness_bound,
      .source = Source::kMemory,
      .reading = "flexrr/F1-F7",
      .experimental = [](const KnobValues& knobs) { return knobs.integer("helpers") > 0; }};
  return protocol;
}

}  // namespace hopbench::server::flexrr
