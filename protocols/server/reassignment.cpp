#include "protocols/server/reassignment.h"

#include <algorithm>
#include <cmath>

#include "protocols/node/collectives.h"

namespace hopbench::server {
namespace reassignment {

constexpr Kind kProgress = kClock, kOffer = kRequest, kGiven = kReply, kConfirm = kAck;

int samples_of(double share, int batch) { return std::max(1, int(std::ceil(share * batch))); }

}  // namespace reassignment

std::vector<int> helpers_of(int worker, int workers, int helpers) {
  std::vector<int> ranks;
  for (int i = 1; i <= std::min(helpers, workers - 1); ++i) ranks.push_back((worker + i) % workers);
  return ranks;
}

Reassignment::Reassignment(Node& self, const KnobValues& knobs)
    : self_(self),
      batch_(self.batch()),
      part_((batch_ + knobs.integer("parts") - 1) / knobs.integer("parts")),
      first_slice_(reassignment::samples_of(knobs.real("first_slice"), batch_)),
      trigger_(reassignment::samples_of(knobs.real("trigger"), batch_)),
      helpers_(helpers_of(self.rank, self.worker_count(), knobs.integer("helpers"))),
      peers_(self.workers().size()),
      helps_(peers_.size(), 0),
      next_slice_(peers_.size(), first_slice_) {
  self_.figure("samples for others");
  for (const int worker : self.workers()) {
    const std::vector<int> theirs = helpers_of(worker, self.worker_count(), knobs.integer("helpers"));
    if (std::count(theirs.begin(), theirs.end(), self.rank) > 0) helps_[std::size_t(worker)] = 1;
  }
}

void Reassignment::listen() {
  using namespace reassignment;
  for (;;) {
    self_.until([&] { return self_.has(is(kProgress)) || self_.has(is(kOffer)) || self_.has(is(kConfirm)); },
                "reports and offers");
    while (const auto said = self_.take(is(kProgress))) peers_[std::size_t(said->from)] = {said->words[0], false};
    while (const auto slice = self_.take(is(kConfirm))) {
      add(slice->from, slice->body, slice->words[0]);
      --out_;
    }
    while (const auto offer = self_.take(is(kOffer))) answer(*offer);
    offer();
  }
}

// --- The own iteration

void Reassignment::begin(Iter k) {
  k_ = k;
  done_ = begun_ = 0;
  end_ = batch_;
  next_slice_.assign(peers_.size(), first_slice_);
  terms_.clear();
  report();
}

std::optional<Samples> Reassignment::next() {
  done_ = begun_;
  if (done_ > 0) report();
  if (left() == 0) return std::nullopt;
  begun_ += std::min(part_, left());
  const std::int64_t mine = (k_ * self_.worker_count() + self_.rank) * batch_;
  return Samples{.first = mine + done_, .count = begun_ - done_, .shared = true};
}

void Reassignment::report() {
  for (const int helper : helpers_) self_.send(helper, reassignment::kProgress, k_, {}, {progress()});
  offer();
}

void Reassignment::answer(const Message& offer) {
  const bool behind = offer.words[0] - progress() >= trigger_;
  int& size = next_slice_[std::size_t(offer.from)];
  const int given = behind ? std::min(size, (left() + 1) / 2) : 0;
  if (given > 0) {
    end_ -= given;
    ++out_;
    size = std::min(2 * size, batch_);
  }
  self_.send(offer.from, reassignment::kGiven, k_, {}, {given, end_, progress()});
}

void Reassignment::add(int by, const Payload& gradient, std::int64_t samples) {
  terms_.push_back({.sender = by, .tag = k_, .value = gradient, .weight = float(samples)});
}

Vec Reassignment::whole(const Vec& x) {
  help_until(
      x, [&] { return out_ == 0; }, "slices that helpers have");
  return average(self_, k_, std::move(terms_));
}

// --- Others' iterations

void Reassignment::offer() {
  if (asked_ >= 0 && (self_.present(asked_) || self_.has(is_from(reassignment::kGiven, asked_)))) return;
  asked_ = -1;
  std::int64_t least = progress() - trigger_;
  for (const int worker : self_.workers()) {
    const Peer& peer = peers_[std::size_t(worker)];
    if (!helps_[std::size_t(worker)] || peer.refused || !self_.present(worker) || peer.progress > least) continue;
    least = peer.progress - 1;  // the first of several equal ones
    asked_ = worker;
  }
  if (asked_ >= 0) self_.send(asked_, reassignment::kOffer, k_, {}, {progress()});
}

void Reassignment::help(const Vec& x) {
  const auto slice = self_.take(is(reassignment::kGiven));
  if (!slice) return;
  const std::int64_t count = slice->words[0], owner = slice->from;
  peers_[std::size_t(owner)] = {slice->words[2], count == 0};
  if (count > 0) {
    const std::int64_t first = (slice->iter * self_.worker_count() + owner) * batch_ + slice->words[1];
    const Gradient g = self_.gradient(x, self_.iteration(), {.first = first, .count = int(count), .shared = true});
    self_.send(slice->from, reassignment::kConfirm, slice->iter, share(g.values), {count});
    self_.continued();  // a gradient is a whole batch, whoever computes the parts
    self_.figure("samples for others") += double(count);
  }
  if (owner == asked_) asked_ = -1;  // false if that rank has left and its refusal comes late
  offer();
}

void Reassignment::help_until(const Vec& x, const Ready& ready, const char* why) {
  for (help(x); !ready(); help(x)) self_.until([&] { return ready() || self_.has(is(reassignment::kGiven)); }, why);
}

void Reassignment::settle(const Vec& x) {
  helps_.assign(helps_.size(), 0);
  help_until(
      x, [&] { return asked_ < 0 || !self_.present(asked_); }, "the answer to its last offer");
}

}  // namespace hopbench::server
