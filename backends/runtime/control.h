// The framing of the control channel between the launcher and a rank: both sides and nobody else include this.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace hopbench {

// The descriptors that a rank inherits.
inline constexpr int kControlFd = 3;
inline constexpr int kBoardFd = 4;

enum class ControlType : std::uint32_t {
  // launcher -> rank
  kJob,    // peer = the rank's number, value = number of ranks, text = the job
  kStart,  // value = the trial's start on CLOCK_MONOTONIC
  kEnd,    // please end
  // both ways
  kBlob,  // what a meeting exchanges; peer = for whom (to the launcher), from whom (to a rank)
  // rank -> launcher
  kReady,
  kFinish,  // text = the result
  kFail,    // text = the error, value = when it was told, on CLOCK_MONOTONIC
};

struct ControlMessage {
  ControlType type = ControlType::kEnd;
  std::int32_t peer = -1;
  std::int64_t value = 0;
  std::string text;
};

/// One end of a channel over a stream socket; owns the descriptor. Not for several threads at once.
class ControlChannel {
 public:
  explicit ControlChannel(int fd) : fd_(fd) {}
  ~ControlChannel();
  ControlChannel(const ControlChannel&) = delete;
  ControlChannel& operator=(const ControlChannel&) = delete;

  int fd() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  void close();

  /// Queues a message and writes what the socket takes now.
  void put(const ControlMessage& message);
  /// Writes what the socket takes of the queue. True when nothing is left.
  bool flush();
  bool pending() const { return sent_ < outgoing_.size(); }
  /// Reads what is there, without blocking. False: the other end has hung up (what came before is still to be taken).
  bool fill();
  std::optional<ControlMessage> take();

 private:
  int fd_;
  std::string incoming_, outgoing_;
  std::size_t taken_ = 0, sent_ = 0;
};

/// The same on the rank's side, where a socket may block: the whole message, now. False: the launcher is gone.
bool write_control(int fd, const ControlMessage& message);

}  // namespace hopbench
