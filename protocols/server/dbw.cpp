// DBW, dynamic backup workers: a synchronous parameter server that decides for each update how many gradients
// to wait for. Xu, Neglia, Sebastianelli: "Dynamic Backup Workers for Parallel Machine Learning", arXiv
// 2004.14696.
//
// Rules enforced here, where version t of the weights is the result of t updates:
//   - version t + 1 is made with the mean of the first k_t gradients that were computed at version t;
//   - a gradient that arrives when its version is no longer the newest is too late and is discarded;
//   - k_t maximises the expected gain per second (protocols/server/dbw_policy.h); without an estimate, it counts all
//     workers.
//
// This is "push and wait": no gradient is interrupted. A worker computes, pushes, and gets the newest weights, at once
// if it was late, else with the update. There is one server, because the estimates need whole gradients.
#include <algorithm>
#include <bit>

#include "protocols/groups/groups.h"
#include "protocols/node/collectives.h"
#include "protocols/node/node.h"
#include "protocols/server/dbw_policy.h"
#include "protocols/server/pushes.h"
#include "protocols/server/server.h"
#include "protocols/server/shard.h"

namespace hopbench::server::dbw {

void compute(Node& self, const KnobValues& knobs) {
  const int server = self.servers().front();
  Vec x = self.initial();
  Pushes pushes(self, knobs.flag("overlap"));
  Iter version = 0;
  for (Iter k = 0; self.running(k); ++k) {
    if (self.returned()) rejoin(self, k, x, [&](const Words& updates) { version = updates[0]; });
    self.enter(k);
    const Gradient g = pushes.gradient(x, k, version);
    pushes.push(version, g.values, {g.samples, std::bit_cast<std::int64_t>(double{g.loss})});
    const Message weights = self.recv(is_from(kWeights, server), "weights from the server");
    if (weights.words[1] == 0) self.lost(k, "came too late");
    version = weights.iter;
    self.operate(bytes_of(2 * x.size()), [&] { x = Vec::copy_of(weights.body); });
    self.report(k + 1, x);
  }
}

class Server {
 public:
  Server(Node& self, int window) : self_(self), shard_(self), landscape_(window), wait_for_(self.worker_count()) {}

  void run() {
    arrivals_.published(0, self_.now(), wait_for_);
    for (Iter t = 0;; ++t) {
      std::vector<Message> fresh = gather(t);
      if (fresh.empty()) return;  // all workers have left
      for (Message& push : fresh) shard_.join(push);
      const Vec mean = shard_.apply_mean(t, fresh);
      landscape_.add(seen_in(fresh, mean, t));
      arrivals_.published(t + 1, self_.now(), static_cast<int>(fresh.size()));
      wait_for_ = best(t + 1, static_cast<int>(fresh.size()));
      for (const Message& push : fresh) shard_.answer(push.from, t + 1, {wait_for_, 1});
    }
  }

 private:
  /// Returns the first k_t gradients of version t; fewer if no worker is left that could send one, none if all have
  /// left.
  std::vector<Message> gather(Iter t) {
    std::vector<Message> fresh;
    const auto& workers = self_.workers();
    const auto to_come = [&](int worker) {
      return self_.present(worker) && std::ranges::find(fresh, worker, &Message::from) == fresh.end();
    };
    const auto all_here = [&] {
      const bool some = !fresh.empty() || std::ranges::all_of(workers, [&](int worker) { return self_.ended(worker); });
      return some && std::ranges::none_of(workers, to_come);
    };
    while (static_cast<int>(fresh.size()) < wait_for_) {
      self_.until([&] { return self_.has(is(kPush)) || all_here(); }, "enough gradients");
      auto push = self_.take(is(kPush));
      if (!push) break;
      arrivals_.arrived(push->iter, self_.now());
      if (push->iter < t) discard(*push, t);
      if (push->iter == t) fresh.push_back(std::move(*push));
    }
    return fresh;
  }

  void discard(const Message& late, Iter t) {
    shard_.answer(late.from, t, {wait_for_, 0});
    shard_.drop(late);
  }

  UpdateSeen seen_in(const std::vector<Message>& fresh, const Vec& mean, Iter t) {
    UpdateSeen seen{.gradients = static_cast<int>(fresh.size()), .lr = shard_.learning_rate(t)};
    self_.operate(bytes_of((fresh.size() + 1) * mean.size()), [&] {
      seen.mean_norm2 = squared_norm(self_.trained(mean));
      for (const Message& push : fresh) seen.sum_of_norms2 += squared_norm(self_.trained(push.body));
    });
    for (const Message& push : fresh) seen.loss += std::bit_cast<double>(push.words[1]) / seen.gradients;
    return seen;
  }

  /// Returns k_t after an update with `made_of` gradients.
  int best(Iter t, int made_of) const {
    const int there = present_workers(self_);
    const std::vector<double> times = arrivals_.expected(made_of, there);
    const auto landscape = landscape_.now();
    if (!landscape || times.empty()) return there;
    return best_count(*landscape, shard_.learning_rate(t), times);
  }

  Node& self_;
  Shard shard_;
  LandscapeEstimate landscape_;
  ArrivalTimes arrivals_;
  int wait_for_;  // k_t
};

void dbw(Node& self, const KnobValues& knobs) {
  if (!self.is_server()) return compute(self, knobs);
  Server(self, knobs.integer("window")).run();
}

const Protocol& dbw_protocol() {
  static const Protocol protocol{
      .name = "dbw",
      .summary = "parameter server that waits for k gradients an update, with k chosen by gain a second",
      .paper = "Xu, Neglia, Sebastianelli: Dynamic Backup Workers for Parallel Machine Learning, arXiv 2004.14696",
      .family = Family::kServer,
      .knobs = {knob("window", 5, 1, 1000, "updates that the gradient's norm and variance are estimated from", "ours"),
                overlap_knob()},
      .body = dbw,
      .extra_ranks = always<1>,
      .links = groups::star_links,
      .control = always<Control::kValues>,
      .on_loss = always<OnLoss::kContinues>,
      .changes = always<Changes::kWork>,
      .rejoins = always<true>,
      .source = Source::kMemory,
      .reading = "dbw/push and wait",
      .experimental = always<true>};  // the estimates are not checked against the paper's text
  return protocol;
}

}  // namespace hopbench::server::dbw
