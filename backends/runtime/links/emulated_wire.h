// A Wire over emulated links. Messages go over another wire at once. They are handed over when the emulator says that
// they would be there (link_emulator.h).
//
// The n-th message of a peer waits for the emulator's n-th release of that peer. So each pair keeps its order, and
// kBye, a message as in virtual time, comes last. A message is offered to the emulator before it is sent: all that a
// peer sent before it died comes through, then kGone at once. Without an emulator any more nothing is held.
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

/// The descriptor at which a process that launch() started finds its end, if links are emulated.
inline constexpr int kLinksFd = 5;

class EmulatedWire : public Wire {
 public:
  /// `end` is this rank's end of the emulator. The wire owns it from now on.
  EmulatedWire(std::unique_ptr<Wire> inner, const std::vector<int>& peers, int end);
  ~EmulatedWire() override;

  /// If a message is refused, it must be the next one that is offered to that peer.
  bool try_send(int to, const Message& message) override;
  std::optional<Message> poll() override;
  void wait(Duration timeout, int messages = 1) override;
  void wake() override;
  std::map<std::string, std::vector<int>> carriers() const override { return inner_->carriers(); }
  std::int64_t awaited_bodies() const override { return inner_->awaited_bodies(); }
  void close(Duration timeout) override;

  /// Returns how late each `wait` was that a message ended: the time when the message was handed over minus the time
  /// when it was due. That is this technique's error: the emulator's, waking, and a real way that took longer.
  std::vector<Duration> lateness() const;

 private:
  struct Peer {
    std::deque<Message> held;      // really arrived, in order
    std::deque<std::int64_t> due;  // from the emulator, of messages not handed over yet; CLOCK_MONOTONIC, ns
    bool offered = false;          // to the emulator: a message that the inner wire had no room for
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
    int messages = 0;  // that poll would return
    int coming = 0;    // that it would return once they have really arrived
  };
  Ready ready() const;

  const std::unique_ptr<Wire> inner_;
  const int end_;

  mutable std::mutex mutex_;  // protects the members below
  std::condition_variable told_;
  std::map<int, Peer> peers_;
  int last_ = -1;         // the peer that was heard last is asked last
  bool alone_ = false;    // the emulator is gone
  bool waiting_ = false;  // a thread waits, for wanted_ messages
  int wanted_ = 0;
  std::int64_t waited_since_;  // when the last wait that messages ended began
  struct Awaited {
    std::int64_t due = 0, handed_over = 0;
  };
  std::optional<Awaited> awaited_;  // the message that was due last among those that ended a wait
  std::vector<Duration> lateness_;

  std::thread listener_;
};

}  // namespace hopbench
