// Decoupled DiLoCo: a syncer merges fragments of the learners' models as they come, with a quorum and a grace window,
// and no learner waits. Douillard, Rush, Donchev, Charles, et al.: "Decoupled DiLoCo for Resilient Distributed
// Pre-training", arXiv 2604.21428.
//
// Rules enforced here, for P fragments of neighbouring numbers:
//   - a learner makes local steps on its own clock. It sends fragment p after steps H + p H / P, 2 H + p H / P, ...,
//     with the numbers of samples and of steps since it sent it last, and goes on;
//   - the syncer merges a fragment once `quorum` learners have sent it and a grace window has passed since then. The
//     window is `grace` times the mean time from a first arrival to a quorum: those that nearly made it are waited for;
//   - a learner's weight is samples x samples / steps, of those since it was last in a merge, as a share of all that
//     are merged. The outer gradient has the weighted mean direction of x0 - x_i, and their weighted mean length;
//     Nesterov's outer step moves x0;
//   - the new fragment goes to all learners. Each takes it in between two of its steps: alpha times its own numbers
//     plus 1 - alpha times the new ones.
#include <algorithm>

#include "protocols/groups/group_average.h"
#include "protocols/groups/groups.h"
#include "protocols/node/collectives.h"
#include "protocols/node/node.h"
#include "protocols/outer/fragments.h"
#include "protocols/outer/outer_optimizer.h"
#include "protocols/outer/syncer.h"
#include "protocols/server/server.h"
#include "protocols/server/stripes.h"

namespace hopbench::outer::decoupled_diloco {

class Learner {
 public:
  Learner(Node& self, const KnobValues& knobs)
      : self_(self),
        plan_(knobs),
        alpha_(knobs.real("alpha")),
        samples_(plan_.fragments, 0),
        steps_(plan_.fragments, 0) {}

  /// Counts a local step, and sends the fragment that is due after so many of them, if one is.
  void stepped(const Vec& x, Iter steps, int samples) {
    for (std::int64_t& trained : samples_) trained += samples;
    for (std::int64_t& made : steps_) ++made;
    const std::size_t due = plan_.sent_after(steps);
    if (due == plan_.fragments) return;
    const Slice part = server::slice_of(x.size(), due, plan_.fragments);
    self_.send(self_.servers().front(), kPush, steps - 1, x.slice(part.offset, part.size),
               {static_cast<std::int64_t>(due), samples_[due], steps_[due]});
    samples_[due] = steps_[due] = 0;
  }

  /// Goes on from the syncer's x0 after an absence. What it had not sent is lost.
  void rejoined(Iter k, Vec& x, Vec& x0) {
    while (self_.take(is(kWeights))) continue;  // older than that
    server::rejoin(self_, k, x0);
    x = x0;
    std::fill(samples_.begin(), samples_.end(), 0);
    std::fill(steps_.begin(), steps_.end(), 0);
  }

  /// Takes in the fragments that have come: into x0, and mixed into x.
  void take_in(Vec& x, Vec& x0) {
    self_.poll();
    while (const auto fresh = self_.take(is(kWeights))) {
      const Slice part = server::slice_of(x.size(), static_cast<std::size_t>(fresh->words[0]), plan_.fragments);
      self_.operate(bytes_of(5 * part.size), [&] {
        x0.assign(part.offset, fresh->body);
        const Vec mixed = combined({{alpha_, x.slice(part.offset, part.size)}, {1 - alpha_, fresh->body}});
        x.assign(part.offset, share(mixed));
      });
    }
  }

 private:
  Node& self_;
  const FragmentPlan plan_;
  const double alpha_;
  std::vector<std::int64_t> samples_, steps_;  // since a fragment was sent last
};

void learn(Node& self, const KnobValues& knobs) {
  Learner learner(self, knobs);
  Vec x0 = self.initial(), x = x0;
  Optimizer inner = self.optimizer(x.size());
  for (Iter k = 0; self.running(k); ++k) {
    if (self.returned()) learner.rejoined(k, x, x0);
    self.enter(k);
    groups::local_step(self, x, inner, k);
    learner.stepped(x, k + 1, self.batch());
    learner.take_in(x, x0);
    self.report(k + 1, x0);
  }
  self.ignore(is(kWeights));
}

void decoupled_diloco(Node& self, const KnobValues& knobs) {
  if (!self.is_server()) return learn(self, knobs);
  Syncer(self, knobs).run();
}

std::string refuse(const Setting& setting) {
  if (setting.knobs.integer("quorum") > setting.workers)
    return "quorum = " + std::to_string(setting.knobs.integer("quorum")) + " of " + std::to_string(setting.workers) +
           " workers: take no more than there are";
  return too_many_fragments(setting);
}

const Protocol& decoupled_diloco_protocol() {
  static const Protocol protocol{
      .name = "decoupled_diloco",
      .summary = "DiLoCo whose fragments a syncer merges with a quorum and a grace window; no learner waits",
      .paper = "Douillard et al.: Decoupled DiLoCo for Resilient Distributed Pre-training, arXiv 2604.21428",
      .family = Family::kOuter,
      .knobs = with_outer_knobs(
          {period_knob(), fragments_knob(),
           knob("quorum", 0, 0, 100000, "learners that a merge needs; 0: half of them", "memory H; the default: ours"),
           knob("grace", 1.0, 0, 1000, "length of the grace window, in mean times from a first arrival to a quorum",
                "ours"),
           knob("alpha", 0.5, 0, 1, "share of its own numbers that a learner keeps", "memory M")}),
      .body = decoupled_diloco,
      .extra_ranks = always<1>,
      .links = groups::star_links,
      .refuse = refuse,
      .control = always<Control::kSchedule>,
      .on_loss = always<OnLoss::kContinues>,
      .free_run = periods<1>,
      .rejoins = always<true>,
      .source = Source::kMemory,
      .reading = "outer/DD1-DD5",
      .experimental = always<true>};  // the window and the mixing are not checked against the paper's text
  return protocol;
}

}  // namespace hopbench::outer::decoupled_diloco
