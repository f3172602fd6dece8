// Messages in virtual time, from post to mailbox.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "backends/base/record/event.h"
#include "backends/runtime/message_event.h"
#include "backends/runtime/virtual/simulated_impl.h"

namespace hopbench {
namespace {

std::uint64_t pair_key(int from, int to) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(from)) << 32 | static_cast<std::uint32_t>(to);
}

bool is_departure(Kind kind) { return kind == kBye || kind == kGone; }

}  // namespace

void Simulation::Impl::post(SimRank& from, int to, Message message) {
  HB_ASSERT(to >= 0 && to < options_.ranks);
  if (from.dead_ || stopping_) return;
  if (connected_ && to != from.rank_ && !std::binary_search(from.peers_.begin(), from.peers_.end(), to))
    throw trial_error(
        fmt::format("no message to rank {}: it is not a peer: the protocol's links must name this pair", to));
  message.from = from.rank_;
  if (message.bytes == 0) message.bytes = bytes_with(message.body);
  if (from.observer != nullptr) from.observer->on(message_event(EventKind::kSend, now_, from.rank_, to, message));
  send_off(envelopes_.put({.message = std::move(message), .to = to, .posted = now_}));
}

void Simulation::Impl::say_to_peers(SimRank& rank, Kind kind) {
  if (stopping_) return;
  for (const int peer : rank.peers_) {
    Message message{.from = rank.rank_, .kind = kind, .bytes = kHeaderBytes};
    send_off(envelopes_.put({.message = std::move(message), .to = peer, .posted = now_}));
  }
}

void Simulation::Impl::send_off(std::uint32_t envelope) {
  const Envelope& e = envelopes_[envelope];
  if (e.message.from == e.to) {
    if (options_.shuffle != 0) return arrived_shuffled(envelope);
    return push({.time = now_, .what = SimEventKind::kDeliver, .index = envelope});
  }
  // Two words: small enough for std::function to hold in place.
  network_->transfer({.from = e.message.from, .to = e.to, .bytes = e.message.bytes},
                     [this, envelope] { arrived(envelope); });
}

void Simulation::Impl::arrived(std::uint32_t envelope) {
  if (options_.shuffle != 0) return arrived_shuffled(envelope);
  deliver(envelope);
}

void Simulation::Impl::arrived_shuffled(std::uint32_t envelope) {
  const Envelope& e = envelopes_[envelope];
  const Time when = now_ + scaled(now_ - e.posted, options_.stretch * schedule_.uniform());
  LastOfPair& last = last_of_pair_[pair_key(e.message.from, e.to)];
  if (when > last.time) last = {.time = when};
  // At one time the ties of a pair rise (or are equal, then the sequence number decides): its order stays.
  last.tie += static_cast<std::uint32_t>(
      schedule_.below(std::uint64_t{1} + std::numeric_limits<std::uint32_t>::max() - last.tie));
  push({.time = last.time, .tie = last.tie, .what = SimEventKind::kDeliver, .index = envelope});
}

void Simulation::Impl::deliver(std::uint32_t envelope) {
  Envelope e = envelopes_.take(envelope);
  SimRank& to = *ranks_[static_cast<std::size_t>(e.to)];
  touched_ = true;
  const bool announced = to.observer != nullptr && !is_departure(e.message.kind);
  Event event;
  if (announced) {
    event = message_event(EventKind::kDeliver, now_, e.to, e.message.from, e.message);
    event.since = e.posted;
  }
  if (!is_departure(e.message.kind)) ++messages_delivered_;
  const bool kept = !to.dead_ && to.mailbox.put(std::move(e.message));
  if (announced) {
    if (!kept) event.what = EventKind::kDrop;
    to.observer->on(event);
  }
  if (kept) give_turns(to);
}

}  // namespace hopbench
