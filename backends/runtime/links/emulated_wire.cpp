#include "backends/runtime/links/emulated_wire.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <string>
#include <utility>

#include "backends/base/error.h"
#include "backends/runtime/links/link_emulator.h"

namespace hopbench {
namespace {

// A wire has room for this number of messages that are not taken. A rank that waits for the emulator takes them before
// the wire is full. Otherwise their senders could not send, and so not offer, the messages that follow.
constexpr int kTakeAfter = 32;
constexpr std::int64_t kNobodyWaited = std::numeric_limits<std::int64_t>::max();

}  // namespace

EmulatedWire::EmulatedWire(std::unique_ptr<Wire> inner, const std::vector<int>& peers, int end)
    : inner_(std::move(inner)), end_(end), waited_since_(kNobodyWaited) {
  for (const int rank : peers) peers_[rank];
  listener_ = std::thread([this] { listen(); });
}

EmulatedWire::~EmulatedWire() {
  shutdown(end_, SHUT_RD);  // wakes the listener
  listener_.join();
  ::close(end_);
}

EmulatedWire::Peer& EmulatedWire::peer(int rank) {
  const auto found = peers_.find(rank);
  HB_ASSERT_MSG(found != peers_.end(), "not connected to rank " + std::to_string(rank));
  return found->second;
}

void EmulatedWire::offer(int to, std::int64_t bytes) const {
  const LinkOffer offer{to, bytes, link_clock_ns()};
  while (send(end_, &offer, sizeof offer, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

bool EmulatedWire::try_send(int to, const Message& message) {
  Peer& theirs = peer(to);
  if (!std::exchange(theirs.offered, true)) {
    const std::int64_t charged = message.bytes > 0 ? message.bytes : bytes_with(message.body);
    offer(to, message.kind == kServing ? -1 : charged);  // virtual time has no kServing
  }
  if (!inner_->try_send(to, message)) return false;
  theirs.offered = false;
  theirs.said_bye = theirs.said_bye || message.kind == kBye;
  return true;
}

// --- Holding

void EmulatedWire::listen() {
  LinkRelease release;
  while (true) {
    const ssize_t n = recv(end_, &release, sizeof release, 0);
    if (n < 0 && (errno == EINTR || errno == ECONNRESET)) continue;
    bool wake = false;
    {
      const std::lock_guard lock(mutex_);
      alone_ = n != static_cast<ssize_t>(sizeof release);
      if (const auto from = peers_.find(release.from); !alone_ && from != peers_.end() && !from->second.gone)
        from->second.due.push_back(release.due_ns);
      const Ready now = ready();
      wake = alone_ || (waiting_ && now.messages + now.coming >= wanted_);
      if (wake) waiting_ = false;
    }
    told_.notify_all();
    if (wake) inner_->wake();
    if (alone_) return;
  }
}

/// Returns true if the first of a peer's held messages has arrived. A kGone is never offered.
bool EmulatedWire::may_go(const Peer& peer) const {
  return !peer.held.empty() && (alone_ || !peer.due.empty() || peer.held.front().kind == kGone);
}

EmulatedWire::Ready EmulatedWire::ready() const {
  Ready all;
  for (const auto& [rank, peer] : peers_) {
    const std::size_t gone = !peer.held.empty() && peer.held.back().kind == kGone ? 1 : 0;
    const std::size_t offered = peer.held.size() - gone;
    const std::size_t free = alone_ ? offered : std::min(offered, peer.due.size());
    all.messages += static_cast<int>(free);
    all.coming += static_cast<int>(alone_ ? 0 : peer.due.size() - free);
    if (gone > 0 && free == offered) all.messages += kTakeAfter;  // no wait counts on it
  }
  return all;
}

void EmulatedWire::take_in() {
  while (auto message = inner_->poll()) {
    const std::lock_guard lock(mutex_);
    peer(message->from).held.push_back(std::move(*message));
  }
}

std::optional<Message> EmulatedWire::poll() {
  take_in();
  const std::lock_guard lock(mutex_);
  // Fair: the peer that was heard last is asked last.
  auto at = peers_.upper_bound(last_);
  for (std::size_t i = 0; i < peers_.size(); ++i, ++at) {
    if (at == peers_.end()) at = peers_.begin();
    if (!may_go(at->second)) continue;
    last_ = at->first;
    return hand_over(at->second);
  }
  note_lateness();
  return std::nullopt;
}

Message EmulatedWire::hand_over(Peer& from) {
  Message message = std::move(from.held.front());
  from.held.pop_front();
  if (message.kind == kGone) {  // drop the messages that it had offered but never sent
    from.gone = true;
    from.due.clear();
  }
  if (from.due.empty()) return message;
  const std::int64_t due = from.due.front();
  from.due.pop_front();
  if (due > waited_since_ && (!awaited_ || due > awaited_->due)) awaited_ = Awaited{due, link_clock_ns()};
  return message;
}

void EmulatedWire::note_lateness() {
  waited_since_ = kNobodyWaited;
  if (awaited_) lateness_.emplace_back(awaited_->handed_over - awaited_->due);
  awaited_.reset();
}

std::vector<Duration> EmulatedWire::lateness() const {
  const std::lock_guard lock(mutex_);
  return lateness_;
}

// --- Waiting

void EmulatedWire::wait(Duration timeout, int messages) {
  messages = std::min(messages, kTakeAfter);
  const std::int64_t began = link_clock_ns();
  int really = kTakeAfter;  // number of messages that must really come
  {
    const std::lock_guard lock(mutex_);
    const Ready now = ready();
    if (now.messages >= messages) return;
    if (now.messages + now.coming >= messages) really = messages - now.messages;
    wanted_ = messages;
    waiting_ = true;
  }
  inner_->wait(timeout, really);
  const std::lock_guard lock(mutex_);
  waiting_ = false;
  const Ready now = ready();
  if (now.messages + now.coming >= messages) waited_since_ = began;
}

void EmulatedWire::wake() { inner_->wake(); }

void EmulatedWire::close(Duration timeout) {
  const auto until = std::chrono::steady_clock::now() + std::min<Duration>(timeout, std::chrono::hours(1000));
  for (const auto& [rank, theirs] : peers_) {
    if (!theirs.said_bye) offer(rank, kHeaderBytes);
  }
  inner_->close(timeout);
  take_in();
  std::unique_lock lock(mutex_);
  told_.wait_until(lock, until, [this] {
    return std::all_of(peers_.begin(), peers_.end(), [this](const auto& each) {
      const Peer& peer = each.second;
      return alone_ || peer.held.empty() || peer.due.size() + (peer.held.back().kind == kGone) >= peer.held.size();
    });
  });
}

}  // namespace hopbench
