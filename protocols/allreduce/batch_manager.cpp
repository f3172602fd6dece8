#include "protocols/allreduce/batch_manager.h"

#include <algorithm>
#include <cmath>

namespace hopbench::allreduce {
namespace batch_manager {

/// Returns the words of a kRequest of iteration k, which reports how it went. kReply of k + 1 says what to do next.
Words words_of(const Gradient& g, const Load& load) {
  return {g.samples, g.took.count(), std::llround(load.cpu * 1e6), std::llround(load.memory * 1e6)};
}

std::vector<Timing> timings_of(const std::vector<Message>& reports) {
  std::vector<Timing> timings;
  for (const Message& m : reports) {
    const double seconds = to_seconds(Duration(std::max<std::int64_t>(1, m.words[1])));
    timings.push_back({.batch = int(m.words[0]),
                       .seconds = seconds,
                       .load = {.cpu = double(m.words[2]) / 1e6, .memory = double(m.words[3]) / 1e6}});
  }
  return timings;
}

}  // namespace batch_manager

void manage_batches(Node& self, BatchRule& rule, Iter warmup) {
  std::vector<int> batches(self.workers().size(), self.batch());
  std::int64_t first = std::int64_t{self.batch()} * self.worker_count();
  for (Iter k = 0; k + 1 < self.end(); ++k) {
    const auto reports = self.gather(self.workers(), self.worker_count(), is(kRequest, k), "timings of all workers");
    self.operate_beside(rule.bytes(), [&] {
      rule.observe(batch_manager::timings_of(reports));
      if (k + 1 >= warmup) batches = rule.batches();
    });
    for (const int worker : self.workers()) {
      const int batch = batches[static_cast<std::size_t>(worker)];
      const Duration expected = seconds_to_duration(k + 1 >= warmup ? rule.expected_seconds(worker) : 0);
      self.send(worker, kReply, k + 1, {}, {batch, first, expected.count()});
      first += batch;
    }
  }
}

Batches::Batches(Node& self, int manager) : self_(self), manager_(manager), batch_(self.batch()) {
  self_.figure("batch changes");
}

Samples Batches::next(Iter k) {
  Samples mine{.first = std::int64_t{self_.rank} * batch_, .count = batch_, .shared = true};
  if (k > 0) {
    const Message reply = self_.recv(is_from(kReply, manager_, k), "its next batch size");
    mine.count = int(reply.words[0]);
    mine.first = reply.words[1];
    expected_ = to_seconds(Duration(reply.words[2]));
  }
  if (mine.count != batch_) self_.figure("batch changes") += 1;
  batch_ = mine.count;
  return mine;
}

void Batches::report(Iter k, const Gradient& g) {
  if (expected_ > 0) note_error(to_seconds(g.took));
  if (k + 1 < self_.end()) self_.send(manager_, kRequest, k, {}, batch_manager::words_of(g, self_.load()));
}

void Batches::note_error(double took) {
  double& mean = self_.figure("prediction error");
  mean += (std::abs(expected_ - took) / took - mean) / double(++foreseen_);
}

}  // namespace hopbench::allreduce
