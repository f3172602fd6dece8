// NetMax: a worker pulls the model of one random neighbour in each iteration, from those with fast links more often;
// how often follows from measured times. Zhou, Lin, Loghin, Ooi, Wu, Zhang: "Communication-efficient Decentralized
// Machine Learning over Heterogeneous Networks", ICDE 2021.
//
// Rules enforced here:
//   - worker i draws neighbour m with the chance p_im, pulls x_m while it computes its gradient, steps, and is then
//     drawn towards what it pulled: x_i <- x_i - (pull / p_im) (x_i - x_m). A model that is pulled seldom counts
//     more, but no more than half: p_im is at least twice the pull;
//   - a monitor has the times of all workers' iterations, by the neighbour that they pulled from. Now and then it
//     finds the chances and the pull for which models are predicted to come together soonest
//     (protocols/gossip/netmax_policy.h), and tells all workers.
// A worker answers pulls at any time. It ends when its neighbours have said that they pull no more.
#include <memory>

#include "protocols/gossip/active_rounds.h"
#include "protocols/gossip/mixing.h"
#include "protocols/gossip/netmax_monitor.h"
#include "protocols/groups/group_average.h"

namespace hopbench::gossip::netmax {

constexpr Kind kNoMore = kSkip;

/// A worker's row of the policy.
struct OwnPolicy {
  std::vector<double> chances;  // by rank
  double pull = 0;

  /// Returns the neighbour to pull from; the worker's own rank: none.
  int drawn(Node& self, Iter k) const {
    double left = self.random(Purpose::kPeer, k).uniform();
    for (std::size_t m = 0; m < chances.size(); ++m) {
      left -= chances[m];
      if (left < 0) return static_cast<int>(m);
    }
    return self.rank;
  }
};

void take_policy(Node& self, OwnPolicy& policy) {
  const auto told = self.take_newest(is(kPullPolicy));
  if (!told) return;
  const std::vector<float> numbers = Vec::copy_of(told->body).to_host();
  policy.pull = static_cast<double>(numbers[0]);
  policy.chances.assign(numbers.begin() + 1, numbers.end());
}

void answer_pulls(Node& self, const Vec& x) {
  for (;;) {
    const Message request = self.recv(is(kRequest), "a pull");
    self.send(request.from, kReply, request.iter, share(x), {self.iteration()});
  }
}

/// x <- x - weight (x - other)
void draw_towards(Node& self, Vec& x, const Message& other, Iter k, double weight) {
  const Term terms[] = {
      {.sender = self.rank, .tag = k, .value = share(x), .weight = static_cast<float>(1 - weight)},
      {.sender = other.from, .tag = other.words[0], .value = other.body, .weight = static_cast<float>(weight)}};
  x = self.reduce(k, terms);
}

void train(Node& self) {
  const int monitor = self.servers().front();
  const PullPolicy first = uniform_policy(self.graph());
  OwnPolicy policy{.chances = first.chances[static_cast<std::size_t>(self.rank)], .pull = first.pull};
  const auto model = std::make_shared<Vec>(self.initial());  // shared with the strand, which outlives this body
  Vec& x = *model;
  Optimizer optimizer = self.optimizer(x.size());
  self.spawn([&self, model] { answer_pulls(self, *model); });
  Iter k = 0;
  for (; self.running(k); ++k) {
    self.enter(k);
    const Time start = self.now();
    self.poll();
    take_policy(self, policy);
    const int peer = policy.drawn(self, k);
    if (peer != self.rank) self.send(peer, kRequest, k);
    groups::local_step(self, x, optimizer, k);
    if (peer != self.rank) {
      const Message answer = self.recv(is_from(kReply, peer, k), "the model that it pulls");
      draw_towards(self, x, answer, k, policy.pull / policy.chances[static_cast<std::size_t>(peer)]);
    }
    self.send(monitor, kPullTimes, k, {}, {peer, (self.now() - start).count()});
    self.report(k + 1, x);
  }
  for (const int peer : self.neighbours()) self.send(peer, kNoMore, k);
  self.retire();
  for (const int peer : self.neighbours()) self.recv(is_from(kNoMore, peer), "pulls of neighbours");
  self.ignore(is(kPullPolicy));
}

void netmax(Node& self, const KnobValues& knobs) {
  if (!self.is_server()) return train(self);
  PullMonitor(self, knobs.integer("every")).run();
}

const Protocol& netmax_protocol() {
  static const Protocol protocol{
      .name = "netmax",
      .summary = "a worker pulls one neighbour's model an iteration, over fast links more often, as a monitor says",
      .paper =
          "Zhou, Lin, Loghin, Ooi, Wu, Zhang: Communication-efficient Decentralized Machine Learning over "
          "Heterogeneous Networks, ICDE 2021",
      .family = Family::kGossip,
      .knobs = {knob("every", 20, 1, 1'000'000, "iterations of a worker from one policy to the next", "ours")},
      .body = netmax,
      .extra_ranks = always<1>,
      .links = links_with_controller,
      .on_topology = always<true>,
      .refuse = not_symmetric,
      .control = always<Control::kSchedule>,
      .source = Source::kMemory,
      .reading = "netmax/N1-N5",
      .experimental = always<true>};  // how the policy is found is not checked against the paper's text
  return protocol;
}

}  // namespace hopbench::gossip::netmax
