// Sync-Switch: bulk synchronous first, then, after one switch, asynchronous to the end.
// Li, Mangoubi, Xu, Guo: "Sync-Switch: Hybrid Parameter Synchronization for Distributed Deep Learning", ICDCS 2021.
//
// Rules enforced here:
//   - the first `fraction` of all iterations are rounds: the server answers once all workers' gradients of the round
//     are applied, as one mean; from then on it applies each gradient as it comes and answers at once;
//   - there is one switch, after the same round on every server;
//   - the hyper-parameters follow: BSP steps with n times the learning rate of ASP, whose batch is n times smaller;
//   - online (greedy): a straggler that holds up several rounds in a row brings the switch forward.
#include <algorithm>
#include <cmath>
#include <limits>

#include "protocols/node/node.h"
#include "protocols/server/server.h"
#include "protocols/server/shard.h"

namespace hopbench::server::sync_switch {

/// The BSP part of a run: the number of its rounds, and its earlier end by a straggler.
class Rounds {
 public:
  Rounds(Node& self, const KnobValues& knobs)
      : self_(self),
        online_(knobs.text("online") == "greedy"),
        slowdown_(knobs.real("slowdown")),
        patience_(knobs.integer("patience")) {
    const double fraction = knobs.real("fraction");
    const double all = static_cast<double>(self.total_iterations()) / self.worker_count();
    rounds_ = std::llround(fraction * all);
    if (fraction > 0) rounds_ = std::max<Iter>(rounds_, 1);
    if (fraction == 1) rounds_ = std::numeric_limits<Iter>::max();
  }

  /// Returns true if k is one of the rounds. Online, the first server decides and informs the others.
  bool includes(Iter k) {
    if (k >= rounds_ || !online_) return k < rounds_;
    const int decides = self_.servers().front();
    if (self_.rank != decides) return self_.recv(is_from(kClock, decides, k), "whether to switch").words[0] != 0;
    const bool go_on = held_up_ < patience_;
    tell_servers(self_, k, {go_on ? 1 : 0});
    return go_on;
  }

  /// Returns all workers' gradients of round k. A round is held up if the last one takes more than `slowdown` times as
  /// long as the median one.
  std::vector<Message> gather(Iter k) {
    const Time start = self_.now();
    const auto from = [&](const std::vector<int>& workers, std::size_t least) {
      return self_.gather(workers, static_cast<int>(least), is(kPush, k), "gradients of all workers");
    };
    std::vector<int> others = self_.workers();
    std::vector<Message> pushes = from(others, (others.size() + 1) / 2);
    const Duration median = self_.now() - start;
    for (const Message& push : pushes) std::erase(others, push.from);
    for (Message& push : from(others, others.size())) pushes.push_back(std::move(push));
    held_up_ = self_.now() - start > scaled(median, slowdown_) ? held_up_ + 1 : 0;
    return pushes;
  }

 private:
  Node& self_;
  bool online_;
  double slowdown_;
  int patience_, held_up_ = 0;  // rounds in a row
  Iter rounds_ = 0;
};

void sync_switch(Node& self, const KnobValues& knobs) {
  if (!self.is_server()) return work(self, knobs);
  Shard shard(self);
  Rounds rounds(self, knobs);
  for (Iter k = 0; rounds.includes(k); ++k) {
    const auto pushes = rounds.gather(k);
    if (pushes.empty()) return;  // all workers have left
    shard.apply_mean(k, pushes);
    for (const Message& push : pushes) shard.answer(push.from, k);
  }

  if (knobs.text("momentum") == "reset") shard.forget_momentum();
  const double single = 1.0 / self.worker_count();
  for (;;) {
    const Message push = self.recv(is(kPush), "a gradient");
    shard.apply(push, single);
    shard.answer(push.from, push.iter);
  }
}

bool only_rounds(const KnobValues& knobs) { return knobs.real("fraction") == 1 && knobs.text("online") == "off"; }

Control control(const KnobValues& knobs) { return only_rounds(knobs) ? Control::kLockstep : Control::kSchedule; }

Changes changes(const Setting& setting) { return only_rounds(setting.knobs) ? Changes::kRounding : Changes::kForm; }

const Protocol& sync_switch_protocol() {
  static const Protocol protocol{
      .name = "sync_switch",
      .summary = "parameter server, bulk synchronous for a fraction of the run, then asynchronous",
      .paper = "Li, Mangoubi, Xu, Guo: Sync-Switch: Hybrid Parameter Synchronization, ICDCS 2021",
      .family = Family::kServer,
      .knobs = with_server_knobs(
          {knob("fraction", 0.0625, 0, 1, "share of all iterations that are bulk synchronous; 0: ASP, 1: BSP",
                "ICDCS 2021"),
           choice("momentum", {"keep", "reset"}, "what the servers' momentum does at the switch", "memory M"),
           choice("online", {"off", "greedy"}, "greedy: a straggler brings the switch forward", "memory M"),
           knob("slowdown", 2.0, 1, 1000, "online: the last gradient's time over the median's in a round held up",
                "ours"),
           knob("patience", 5, 1, 1000, "online: rounds in a row that are held up before the switch", "ours")}),
      .body = sync_switch,
      .extra_ranks = server_count,
      .links = server_links,
      .control = control,
      .changes = changes,
      .source = Source::kAbstractAndCode,
      .reading = "sync_switch/one switch",
      .experimental = always<true>};  // the hyper-parameters' rule is not checked against the paper's text
  return protocol;
}

}  // namespace hopbench::server::sync_switch
