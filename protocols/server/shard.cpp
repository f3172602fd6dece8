#include "protocols/server/shard.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "protocols/node/collectives.h"
#include "protocols/server/pushes.h"
#include "protocols/server/server.h"

namespace hopbench::server {

Shard::Shard(Node& self) : Shard(self, self.initial()) {}

Shard::Shard(Node& self, const Vec& all)
    : self_(self),
      stripes_(stripes_at(self, self.rank)),
      w_(Vec::copy_of(stripes_.taken(all.share()))),
      optimizer_(own_optimizer()),
      pushed_(self.workers().size(), 0),
      sent_(pushed_) {
  self.keeps(&w_);
  self.welcome([this](int worker, Iter k) { return welcome(worker, k); });
}

Optimizer Shard::own_optimizer() {
  return self_.optimizer(trained(), stripes_.within(decayed_slices(self_.tensors())));
}

Payload Shard::whole(const Message& push) { return joined(self_, stripes_, push, w_.space()); }

void Shard::join(Message& push) { push.body = whole(push); }

void Shard::drop(const Message& push) { drop_parts(self_, stripes_, push); }

void Shard::apply(Message push, double scale) {
  join(push);
  optimizer_.step(w_, push.body, push.iter, scale);
  self_.aged(age(push.from));
  ++updates_;
  count(push.from, push.iter, scale);
}

void Shard::change(Message push, double bytes, const Rule& rule) {
  join(push);
  self_.operate(bytes, [] {});  // an observer of the weights sees the change only once it is over
  rule(w_, push.body);
  self_.aged(age(push.from));
  ++updates_;
  count(push.from, push.iter);
}

Vec Shard::apply_mean(Iter k, std::vector<Message> pushes) {
  std::vector<Part> parts;
  for (Message& push : pushes) parts.push_back({.push = std::move(push), .scale = 1.0 / double(pushes.size())});
  return apply_sum(k, std::move(parts));
}

Vec Shard::apply_sum(Iter k, std::vector<Part> parts) {
  std::vector<Term> terms;
  for (Part& part : parts) {
    join(part.push);
    const auto weight = static_cast<float>(part.scale);
    terms.push_back({.sender = part.push.from, .tag = k - part.age, .value = part.push.body, .weight = weight});
  }
  Vec total = terms.empty() ? nothing() : sum(self_, k, std::move(terms));
  optimizer_.step(w_, share(total), k);
  ++updates_;
  for (const Part& part : parts) count(part.push.from, part.push.iter);
  return total;
}

/// Returns a gradient of 0, which leaves running statistics as they are.
Vec Shard::nothing() const {
  Vec g = Vec::copy_of(share(w_));
  g.assign(0, share(Vec(trained(), g.space())));
  return g;
}

void Shard::add(std::vector<Term> terms) {
  if (terms.empty()) return;
  std::vector<Payload> values;
  std::vector<float> weights;
  if (!added_.empty()) values.push_back(share(sum_)), weights.push_back(1);
  for (Term& term : terms) {
    values.push_back(std::exchange(term.value, Payload()));
    weights.push_back(term.weight);
  }
  double bytes = bytes_of(values.front());  // the sum, which is as long as its first term
  for (const Payload& value : values) bytes += bytes_of(value);
  self_.operate(bytes, [&] { sum_ = weighted_sum(values, weights); });
  added_.insert(added_.end(), terms.begin(), terms.end());
}

void Shard::step(Iter k) {
  double all = 0;
  for (const Term& term : added_) all += term.weight;
  constexpr double kRounding = 1e-5;
  if (std::abs(all - 1) > kRounding) {
    const auto scale = static_cast<float>(1 / all);
    sum_ = combined(self_, {{scale, share(sum_)}});
    for (Term& term : added_) term.weight *= scale;
  }
  self_.summed(k, added_);
  optimizer_.step(w_, share(sum_), k);
  ++updates_;
  for (const Term& term : added_) count(term.sender, term.tag);
  added_.clear();
}

void Shard::answer(int worker, Iter k, Words words) {
  sent_[static_cast<std::size_t>(worker)] = updates_;
  self_.send(worker, kWeights, k, share(w_), words);
}

/// Gives a worker that was away the weights, and with them the number of updates in them.
std::optional<Node::Welcomed> Shard::welcome(int worker, Iter k) {
  const Iter others = least_pushed(worker);
  const bool decides = most_ahead_ && self_.rank == self_.servers().front() && others != kNobody;
  if (decides && k - others > *most_ahead_) return std::nullopt;
  if (decides) k = std::max(k, others);
  if (most_ahead_) pushed_[static_cast<std::size_t>(worker)] = k;
  sent_[static_cast<std::size_t>(worker)] = updates_;
  if (at_welcome_) at_welcome_(worker);
  return Node::Welcomed{k, {updates_}};
}

Iter Shard::least_pushed(int worker) const {
  Iter least = kNobody;
  for (int other : self_.workers()) {
    if (other != worker && self_.present(other)) least = std::min(least, pushed(other));
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

void Shard::count(int worker, Iter k, double scale) {
  self_.applied(worker, k, scale);
  pushed_[static_cast<std::size_t>(worker)] = k + 1;
}

}  // namespace hopbench::server
