#include "backends/transport/gloo_frame.h"

#include <cstdint>
#include <cstring>
#include <string>

#include "backends/base/error.h"
#include "backends/transport/body.h"

namespace hopbench {
namespace {

struct FrameHead {
  std::int64_t iter = 0, bytes = 0;
  std::uint64_t floats = 0;   // number that the body stores
  std::uint64_t numbers = 0;  // numbers of a sparse body; 0: it is dense
  std::uint16_t kind = 0;
  std::uint8_t words = 0;
  std::uint8_t bye = 0;
  std::uint8_t inside = 0;  // the body is in the frame
  std::uint8_t device = 0;  // the body lay on a device
};

/// Returns true if a frame of this length can have this head.
bool fits(const FrameHead& head, std::size_t bytes) {
  if (head.words > Words::kMax || bytes < frame_bytes(head.words, 0)) return false;
  const std::size_t room = bytes - frame_bytes(head.words, 0);
  return body_is_possible(head.floats, head.numbers) && (head.inside == 0 || head.floats <= room / sizeof(float));
}

[[noreturn]] void refuse(int from) {
  throw trial_error("what came from rank " + std::to_string(from) + " over Gloo is not a message: run the trial again");
}

}  // namespace

std::size_t frame_bytes(std::size_t words, std::size_t floats) {
  return sizeof(FrameHead) + words * sizeof(std::int64_t) + floats * sizeof(float);
}

std::size_t write_frame(const Message& message, const Payload& body, bool bye, std::span<char> frame,
                        std::size_t largest) {
  const std::size_t words = message.words.size();
  const bool inside = frame_bytes(words, body.stored()) <= largest;
  const std::size_t bytes = frame_bytes(words, inside ? body.stored() : 0);
  HB_ASSERT(bytes <= frame.size());
  FrameHead head{.iter = message.iter, .bytes = message.bytes, .floats = body.stored()};
  head.numbers = body.sparse() ? body.size() : 0;
  head.kind = static_cast<std::uint16_t>(message.kind);
  head.words = static_cast<std::uint8_t>(words);
  head.bye = bye ? 1 : 0;
  head.inside = inside ? 1 : 0;
  head.device = on_device(message.body) ? 1 : 0;
  char* at = frame.data();
  const auto put = [&](const void* data, std::size_t n) {
    if (n > 0) std::memcpy(at, data, n);
    at += n;
  };
  put(&head, sizeof head);
  put(message.words.begin(), words * sizeof(std::int64_t));
  if (inside) put(body.raw(), body.stored() * sizeof(float));
  return bytes;
}

ReadFrame read_frame(std::span<const char> frame, int from) {
  FrameHead head;
  if (frame.size() < sizeof head) refuse(from);
  const char* at = frame.data();
  std::memcpy(&head, at, sizeof head);
  at += sizeof head;
  if (!fits(head, frame.size())) refuse(from);
  ReadFrame read;
  read.bye = head.bye != 0;
  read.whole = head.inside != 0;
  read.floats = head.floats;
  read.numbers = head.numbers;
  read.device = head.device != 0;
  read.message = {.from = from, .kind = Kind{head.kind}, .iter = head.iter, .words = {}, .body = {}};
  read.message.bytes = head.bytes;
  for (int w = 0; w < head.words; ++w, at += sizeof(std::int64_t)) {
    std::int64_t value = 0;
    std::memcpy(&value, at, sizeof value);
    read.message.words.push_back(value);
  }
  if (read.whole && (head.floats > 0 || head.numbers > 0)) {
    ArrivingBody body(head.floats, head.numbers);
    if (body.bytes() > 0) std::memcpy(body.data(), at, body.bytes());
    read.message.body = body.whole();
  }
  return read;
}

}  // namespace hopbench
