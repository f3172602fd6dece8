// The messages about a trial between a launcher and its agents. Internal to backends/fleet.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/runtime/process/board.h"
#include "backends/runtime/process/crew.h"

namespace hopbench {

struct RemoteJob {
  CrewJob job;               // without command and links
  std::int64_t credits = 0;  // of the trial
};
std::string to_text(const RemoteJob& job);
/// Returns false if `text` is not a job, or is one that no launcher would send.
bool from_text(const std::string& text, RemoteJob& job);

/// slots_text() writes the slots of these ranks. show_slots() puts them onto a board and adds `shift_ns` to their
/// times. It leaves out the slots of ranks that are not in `ranks`, and returns false if `text` holds no slots.
std::string slots_text(const Board& board, const std::vector<CrewMember>& members);
bool show_slots(const std::string& text, std::int64_t shift_ns, const std::vector<int>& ranks, Board& board);

}  // namespace hopbench
