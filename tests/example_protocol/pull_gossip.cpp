// pull_gossip: every worker trains alone and, every few iterations, asks one random neighbour for its model and takes
// the average. Nobody waits for a slow worker, except one that asks it. An example to start from: replace this by your
// paper, and say which rule your protocol enforces.
//
// One rule is enforced here: a worker answers every request at once, whatever it is doing, until no neighbour can ask
// it any more.
#include <memory>

#include "protocols/collectives.h"
#include "protocols/node.h"

namespace hopbench {
namespace {

constexpr Kind kDone{kFirstOwnKind};  // "I ask no more"

// A strand of its own: it runs whenever the body waits or computes. The body's end ends it.
void answer_requests(Node& self, const Vec& x) {
  for (;;) {
    const Message request = self.recv(is(kRequest), "a request for the model");
    if (self.present(request.from)) self.send(request.from, kReply, self.iteration(), share(x));
  }
}

// A neighbour that is still there, drawn; kAnyone if there is none.
int one_of(Node& self, std::vector<int> neighbours, Iter k) {
  std::erase_if(neighbours, [&](int peer) { return !self.present(peer); });
  return neighbours.empty() ? kAnyone : neighbours[self.random(Purpose::kPeer, k).below(neighbours.size())];
}

// The whole protocol: what every worker does. It runs unchanged with real processes and in virtual time.
void pull_gossip(Node& self, const KnobValues& knobs) {
  const int period = knobs.integer("period");
  const std::vector<int>& neighbours = self.neighbours();
  const auto model = std::make_shared<Vec>(self.initial());  // shared with the strand, which outlives this function
  Vec& x = *model;
  Optimizer optimizer = self.optimizer(x.size());
  self.spawn([&self, model] { answer_requests(self, *model); });

  Iter k = 0;
  for (; self.running(k); ++k) {
    self.enter(k);  // checkers, rates and traces go by this
    const Gradient g = self.gradient(x, k);
    optimizer.step(x, share(g.values), k);

    const int peer = (k + 1) % period == 0 ? one_of(self, neighbours, k) : kAnyone;
    if (peer != kAnyone) {
      self.send(peer, kRequest, k);
      // Nothing if it dies first. The reason becomes the "time waiting, by reason" column and the deadlock report.
      const auto reply = self.recv_unless_left(is_from(kReply, peer), "a neighbour's model");
      if (reply) {
        x = average(self, k,
                    {{.sender = self.rank, .tag = k, .value = share(x)},
                     {.sender = reply->from, .tag = reply->iter, .value = reply->body}});
      }
    }
    self.report(k + 1, x);  // a reference, not a copy; evaluated later, off the clock
  }

  // The end: this worker asks no more, but others may still ask it. It stays until all neighbours have said the same.
  for (const int peer : neighbours) self.send(peer, kDone, k);
  self.retire();
  self.gather(neighbours, int(neighbours.size()), is(kDone), "neighbours that may still ask");
}

}  // namespace

const Protocol& pull_gossip_protocol() {
  static const Protocol protocol{.name = "pull_gossip",
                                 .summary = "local steps, and the average with one random neighbour's model",
                                 .paper = "none: an example",
                                 .knobs = {{.name = "period",
                                            .fallback = std::int64_t{1},
                                            .low = 1,
                                            .high = 1000,
                                            .meaning = "iterations from one request to the next",
                                            .source = "ours"}},
                                 .body = pull_gossip,
                                 .control = always<Control::kSchedule>,
                                 .on_loss = always<OnLoss::kContinues>,
                                 .source = Source::kOwn,
                                 .reading = "pull_gossip"};
  return protocol;
}

}  // namespace hopbench
