// A Wire over emulated links: messages go over another wire at once, and are handed over when the emulator says that
// they would be there (link_emulator.h).
//
// The n-th message of a peer waits for the emulator's n-th word about that peer, so the order of each pair stays, and
// kBye, which is a message as in virtual time, comes last. The emulator is told of a message before it is sent: what a
// peer had sent before it died comes through, then kGone at once. Without an emulator any more nothing is held.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "backends/runtime/message.h"
#include "backends/transport/wire.h"

namespace hopbench {

/// Where a process that launch() started finds its end, if links are emulated.
inline constexpr int kLinksFd = 5;

class EmulatedWire : public Wire {
 public:
  /// `end` is this rank's end of the emulator, and the wire's from now on.
  EmulatedWire(std::unique_ptr<Wire> inner, const std::vector<int>& peers, int end);
  ~EmulatedWire() override;

  /// A message that was refused must be the next that is offered to that peer.
  bool try_send(int to, const Message& message) override;
  std::optional<Message> poll() override;
  void wait(Duration timeout, int messages = 1) override;
  void wake() override;
  std::map<std::string, std::vector<int>> carriers() const override { return inner_->carriers(); }
  std::int64_t awaited_bodies() const override { return inner_->awaited_bodies(); }
  void close(Duration timeout) override;

  /// By how much a `wait` that a message ended was late, one for each such wait: when the message was handed over minus
  /// when it was due. That is this technique's error: the emulator's, waking, and where the real way took longer.
  std::vector<Duration> lateness() const;

 private:
  struct Peer {
    std::deque<Message> held;      // really here, in order
    std::deque<std::int64_t> due;  // told by the emulator, of messages not handed over yet; CLOCK_MONOTONIC, ns
    bool offered = false;          // to the emulator: the message that the inner wire had no room for
    bool said_bye = false, gone = false;
  };

  Peer& peer(int rank);
  void offer(int to, std::int64_t bytes) const;
  void listen();
  bool may_go(const Peer& peer) const;
  void take_in();
  Message hand_over(Peer& from);
  void note_lateness();
  struct Ready {
    int messages = 0;  // that poll would give
    int coming = 0;    // that it would give once they are really here
  };
  Ready ready() const;

  const std::unique_ptr<Wire> inner_;
  const int end_;

  mutable std::mutex mutex_;  // of what follows
  std::condition_variable told_;
  std::map<int, Peer> peers_;
  int last_ = -1;         // peer that was heard last: asked last
  bool alone_ = false;    // no emulator any more
  bool waiting_ = false;  // somebody, for so many messages
  int wanted_ = 0;
  std::int64_t waited_since_;  // when the last wait that messages ended began
  struct Awaited {
    std::int64_t due = 0, handed_over = 0;
  };
  std::optional<Awaited> awaited_;  // of the messages that a wait ended with, the one that was due last
  std::vector<Duration> lateness_;

  std::thread listener_;
};

}  // namespace hopbench
