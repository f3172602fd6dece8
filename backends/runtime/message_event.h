// The event that tells of a message.
#pragma once

#include "backends/base/record/event.h"
#include "backends/runtime/message.h"

namespace hopbench {

inline Event message_event(EventKind what, Time when, int rank, int peer, const Message& message) {
  return {.time = when,
          .rank = rank,
          .what = what,
          .iter = message.iter,
          .peer = peer,
          .kind = static_cast<std::uint16_t>(message.kind),
          .count = message.words.size() > 0 ? message.words[0] : 0};
}

}  // namespace hopbench
