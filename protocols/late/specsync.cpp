// SpecSync: a worker whose weights have become stale drops the gradient that it is computing and begins again with
// fresh ones. Zhang, Tian, Wang, Yan: "Stay Fresh: Speculative Synchronization for Fast Distributed Machine Learning",
// ICDCS 2018.
//
// Rules enforced here:
//   - each gradient is applied on arrival and answered at once;
//   - if at least `rate` * n gradients of other workers come to the first server within a window after it has answered
//     a worker, it tells that worker when the window ends;
//   - that worker drops what it has computed of its gradient, pulls the weights, and begins the iteration again. It
//     does so at most once in an iteration, and not once the gradient is complete.
// A gradient is computed in micro-batches, and can be dropped between two of them.
#include <algorithm>

#include "protocols/node/micro_batches.h"
#include "protocols/node/node.h"
#include "protocols/server/server.h"
#include "protocols/server/shard.h"

namespace hopbench::late::specsync {

Vec pull_again(Node& self, Iter k, const Vec& like) {
  for (const int server : self.servers()) self.send(server, kPull, k);
  return server::pull_weights(self, k, like);
}

void compute(Node& self, const KnobValues& knobs) {
  const int parts = knobs.integer("parts");
  Vec x = self.initial();
  may_abandon(self);
  for (Iter k = 0; self.running(k); ++k) {
    if (self.returned()) k = server::rejoin(self, k, x);
    self.enter(k);
    CutGradient g = gradient_in_parts(self, x, k, parts, [&] {
      self.poll();
      return !self.take(is(kSkip, k));
    });
    if (!g.whole) {
      self.abandoned();
      x = pull_again(self, k, x);
      g = gradient_in_parts(self, x, k, parts, [] { return true; });
    }
    self.ignore({.kind = kSkip, .last = k});
    server::push_gradient(self, k, g.values);
    x = server::pull_weights(self, k, x);
    self.report(k + 1, x);
  }
  self.ignore(is(kSkip));
}

/// A window after an answer to a worker, in which pushes of others are counted.
struct Window {
  Iter next = 0;  // the iteration that the worker is in
  Time answered{}, ends = kNever;
  int pushes = 0;
};

class Server {
 public:
  Server(Node& self, const KnobValues& knobs)
      : self_(self),
        shard_(self),
        share_(knobs.real("window")),
        enough_(knobs.real("rate") * self.worker_count()),
        windows_(self.workers().size()) {}

  void run() {
    for (;;) {
      const auto asked = [&] { return self_.has(is(kPush)) || self_.has(is(kPull)); };
      self_.until(asked, next_end(), "gradients");
      close_windows();
      if (const auto pull = self_.take(is(kPull))) shard_.answer(pull->from, pull->iter);
      if (const auto push = self_.take(is(kPush))) apply(*push);
    }
  }

 private:
  void apply(const Message& push) {
    for (Window& window : windows_) ++window.pushes;
    shard_.apply(push);
    shard_.answer(push.from, push.iter);
    if (self_.rank != self_.servers().front()) return;
    Window& own = windows_[static_cast<std::size_t>(push.from)];
    const Duration length = scaled(self_.now() - own.answered, share_);
    own = {.next = push.iter + 1, .answered = self_.now(), .ends = self_.now() + length};
  }

  Time next_end() const { return std::ranges::min_element(windows_, {}, &Window::ends)->ends; }

  void close_windows() {
    for (std::size_t worker = 0; worker < windows_.size(); ++worker) {
      Window& window = windows_[worker];
      if (window.ends > self_.now()) continue;
      if (window.pushes >= enough_) self_.send(static_cast<int>(worker), kSkip, window.next);
      window.ends = kNever;
    }
  }

  Node& self_;
  server::Shard shard_;
  const double share_, enough_;
  std::vector<Window> windows_;  // by worker
};

void specsync(Node& self, const KnobValues& knobs) {
  return self.is_server() ? Server(self, knobs).run() : compute(self, knobs);
}

const Protocol& specsync_protocol() {
  static const Protocol protocol = server::asynchronous(
      {.name = "specsync",
       .summary = "parameter server, asynchronous: a worker with stale weights begins its gradient again",
       .paper =
           "Zhang, Tian, Wang, Yan: Stay Fresh: Speculative Synchronization for Fast Distributed Machine Learning, "
           "ICDCS 2018",
       .family = Family::kLate,
       .knobs = {knob("window", 0.25, 0.001, 10, "length of the window, as a share of the worker's last iteration",
                      "ours"),
                 knob("rate", 0.5, 0.001, 1000,
                      "ABORT_RATE: gradients of others in the window, per worker, that are enough",
                      "memory H; the default: ours"),
                 parts_knob(8), server::servers_knob()},
       .body = specsync,
       .changes = always<Changes::kWork>,
       .gradients_per_update = always<1>,
       .source = Source::kMemory,
       .reading = "late/S1-S4",
       .experimental = always<true>});  // how a worker begins again is not checked against the paper's text
  return protocol;
}

}  // namespace hopbench::late::specsync
