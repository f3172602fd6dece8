// Partial Reduce: a worker that has done a step averages its model with the first other workers that have done theirs.
// Miao et al.: "Heterogeneity-Aware Distributed Machine Learning Training via Partial Reduce", SIGMOD 2021.
//
// Rules enforced here:
//   - workers tell a controller when they are ready; the first P form a group and average, the others keep computing;
//   - any `window` groups in a row connect all workers, so no set of groups stays frozen
//     (protocols/groups/ready_queue.h);
//   - weights are 1/P, which keeps the mean of all models, or dynamic: a model whose steps are s behind the newest of
//     the group gets decay^s times the newest's weight. An averaged model is as new as the newest that went into it.
//
// The controller is a rank of its own, a server. It answers in the order in which signals arrive, and no worker is
// nearer to it than another. Once fewer than P workers are left in the run, they go on alone, because a group has P
// members. A dead worker is in no further group; a group that it was in already goes on without it.

#include "protocols/groups/group_average.h"
#include "protocols/groups/ready_queue.h"
#include "protocols/node/collectives.h"
#include "protocols/node/node.h"

namespace hopbench::groups::partial_reduce {

int window_of(const KnobValues& knobs, int workers) {
  if (!knobs.flag("avoid_frozen")) return 0;
  return knobs.integer("window", 4 * fewest_groups(workers, knobs.integer("group_size")));
}

void control_groups(Node& self, const KnobValues& knobs) {
  const int workers = self.worker_count();
  ReadyQueue queue(workers, knobs.integer("group_size"), window_of(knobs, workers));
  for (Iter number = 0;;) {
    self.until([&] { return self.has(is(kRequest)) || present_workers(self) < queue.workers_left(); },
               "a ready worker");
    for (int w : self.workers()) {
      if (!self.present(w)) queue.left(w);
    }
    const auto request = self.take(is(kRequest));
    if (request && self.present(request->from)) queue.ready(request->from);
    while (const auto group = queue.next_group()) {
      for (int member : *group) self.send(member, kReply, number, {}, words_of(*group));
      ++number;
    }
    for (int worker : queue.stranded()) self.send(worker, kReply, Assignment{}.number);
  }
}

void partial_reduce(Node& self, const KnobValues& knobs) {
  if (self.is_server()) return control_groups(self, knobs);
  const int controller = self.servers().front();
  const double decay = knobs.text("weights") == "dynamic" ? knobs.real("decay") : 1.0;
  Optimizer optimizer = self.optimizer(self.initial().size());
  Vec x = self.initial();
  Iter steps = 0;  // on the longest path from the initial model to this one

  for (Iter k = 0; self.running(k); ++k) {
    self.enter(k);
    const Gradient g = self.gradient(x, k);
    optimizer.step(x, share(g.values), k);
    ++steps;
    self.send(controller, kRequest, k);
    const Message answer = self.recv(is_from(kReply, controller), "a group");
    steps = average_in_group(self, {answer.iter, members_in(answer.words)}, steps, x, decay);
    self.applied(self.rank, k);
    self.report(k + 1, x);
  }
}

std::vector<Edge> links(const Setting& setting) { return all_pairs(setting.workers + 1); }

std::string refuse(const Setting& setting) {
  const int size = setting.knobs.integer("group_size");
  if (size > setting.workers)
    return "group_size = " + std::to_string(size) + " is more than the " + std::to_string(setting.workers) + " workers";
  if (setting.workers > kMostGrouped)
    return "a group is told in one message, of up to " + std::to_string(kMostGrouped) + " workers: take fewer";
  const int window = window_of(setting.knobs, setting.workers), fewest = fewest_groups(setting.workers, size);
  if (setting.knobs.flag("avoid_frozen") && window < fewest)
    return "window = " + std::to_string(window) + " groups of " + std::to_string(size) + " cannot connect " +
           std::to_string(setting.workers) + " workers: take " + std::to_string(fewest) + " or more";
  return "";
}

const Protocol& partial_reduce_protocol() {
  static const Protocol protocol{
      .name = "partial_reduce",
      .summary = "decentralised SGD: the first P workers that are ready average their models",
      .paper = "Miao et al.: Heterogeneity-Aware Distributed Machine Learning Training via Partial Reduce, SIGMOD 2021",
      .family = Family::kGroups,
      .knobs = {knob("group_size", 2, 2, 1000, "P: a group is made of so many workers", "ours"),
                choice("weights", {"constant", "dynamic"},
                       "constant: 1/P each; dynamic: less for a model that is behind the newest of the group",
                       "memory M"),
                knob("decay", 0.5, 0.01, 1.0, "dynamic: the weight of a model one step behind, of 1", "ours"),
                knob("avoid_frozen", true, "any `window` groups in a row connect all workers", "memory M"),
                knob("window", 0, 0, 100000, "in groups; 0: four times as many as are needed at the least", "ours")},
      .body = partial_reduce,
      .extra_ranks = always<1>,
      .links = links,
      .refuse = refuse,
      .control = always<Control::kSchedule>,
      .on_loss = always<OnLoss::kContinues>,
      .source = Source::kMemory,
      .reading = "partial_reduce/window looked at ahead",
      .experimental = always<true>};  // weights and the avoidance are not checked against the paper's text
  return protocol;
}

}  // namespace hopbench::groups::partial_reduce
