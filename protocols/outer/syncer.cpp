#include "protocols/outer/syncer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "protocols/node/collectives.h"
#include "protocols/server/stripes.h"

namespace hopbench::outer {
namespace syncer {

constexpr double kKept = 0.8;  // share of the moving average that an arrival of a quorum keeps

/// Returns x0 - (mean length) x (mean direction) of the x0 - model. What follows the first `trained` numbers becomes
/// the plain mean.
Vec directed_mean(const Payload& x0, const std::vector<Payload>& models, const std::vector<double>& weights,
                  std::size_t trained) {
  std::vector<Payload> terms = {x0};
  std::vector<float> plain = {0}, directed = {0};
  double length = 0, own = 0;
  for (std::size_t i = 0; i < models.size(); ++i) {
    const double apart =
        std::sqrt(squared_norm(share(combined({{1, x0.slice(0, trained)}, {-1, models[i].slice(0, trained)}}))));
    const double by_length = apart > 0 ? weights[i] / apart : 0;
    length += weights[i] * apart;
    own += by_length;
    terms.push_back(models[i]);
    plain.push_back(static_cast<float>(weights[i]));
    directed.push_back(static_cast<float>(-by_length));
  }
  Vec mean = weighted_sum(terms, plain);
  directed[0] = static_cast<float>(own);
  for (Payload& term : terms) term = term.slice(0, trained);
  const Vec direction = weighted_sum(terms, directed);
  const double norm = direction.norm();
  if (!(norm > 0)) return mean;
  mean.assign(0, share(combined({{1, x0.slice(0, trained)}, {-length / norm, share(direction)}})));
  return mean;
}

}  // namespace syncer

Syncer::Syncer(Node& self, const KnobValues& knobs)
    : self_(self),
      step_(outer_step(knobs)),
      grace_(knobs.real("grace")),
      fragments_(static_cast<std::size_t>(knobs.integer("fragments"))),
      quorum_(static_cast<std::size_t>(knobs.integer("quorum", (self.worker_count() + 1) / 2))),
      x0_(self.initial()),
      outer_(self),
      gathering_(fragments_) {
  self_.keeps(&x0_);
}

void Syncer::run() {
  for (;;) {
    self_.until([&] { return self_.has(is(kPush)); }, next_due(), "a fragment");
    while (auto push = self_.take(is(kPush))) arrived(std::move(*push));
    for (std::size_t p = 0; p < fragments_; ++p) {
      if (gathering_[p].due <= self_.now()) merge(p);
    }
  }
}

Time Syncer::next_due() const {
  Time soonest = kNever;
  for (const PendingFragment& each : gathering_) soonest = std::min(soonest, each.due);
  return soonest;
}

void Syncer::arrived(Message push) {
  PendingFragment& some = gathering_[static_cast<std::size_t>(push.words[0])];
  if (some.from.empty()) some.first = self_.now();
  if (const auto before = some.from.find(push.from); before != some.from.end()) {
    const Words& old = before->second.words;
    push.words = {push.words[0], push.words[1] + old[1], push.words[2] + old[2]};
  }
  some.from.insert_or_assign(push.from, std::move(push));
  const auto present = static_cast<std::size_t>(present_workers(self_));
  if (present == 0) return;  // nobody is left to go on from a merge
  if (some.from.size() >= std::min(quorum_, present) && some.due == kNever) {
    spread_ = syncer::kKept * spread_ + (1 - syncer::kKept) * to_seconds(self_.now() - some.first);
    some.due = self_.now() + seconds_to_duration(grace_ * spread_);
  }
  if (some.from.size() >= present) some.due = self_.now();
}

void Syncer::merge(std::size_t p) {
  PendingFragment some = std::exchange(gathering_[p], {});
  const Slice part = server::slice_of(x0_.size(), p, fragments_);
  const Vec merged = merged_model(some, part);
  outer_.step(x0_, share(merged), step_, part.offset);
  for (const auto& [learner, push] : some.from) self_.applied(learner, push.iter);
  for (const int learner : self_.workers())
    self_.send(learner, kWeights, merges_, x0_.slice(part.offset, part.size), {static_cast<std::int64_t>(p)});
  ++merges_;
}

Vec Syncer::merged_model(const PendingFragment& some, const Slice& part) {
  std::vector<double> weights;
  double sum = 0;
  for (const auto& [learner, push] : some.from) {
    const auto samples = static_cast<double>(push.words[1]);
    weights.push_back(samples * samples / static_cast<double>(push.words[2]));
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return self_.computed(bytes_of((3 * some.from.size() + 4) * part.size), [&] {
    std::vector<Payload> models;
    for (const auto& [learner, push] : some.from) models.push_back(push.body);
    return syncer::directed_mean(x0_.slice(part.offset, part.size), models, weights, trained_in(part));
  });
}

std::size_t Syncer::trained_in(const Slice& part) const {
  const std::size_t all = self_.trainable();
  return part.offset >= all ? 0 : std::min(part.size, all - part.offset);
}

}  // namespace hopbench::outer
