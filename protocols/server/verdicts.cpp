#include "protocols/server/verdicts.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "protocols/server/server.h"
#include "protocols/server/shard.h"

namespace hopbench::server {
namespace verdicts {

// Decisions that are about no single gradient, instead of a worker: the update is made; waiting workers are answered.
constexpr std::int64_t kClose = -1, kAnswer = -2;

Words words_of(int from, const GradientVerdict& verdict) {
  return {from, verdict.used, verdict.closes, verdict.held, std::bit_cast<std::int64_t>(verdict.scale)};
}

GradientVerdict verdict_in(const Words& words) {
  return {words[1] != 0, words[2] != 0, words[3] != 0, std::bit_cast<double>(words[4])};
}

class Server {
 public:
  Server(Node& self, const Deciding& deciding) : self_(self), deciding_(deciding), shard_(self) {}

  void lead() {
    for (;;) {
      self_.until([&] { return self_.has(is(kPush)) || all_held(); }, "gradients");
      auto push = self_.take(is(kPush));
      if (!push) tell_servers(self_, 0, {kClose});
      push ? decide(std::move(*push)) : close();
      if (!waiting_.empty()) self_.sleep(Duration{}, "gradients");  // others of the same instant
      if (waiting_.empty() || self_.has(is(kPush))) continue;
      tell_servers(self_, 0, {kAnswer});
      answer(waiting_);
    }
  }

  void follow() {
    for (;;) {
      const Message decision = self_.recv(is(kClock), "the first server's decision");
      const std::int64_t about = decision.words[0];
      if (about == kClose) close();
      if (about == kAnswer) answer(waiting_);
      if (about >= 0) obey(static_cast<int>(about), decision.iter, verdict_in(decision.words));
    }
  }

 private:
  void decide(Message push) {
    const auto [from, k] = std::pair(push.from, push.iter);
    const GradientVerdict verdict = deciding_.rule({push.words[0], shard_.updates(), static_cast<int>(used_.size())});
    tell_servers(self_, k, words_of(from, verdict));
    if (!verdict.used) shard_.drop(push);
    if (verdict.used) collect(std::move(push), verdict);
    settle(from, k, verdict);
  }

  void obey(int from, Iter k, const GradientVerdict& verdict) {
    for (const Kind kind : {kPush, kPart}) {  // a gradient that is not used may still be on its way
      if (!verdict.used) self_.ignore({.kind = kind, .last = k, .from = from});
    }
    if (verdict.used) {  // it never comes if its worker died between its pushes to two servers
      auto push = self_.recv_unless_left(is_from(kPush, from, k), "a gradient of this update");
      if (push) collect(std::move(*push), verdict);
    }
    settle(from, k, verdict);
  }

  void collect(Message push, const GradientVerdict& verdict) {
    shard_.join(push);
    const Iter age = shard_.age(push.from);
    used_.push_back({.push = std::move(push), .scale = verdict.scale, .age = age});
  }

  void settle(int from, Iter k, const GradientVerdict& verdict) {
    ++come_;
    (verdict.held ? held_ : waiting_).push_back({from, k, verdict.used});
    if (verdict.closes) close();
    if (!deciding_.takes_all_first) answer(waiting_);
  }

  /// Makes the update. Its place in the schedule of the learning rate is that of the gradients that have come so far.
  void close() {
    if (used_.empty() && deciding_.divisor == 0) {
      shard_.pass();
    } else if (used_.size() == 1 && deciding_.divisor == 0) {
      shard_.apply(used_.front().push, used_.front().scale);
    } else {
      const double divisor = deciding_.divisor > 0 ? deciding_.divisor : static_cast<double>(used_.size());
      for (Shard::Part& part : used_) part.scale /= divisor;
      shard_.apply_sum((come_ - 1) / self_.worker_count(), used_);
    }
    used_.clear();
    answer(held_);
  }

  struct Pushed {
    int worker;
    Iter k;
    bool used;
  };

  /// Answers those of these pushes whose workers are still there.
  void answer(std::vector<Pushed>& pushes) {
    const bool marks = self_.rank == self_.servers().front() && deciding_.mark;
    for (const Pushed& push : pushes) {
      if (!self_.present(push.worker)) continue;
      shard_.answer(push.worker, push.k, {marks ? deciding_.mark(shard_.updates()) : shard_.updates(), push.used});
    }
    pushes.clear();
  }

  bool all_held() const {
    const auto to_come = [&](int worker) {
      return self_.present(worker) && std::ranges::find(held_, worker, &Pushed::worker) == held_.end();
    };
    return !held_.empty() && std::none_of(self_.workers().begin(), self_.workers().end(), to_come);
  }

  Node& self_;
  const Deciding& deciding_;
  Shard shard_;
  std::vector<Shard::Part> used_;  // since the last update
  std::vector<Pushed> held_;       // answered once the next update is made
  std::vector<Pushed> waiting_;    // answered when nothing more has come
  std::int64_t come_ = 0;          // gradients, used or not
};

}  // namespace verdicts

void serve_deciding(Node& self, const Deciding& deciding) {
  verdicts::Server server(self, deciding);
  self.rank == self.servers().front() ? server.lead() : server.follow();
}

void work_marked(Node& self, const KnobValues& knobs, Iter mark) {
  const auto hear = [&](Iter k, const Words& words) {
    mark = words[0];
    if (words[1] == 0) self.lost(k, "came too late");
  };
  work(self, knobs,
       {.say = [&](Iter) { return Words{mark}; }, .hear = hear, .back = [&](const Words& words) { mark = words[0]; }});
}

}  // namespace hopbench::server
