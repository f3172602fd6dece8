// fork + exec of one rank, so that nothing of the launcher's state (threads, OpenMP, descriptors) is in it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace hopbench {

/// What a rank inherits: its descriptors 3, 4 and 5.
struct Inherited {
  int control = -1, board = -1;
  int links = -1;  // -1: none
};

/// Starts `command` with those descriptors, no other but 0 (nothing), 1 and 2 (both the launcher's stderr); in a
/// process group of its own; ignoring SIGINT and SIGTERM; killed when the calling thread ends. An empty command[0] is
/// this very binary. Throws Error if no process can be made; a command that cannot be executed exits with
/// kCannotExecute.
pid_t spawn_rank(const std::vector<std::string>& command, const Inherited& inherited);

inline constexpr int kCannotExecute = 127;

/// The letter that the kernel gives the process's state ('T': stopped), or 0 if there is none.
char process_state(pid_t pid);

}  // namespace hopbench
