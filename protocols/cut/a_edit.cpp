// A-EDiT: local steps for a fixed time, not a fixed number, and then an outer step in which models that have moved too
// far count less. Cheng, Li, Wang, et al.: "EDiT: A Local-SGD-Based Efficient Distributed Training Method for Large
// Language Models", ICLR 2025.
//
// Rules enforced here:
//   - a worker makes local steps from x0 until a time T has passed since it began, one at the least. In the first round
//     it makes `period` steps; T is then the shortest time that any worker took for those;
//   - with D_i = x0 - x_i, worker i's weight is exp(-|D_i|) over the sum of all. It is 0 if |D_i| is an anomaly:
//     more than `limit` deviations above the moving average of its own lengths;
//   - the outer step is with the weighted mean of the D_i, cut to the length `clip`. If all are anomalies there is
//     none.
// A worker that has finished its iterations has the weight 0 and goes on joining until all have finished.
#include <algorithm>

#include "protocols/cut/weighted_rounds.h"
#include "protocols/groups/group_average.h"
#include "protocols/groups/groups.h"

namespace hopbench::cut::a_edit {

void a_edit(Node& self, const KnobValues& knobs) {
  WeightedRounds rounds(self, knobs);
  Vec x0 = self.initial(), x = x0;
  Optimizer inner = self.optimizer(x.size());
  Duration limit{};  // T; 0: not known yet
  Time since = self.now();
  Iter done = 0, k = 0;
  for (; self.running(k); ++k) {
    groups::inner_step(self, x, inner, k, 1);
    ++done;
    const Duration took = self.now() - since;
    if (limit.count() > 0 ? took >= limit : done >= knobs.integer("period")) {
      rounds.end(x, x0, {.took = took});
      if (limit.count() == 0) limit = std::max(rounds.shortest(), Duration(1));
      outer::take_over(self, x, x0);
      since = self.now(), done = 0;
    }
    self.report(k + 1, x0);
  }
  self.retire();
  for (bool over = false; !over;) {
    over = rounds.end(x, x0, {.stepped = done > 0, .last = true, .took = self.now() - since});
    outer::take_over(self, x, x0);
    since = self.now(), done = 0;
  }
  self.report(k, x0);
}

const Protocol& a_edit_protocol() {
  static const Protocol protocol{
      .name = "a_edit",
      .summary = "local steps for a fixed time, then an outer step in which models that moved far count less",
      .paper =
          "Cheng et al.: EDiT: A Local-SGD-Based Efficient Distributed Training Method for Large Language Models, "
          "ICLR 2025",
      .family = Family::kCut,
      .knobs = {outer::period_knob(),
                choice("outer", {"nesterov", "momentum"}, "form of the outer optimizer's momentum", "memory M"),
                knob("outer_lr", 0.8, 0, 1000, "learning rate of the outer step", "memory M"),
                knob("outer_momentum", 0.85, 0, 0.999999, "momentum of the outer step; 0: plain SGD", "memory M"),
                knob("limit", 3.0, 0, 1e9, "deviations above the moving average from which a length is an anomaly",
                     "memory M"),
                knob("clip", 10.0, 1e-9, 1e9, "length of the longest outer gradient", "memory M")},
      .body = a_edit,
      .links = groups::all_pairs,
      .control = always<Control::kSchedule>,
      .changes = always<Changes::kWork>,
      .free_run = periods<1>,
      .source = Source::kMemory,
      .reading = "cut/E1-E5",
      .experimental = always<true>};  // weights and constants are not checked against the paper's text
  return protocol;
}

}  // namespace hopbench::cut::a_edit
