// The frame in which a message travels over Gloo: a head, the words, and the body if it fits in.
#pragma once

#include <cstddef>
#include <span>

#include "backends/runtime/message.h"

namespace hopbench {

/// Returns the bytes that a message takes as one frame.
std::size_t frame_bytes(std::size_t words, std::size_t floats);

/// Writes the message, without its body if that makes more than `largest` bytes, for which `frame` has room. Returns
/// the bytes written. `body`: the message's, in host memory. `bye`: the sender's last frame, which has no message.
std::size_t write_frame(const Message& message, const Payload& body, bool bye, std::span<char> frame,
                        std::size_t largest);

struct ReadFrame {
  Message message;
  bool bye = false;
  bool whole = true;                    // false: the body follows on its own,
  std::size_t floats = 0, numbers = 0;  // of this number of floats; of a sparse one, of this number of numbers
  bool device = false;                  // the body comes from a device: see arrived()
};
/// Throws Error (trial), naming the peer, if the bytes are not a frame.
ReadFrame read_frame(std::span<const char> frame, int from);

}  // namespace hopbench
