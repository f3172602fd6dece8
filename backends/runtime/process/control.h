// The framing of the control channel between the launcher and a rank. Only these two sides include it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "backends/base/failure.h"

namespace hopbench {

// The descriptors that a rank inherits.
inline constexpr int kControlFd = 3;
inline constexpr int kBoardFd = 4;

/// Stands before the address of kPlace.
inline constexpr std::string_view kLent = "lent ";

enum class ControlType : std::uint32_t {
  // launcher -> rank
  kPlace,  // peer = its number on its machine, value = number of ranks there, text = the address to listen on (empty:
           // loopback), after "lent " if an agent started the rank; comes before the job
  kJob,    // peer = the rank's number, value = number of ranks, text = the job
  kStart,  // value = the trial's start on CLOCK_MONOTONIC
  kEnd,    // please end
  // both ways
  kBlob,  // data of a meeting; peer = receiver (to the launcher), sender (to a rank)
  // rank -> launcher
  kReady,
  kFinish,  // text = the result
  kFail,    // text = the failure (to_bytes), value = when it was reported, on CLOCK_MONOTONIC
  // launcher <-> agent (backends/fleet): messages of and for a crew's ranks
  kHello,       // agent: peer = its process, value = number of processes, text = an Introduction
  kWelcome,     // launcher: it belongs to the run
  kRefused,     // launcher: text = why not
  kPing,        // launcher asks, agent answers with value = its CLOCK_MONOTONIC
  kLaunch,      // launcher: text = a CrewJob; value = credits to begin with
  kToRank,      // launcher: peer = the rank, text = a message for it
  kFromRank,    // agent: peer = the rank, text = a message of it
  kSlots,       // agent: text = what its ranks are doing
  kEnded,       // agent: peer = the rank, value = its wait status
  kCredits,     // agent: asks for value more; launcher: gives value, text = number left; 0: there are no more
  kKill,        // launcher: all ranks
  kDismiss,     // launcher: the trial is over; agent: no process of it is left
  kTrouble,     // agent: text = why it cannot start the trial's ranks
  kInterrupt,   // agent: it was asked to end (SIGTERM)
  kOver,        // launcher: the run is over, value = its exit code
  kErrand,      // launcher: value = its number, text = an Errand
  kErrandDone,  // agent: value = its number, text = its result
  kErrandEnd,   // launcher: ^C for all errands
  kAlive,       // agent: it has errands under way
};

struct ControlMessage {
  ControlType type = ControlType::kEnd;
  std::int32_t peer = -1;
  std::int64_t value = 0;
  std::string text;
};

/// Converts a message to bytes, and back. Returns false unless the bytes are exactly one whole message.
std::string to_bytes(const ControlMessage& message);
bool from_bytes(const std::string& bytes, ControlMessage& message);

/// Converts a failure to bytes ("KIND RANK TEXT", with a number for the kind), and back. Bytes that are not a failure
/// become the text of one of kind kError.
std::string to_bytes(const Failure& failure);
Failure failure_from_bytes(const std::string& bytes);

/// One end of a channel over a stream socket. It owns the descriptor. Only one thread at a time may use it. `limit`:
/// the longest text accepted. A longer one breaks the channel, as if the other end had hung up.
class ControlChannel {
 public:
  static constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};
  explicit ControlChannel(int fd, std::uint64_t limit = kNoLimit) : fd_(fd), limit_(limit) {}
  ~ControlChannel();
  ControlChannel(const ControlChannel&) = delete;
  ControlChannel& operator=(const ControlChannel&) = delete;

  int fd() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  void close();
  void set_limit(std::uint64_t limit) { limit_ = limit; }

  /// Queues a message and writes as much as the socket takes now.
  void put(const ControlMessage& message);
  /// Writes as much of the queue as the socket takes. Returns true if nothing is left.
  bool flush();
  bool pending() const { return sent_ < outgoing_.size(); }
  /// Reads without blocking. Returns false if the other end has hung up (earlier messages are still to be taken).
  bool fill();
  std::optional<ControlMessage> take();

 private:
  bool too_long();

  int fd_;
  std::uint64_t limit_;
  bool broken_ = false;
  std::string incoming_, outgoing_;
  std::size_t taken_ = 0, sent_ = 0;
};

/// Does the same for a rank, whose socket may block: writes the whole message. Returns false if the launcher is gone.
bool write_control(int fd, const ControlMessage& message);

}  // namespace hopbench
