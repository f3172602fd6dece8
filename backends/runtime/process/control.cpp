#include "backends/runtime/process/control.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

namespace hopbench {
namespace {

struct Header {
  std::uint32_t type = 0;
  std::int32_t peer = 0;
  std::int64_t value = 0;
  std::uint64_t bytes = 0;
};

}  // namespace

std::string to_bytes(const ControlMessage& message) {
  const Header header{static_cast<std::uint32_t>(message.type), message.peer, message.value, message.text.size()};
  std::string bytes(sizeof header, '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes + message.text;
}

bool from_bytes(const std::string& bytes, ControlMessage& message) {
  Header header;
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (bytes.size() - sizeof header != header.bytes) return false;
  message = {static_cast<ControlType>(header.type), header.peer, header.value, bytes.substr(sizeof header)};
  return true;
}

std::string to_bytes(const Failure& failure) {
  return std::to_string(static_cast<int>(failure.kind)) + " " + std::to_string(failure.rank) + " " + failure.text;
}

Failure failure_from_bytes(const std::string& bytes) {
  int kind = 0, rank = -1;
  const char* const end = bytes.data() + bytes.size();
  const auto [after_kind, bad_kind] = std::from_chars(bytes.data(), end, kind);
  const bool more = bad_kind == std::errc() && after_kind != end && *after_kind == ' ';
  const auto [after, bad_rank] = std::from_chars(more ? after_kind + 1 : end, end, rank);
  const bool whole = more && bad_rank == std::errc() && after != end && *after == ' ';
  if (!whole || kind <= 0 || kind >= kFailureKinds || rank < -1) return {FailureKind::kError, -1, bytes};
  return {static_cast<FailureKind>(kind), rank, std::string(after + 1, end)};
}

ControlChannel::~ControlChannel() { close(); }

void ControlChannel::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void ControlChannel::put(const ControlMessage& message) {
  outgoing_ += to_bytes(message);
  flush();
}

bool ControlChannel::flush() {
  while (open() && pending()) {
    const ssize_t n = send(fd_, outgoing_.data() + sent_, outgoing_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;  // no room now, or the peer is gone: `fill` finds out
    sent_ += static_cast<std::size_t>(n);
  }
  if (pending()) return false;
  outgoing_.clear();
  sent_ = 0;
  return true;
}

bool ControlChannel::fill() {
  char chunk[64 * 1024];
  while (open() && !broken_) {
    if (too_long()) break;
    if (limit_ != kNoLimit && incoming_.size() - taken_ > limit_ + sizeof(Header)) return true;  // enough for a message
    const ssize_t n = recv(fd_, chunk, sizeof chunk, MSG_DONTWAIT);
    if (n > 0) {
      incoming_.append(chunk, static_cast<std::size_t>(n));
    } else if (n == 0) {
      return false;
    } else if (errno != EINTR) {
      return errno == EAGAIN || errno == EWOULDBLOCK;
    }
  }
  return false;
}

bool ControlChannel::too_long() {
  Header header;
  if (limit_ == kNoLimit || incoming_.size() - taken_ < sizeof header) return false;
  std::memcpy(&header, incoming_.data() + taken_, sizeof header);
  broken_ = header.bytes > limit_;
  return broken_;
}

std::optional<ControlMessage> ControlChannel::take() {
  Header header;
  if (too_long()) return std::nullopt;
  if (incoming_.size() - taken_ < sizeof header) return std::nullopt;
  std::memcpy(&header, incoming_.data() + taken_, sizeof header);
  if (incoming_.size() - taken_ - sizeof header < header.bytes) return std::nullopt;
  ControlMessage message{static_cast<ControlType>(header.type), header.peer, header.value,
                         incoming_.substr(taken_ + sizeof header, header.bytes)};
  taken_ += sizeof header + header.bytes;
  if (taken_ == incoming_.size()) {
    incoming_.clear();
    taken_ = 0;
  }
  return message;
}

bool write_control(int fd, const ControlMessage& message) {
  const std::string bytes = to_bytes(message);
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) sent += static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace hopbench
