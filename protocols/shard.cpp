#include "protocols/shard.h"

#include <algorithm>
#include <limits>

#include "protocols/collectives.h"

namespace hopbench {
namespace {

Slice own_slice(Node& self, std::size_t parameters) {
  return slice_of(parameters, static_cast<std::size_t>(self.rank - self.worker_count()), self.servers().size());
}

}  // namespace

Slice slice_of(std::size_t size, std::size_t i, std::size_t n) {
  return {size * i / n, size * (i + 1) / n - size * i / n};
}

Shard::Shard(Node& self) : Shard(self, self.initial()) {}

Shard::Shard(Node& self, const Vec& all)
    : self_(self),
      slice_(own_slice(self, all.size())),
      w_(Vec::copy_of(all.slice(slice_.offset, slice_.size))),
      optimizer_(self.optimizer(slice_.size, slice_.offset)),
      pushed_(self.workers().size(), 0),
      sent_(pushed_) {
  self.keeps(&w_);
}

void Shard::apply(const Message& push, double scale) {
  optimizer_.step(w_, push.body, push.iter, scale);
  self_.aged(updates_++ - sent_[static_cast<std::size_t>(push.from)]);
  count(push);
}

Vec Shard::apply_mean(Iter k, const std::vector<Message>& pushes, std::span<const float> weights) {
  std::vector<Term> terms = terms_of(pushes);
  for (std::size_t i = 0; i < terms.size(); ++i) {
    terms[i].tag = k;  // whatever its worker's own count is
    if (!weights.empty()) terms[i].weight = weights[i];
  }
  Vec mean = average(self_, k, std::move(terms));
  optimizer_.step(w_, share(mean), k);
  ++updates_;
  for (const Message& push : pushes) count(push);
  return mean;
}

void Shard::answer(int worker, Iter k, Words words) {
  sent_[static_cast<std::size_t>(worker)] = updates_;
  self_.send(worker, kWeights, k, share(w_), words);
}

Iter Shard::least_pushed() const {
  Iter least = std::numeric_limits<Iter>::max();
  for (int worker : self_.workers()) {
    if (self_.present(worker)) least = std::min(least, pushed(worker));
  }
  return least;
}

Iter Shard::most_pushed() const {
  Iter most = 0;
  for (int worker : self_.workers()) {
    if (self_.present(worker)) most = std::max(most, pushed(worker));
  }
  return most;
}

void Shard::count(const Message& push) {
  self_.applied(push.from, push.iter);
  pushed_[static_cast<std::size_t>(push.from)] = push.iter + 1;
}

}  // namespace hopbench
