// AD-PSGD, asynchronous decentralised SGD: a worker averages its model with one random neighbour's, and never waits.
// Lian, Zhang, Zhang, Liu: "Asynchronous Decentralized Parallel Stochastic Gradient Descent", ICML 2018.
//
// Rules enforced here:
//   - a worker computes the gradient at its model as it was read, and applies it to the model as it is by then;
//   - once per iteration, atomically, x_i, x_j <- (x_i + x_j) / 2 with a random neighbour j, which keeps x_i + x_j;
//   - the graph is bipartite: active workers (even ranks) ask; passive ones (odd ranks) answer at any time, even after
//     their own last iteration, and wait for no other worker, so there is no deadlock;
//   - only live neighbours are asked. If j dies, or leaves for a while, before its answer arrives, the exchange is void
//   and i keeps its model.
//
// An exchange is atomic because i sends x_i and does not touch it until the answer arrives. j answers with x_j and
// averages in the same turn, which is the instant of the exchange. i averages the same two vectors, whatever j does to
// its model meanwhile, and gets the same bits. No rank saw x_i in between.
#include <algorithm>
#include <memory>

#include "protocols/node/collectives.h"
#include "protocols/node/node.h"

namespace hopbench::gossip::adpsgd {

bool is_active(int rank) { return rank % 2 == 0; }

/// Returns the neighbours that `rank` is averaged with, which are those of the other kind (active or passive).
std::vector<int> partners_of(const Topology& graph, int rank) {
  std::vector<int> partners = graph.in(rank);
  std::erase_if(partners, [rank](int peer) { return is_active(peer) == is_active(rank); });
  return partners;
}

/// Returns a random one of the partners that are present, or kAnyone if none is.
int one_of(Node& self, std::vector<int> partners, Iter k) {
  std::erase_if(partners, [&](int peer) { return !self.present(peer); });
  return partners.empty() ? kAnyone : partners[self.random(Purpose::kPeer, k).below(partners.size())];
}

Vec averaged(Node& self, const Vec& x, const Message& other) {
  self.contributed();  // the partner averages the same two
  return average(self, self.iteration(),
                 {{.sender = self.rank, .tag = self.iteration(), .value = share(x)},
                  {.sender = other.from, .tag = other.iter, .value = other.body}});
}

void answer_forever(Node& self, Vec& x) {
  for (;;) {
    const Message request = self.recv(is(kRequest), "a request to average");
    if (!self.present(request.from)) continue;  // it died, so no rank would take the other half of the sum
    self.send(request.from, kReply, self.iteration(), share(x));
    x = averaged(self, x, request);
  }
}

void adpsgd(Node& self, const KnobValues& knobs) {
  const bool parallel = knobs.text("form") == "parallel";
  const std::vector<int> partners = partners_of(self.graph(), self.rank);
  const auto model = std::make_shared<Vec>(self.initial());  // shared with the strand, which outlives this body
  Vec& x = *model;
  Optimizer optimizer = self.optimizer(x.size());
  if (!is_active(self.rank)) self.spawn([&self, model] { answer_forever(self, *model); });

  Iter k = 0;
  for (; self.running(k); ++k) {
    if (self.returned()) {
      take_state(self, partners, 0, x);
      optimizer = self.optimizer(x.size());  // its momentum starts again
      self.say_back();  // not earlier: an average with a model that is then overwritten would not keep the sum
    }
    self.enter(k);
    int partner = kAnyone;  // none
    const auto ask = [&] {
      partner = one_of(self, partners, k);
      if (partner != kAnyone) self.send(partner, kRequest, k, share(x));
    };
    if (is_active(self.rank) && parallel) ask();
    const Gradient g = self.gradient(x, k);  // at x as it is now; a passive worker's x changes while it computes
    if (is_active(self.rank) && !parallel) ask();
    if (partner != kAnyone) {
      const auto answer = self.recv_unless_left(is_from(kReply, partner), "the partner's model");
      if (answer) x = averaged(self, x, *answer);
    }
    optimizer.step(x, share(g.values), k);
    self.applied(self.rank, k);
    self.report(k + 1, x);
  }
  if (is_active(self.rank)) return;
  self.retire();
  const auto ended = [&](int peer) { return self.ended(peer); };
  self.until([&] { return std::all_of(partners.begin(), partners.end(), ended); }, "requests of active workers");
  self.report(k, x);
}

/// Returns an edge for each pair that may be averaged.
std::vector<Edge> pairs(const Setting& setting) {
  std::vector<Edge> edges;
  for (int i = 0; i < setting.workers; i += 2) {
    for (int j : partners_of(setting.graph, i)) edges.emplace_back(i, j);
  }
  return edges;
}

std::string refuse(const Setting& setting) {
  const std::string graph = "topology '" + setting.graph.name() + "'";
  if (!setting.graph.undirected()) return graph + " has edges of one direction: two workers' average goes both ways";
  std::vector<Edge> both = pairs(setting);
  for (const auto& [i, j] : pairs(setting)) both.emplace_back(j, i);
  if (Topology("pairs", setting.workers, both).strongly_connected()) return "";
  return graph + " falls apart without its edges between two even or two odd ranks, which are never averaged";
}

std::string note(const Setting& setting) {
  constexpr int kNamed = 8;
  std::string named;
  int unused = 0;
  for (int i = 0; i < setting.workers; ++i) {
    for (int j : setting.graph.out(i)) {
      if (j < i || is_active(i) != is_active(j)) continue;
      if (++unused <= kNamed) named += (unused > 1 ? ", " : "") + std::to_string(i) + "-" + std::to_string(j);
    }
  }
  if (unused == 0) return "";
  if (unused > kNamed) named += " and " + std::to_string(unused - kNamed) + " more";
  return "uses no edges between two even or two odd ranks: " + named + " of topology '" + setting.graph.name() + "'";
}

const Protocol& adpsgd_protocol() {
  static const Protocol protocol{
      .name = "adpsgd",
      .summary = "asynchronous decentralised SGD: averages with one random neighbour at a time, nobody waits",
      .paper = "Lian, Zhang, Zhang, Liu: Asynchronous Decentralized Parallel Stochastic Gradient Descent, ICML 2018",
      .family = Family::kGossip,
      .knobs = {choice("form", {"parallel", "serial"},
                       "of an active worker: the gradient overlaps the exchange, or comes before it", "ours")},
      .body = adpsgd,
      .links = pairs,
      .on_topology = always<true>,
      .refuse = refuse,
      .note = note,
      .control = always<Control::kSchedule>,
      .on_loss = always<OnLoss::kContinues>,
      .rejoins = always<true>,
      .source = Source::kAbstractAndCode,
      .reading = "adpsgd/even-active"};
  return protocol;
}

}  // namespace hopbench::gossip::adpsgd
