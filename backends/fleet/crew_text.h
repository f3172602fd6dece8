// What a launcher and its agents send each other about a trial. Inside of backends/fleet.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/runtime/board.h"
#include "backends/runtime/crew.h"

namespace hopbench {

struct RemoteJob {
  CrewJob job;               // without command and links
  std::int64_t credits = 0;  // of the trial
};
std::string to_text(const RemoteJob& job);
/// False: it is none, or one that no launcher would send.
bool from_text(const std::string& text, RemoteJob& job);

/// The slots of these ranks, and back onto a board; `shift_ns` is added to their times. Those of others than `ranks`
/// are left out. False: it is none.
std::string slots_text(const Board& board, const std::vector<CrewMember>& members);
bool show_slots(const std::string& text, std::int64_t shift_ns, const std::vector<int>& ranks, Board& board);

}  // namespace hopbench
