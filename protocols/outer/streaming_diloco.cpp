// Streaming DiLoCo: the model is synchronised in fragments, one after the other, while local steps go on. Douillard,
// Donchev, Rush, Kale, Charles, et al.: "Streaming DiLoCo with Overlapping Communication: Towards a Distributed Free
// Lunch", arXiv 2501.18512.
//
// Rules enforced here, for P fragments of neighbouring numbers:
//   - fragment p is sent after local steps H + p H / P, 2 H + p H / P, ...: each once in H steps, none with another;
//   - its mean over all workers is awaited `delay` local steps later. The outer step on that part of x0 then uses the
//     models as they were when they were sent;
//   - the worker's own numbers become alpha times themselves plus 1 - alpha times the new x0. The optimizers' states
//     stay.
// With one fragment, no delay and alpha = 0 this is DiLoCo.
#include "protocols/groups/background_mean.h"
#include "protocols/groups/group_average.h"
#include "protocols/node/collectives.h"
#include "protocols/node/node.h"
#include "protocols/outer/fragments.h"
#include "protocols/outer/outer_optimizer.h"
#include "protocols/server/stripes.h"

namespace hopbench::outer::streaming_diloco {

constexpr const char* kWhy = "the mean of a fragment";

void mix(Node& self, Vec& x, const Vec& x0, const Slice& part, double alpha) {
  self.operate(bytes_of(3 * part.size), [&] {
    const Payload fresh = x0.slice(part.offset, part.size);
    if (alpha == 0) return x.assign(part.offset, fresh);
    const Vec mixed = combined({{alpha, x.slice(part.offset, part.size)}, {1 - alpha, fresh}});
    x.assign(part.offset, share(mixed));
  });
}

void streaming_diloco(Node& self, const KnobValues& knobs) {
  const FragmentPlan plan(knobs);
  const Iter delay = knobs.integer("delay");
  const OuterOptimizer::Step step = outer_step(knobs);
  Vec x0 = self.initial(), x = x0;
  Optimizer inner = self.optimizer(x.size());
  OuterOptimizer outer(self);
  BackgroundMean mean(self);
  Slice part{};
  Iter due = -1;  // after so many steps the fragment on its way is awaited
  for (Iter k = 0; self.running(k); ++k) {
    self.enter(k);
    groups::local_step(self, x, inner, k);
    const std::size_t sent = plan.sent_after(k + 1);
    if (sent < plan.fragments) {
      part = server::slice_of(x.size(), sent, plan.fragments);
      due = k + 1 + delay;
      mean.begin(x.slice(part.offset, part.size));
    }
    if (due == k + 1) {
      mean.wait(kWhy);
      outer.step(x0, share(mean.taken().values), step, part.offset);
      mix(self, x, x0, part, knobs.real("alpha"));
    }
    self.report(k + 1, x0);
  }
  self.retire();
  mean.wait(kWhy);  // others still need what it sends on
}

std::string refuse(const Setting& setting) {
  if (std::string why = too_many_fragments(setting); !why.empty()) return why;
  const FragmentPlan plan(setting.knobs);
  const int delay = setting.knobs.integer("delay");
  if (delay < plan.shortest()) return "";
  return "delay = " + std::to_string(delay) +
         " steps are not under period / fragments = " + std::to_string(plan.period) + " / " +
         std::to_string(plan.fragments) + ", rounded down to " + std::to_string(plan.shortest()) +
         ": a fragment has to be here before the next leaves. Take a shorter delay, a longer period or fewer fragments";
}

int free_run(const KnobValues& knobs) { return knobs.integer("period") + knobs.integer("delay"); }

const Protocol& streaming_diloco_protocol() {
  static const Protocol protocol{
      .name = "streaming_diloco",
      .summary = "DiLoCo whose model is synchronised in fragments, while local steps go on",
      .paper = "Douillard et al.: Streaming DiLoCo with Overlapping Communication, arXiv 2501.18512",
      .family = Family::kOuter,
      .knobs = with_outer_knobs(
          {period_knob(), fragments_knob(),
           knob("delay", 1, 0, 1'000'000, "tau: local steps from the sending of a fragment to its outer step",
                "memory H; the default: ours"),
           knob("alpha", 0.5, 0, 1, "what a worker keeps of its own numbers when a fragment arrives", "memory M")}),
      .body = streaming_diloco,
      .links = groups::ring_links,
      .refuse = refuse,
      .free_run = free_run,
      .gap_bound = [](const Setting& setting) -> std::optional<std::int64_t> { return free_run(setting.knobs); },
      .source = Source::kMemory,
      .reading = "outer/T1-T4",
      .experimental = always<true>};  // how numbers are mixed is not checked
  return protocol;
}

}  // namespace hopbench::outer::streaming_diloco
