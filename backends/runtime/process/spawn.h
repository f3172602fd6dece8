// Starts one rank by fork + exec, so that nothing of the launcher's state (threads, OpenMP, descriptors) is in it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace hopbench {

/// The descriptors that a rank inherits, as 3, 4 and 5.
struct Inherited {
  int control = -1, board = -1;
  int links = -1;  // -1: none
};

/// Starts `command` with those descriptors, and no others but 0 (nothing), 1 and 2 (both the launcher's stderr). The
/// process is in a process group of its own, ignores SIGINT and SIGTERM, and is killed when the calling thread ends. An
/// empty command[0] is this very binary. Throws Error if no process can be made. A command that cannot be executed
/// exits with kCannotExecute.
pid_t spawn_rank(const std::vector<std::string>& command, const Inherited& inherited);

inline constexpr int kCannotExecute = 127;

/// Sets a variable in the environment of the ranks that will be started, and not in that of this process. Any thread
/// may call it.
void set_for_ranks(const std::string& name, const std::string& value);

/// Returns the letter that the kernel gives the process's state ('T': stopped), or 0 if there is no such process.
char process_state(pid_t pid);

}  // namespace hopbench
