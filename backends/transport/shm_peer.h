// One peer over shared memory: a channel each way, in its writer's segment, and the two bells.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "backends/runtime/message.h"
#include "backends/transport/shm_channel.h"
#include "backends/transport/shm_segment.h"

namespace hopbench {

/// Threads: as for Wire. `waiting`, `news` and `died` are called at the same time as all others.
class ShmPeer {
 public:
  /// `bell` lies in this process's segment.
  ShmPeer(int rank, ShmBell& bell);
  ~ShmPeer();
  ShmPeer(const ShmPeer&) = delete;
  ShmPeer& operator=(const ShmPeer&) = delete;

  int rank() const { return rank_; }
  /// Returns where the peer finds its memory here. Must be called once, for a peer that is going to connect.
  std::string address();
  /// Maps the memory at the peer's address. Returns "" if that worked, else the error.
  std::string connect(const std::string& address);
  /// Returns why the peer's device cannot be read in place, or "" if it can or the peer lends no device memory.
  const std::string& trouble_with_device() const { return trouble_with_device_; }
  /// Allows loans of this process's device to the peer, once the peer has read a test block.
  void lend_device(bool lends) { lends_device_ = lends; }
  /// Returns a descriptor to poll, readable when the peer's process has ended. -1: it is this process.
  int process() const { return process_; }

  bool try_send(const Message& message);
  /// Returns the next message, or the peer's end after its last message, once.
  std::optional<Message> take();
  /// Sends the bye, after all that was sent.
  void say_bye();

  /// Returns the number of messages to be taken, not counting the peer's end.
  int waiting() const;
  /// Returns true if the peer's end is to be taken, or (once) if there is room where there was no room.
  bool news();
  /// Returns true if it sends no more and all its messages have been taken.
  bool silent() const;
  void died() { dead_ = true; }

 private:
  struct Head;
  bool ended() const {
    return dead_ || (in_ != nullptr && in_->state.load(std::memory_order_acquire) != ShmChannel::kOpen);
  }
  // Throws Error if there can be no such message in `bytes` bytes.
  void check(const Head& head, std::uint64_t bytes) const;
  [[noreturn]] void refuse() const;
  Payload body_of(const Head& head, std::uint64_t place) const;
  // For a body that is not copied: fills in where the peer finds it. Data after the words goes to `place`.
  void lend_body(const Payload& body, Head& head, std::uint64_t place);
  bool lend_on_device(const Payload& body, Head& head, std::uint64_t place);
  void try_device(const std::string& sample);
  Payload borrowed(const Head& head, std::uint64_t place) const;

  const int rank_;
  ShmBell& bell_;
  ShmChannel* const out_;
  std::shared_ptr<ShmView> view_;  // of the peer's segment; vectors borrowed from there hold it too
  ShmChannel* in_ = nullptr;
  ShmBell* their_bell_ = nullptr;
  std::uint64_t in_block_ = 0, bell_block_ = 0;  // lent by the peer
  int process_ = -1;
  std::string trouble_with_device_;
  bool lends_device_ = false;

  std::uint64_t written_ = 0, sent_ = 0;  // of out_: bytes, messages
  std::uint64_t read_ = 0, taken_ = 0;    // of in_
  std::atomic<bool> dead_{false};
  std::atomic<bool> told_{false};     // its end has been reported
  std::atomic<bool> refused_{false};  // a message, for lack of room
};

}  // namespace hopbench
