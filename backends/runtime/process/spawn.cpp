#include "backends/runtime/process/spawn.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>

#include "backends/base/error.h"
#include "backends/runtime/links/emulated_wire.h"
#include "backends/runtime/process/control.h"

namespace hopbench {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

/// Variables that only ranks have.
struct VariablesOfRanks {
  std::mutex mutex;
  std::map<std::string, std::string> values;
};
VariablesOfRanks& variables_of_ranks() {
  static VariablesOfRanks all;
  return all;
}

/// Ranks share the cores. If each had a thread pool, the pools would compete, and threads that spin while they wait
/// would slow the ranks that they wait for. Both variables are read before a rank's main begins.
std::vector<std::string> rank_environment() {
  VariablesOfRanks& own = variables_of_ranks();
  const std::lock_guard lock(own.mutex);
  std::vector<std::string> result;
  for (const auto& [name, value] : own.values) result.push_back(name + "=" + value);
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    if (!own.values.contains(text.substr(0, text.find('=')))) result.push_back(text);
  }
  if (std::getenv("OMP_NUM_THREADS") == nullptr) result.emplace_back("OMP_NUM_THREADS=1");
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) result.emplace_back("OMP_WAIT_POLICY=passive");
  return result;
}

/// Runs in the child, where only async-signal-safe calls are allowed.
[[noreturn]] void become_rank(const char* path, char* const* argv, char* const* envp, Inherited inherited,
                              pid_t launcher) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launcher) _exit(kCannotExecute);  // the launcher died before the line above
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  // Moves them out of the way first: one of them may be 3, 4 or 5 already.
  for (int* each : {&inherited.control, &inherited.board, &inherited.links}) {
    if (*each >= 0) *each = fcntl(*each, F_DUPFD, kLinksFd + 1);
  }
  if (dup2(inherited.control, kControlFd) < 0 || dup2(inherited.board, kBoardFd) < 0) _exit(kCannotExecute);
  if (inherited.links >= 0 && dup2(inherited.links, kLinksFd) < 0) _exit(kCannotExecute);
  const int nothing = open("/dev/null", O_RDONLY);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);  // the launcher's stdout is for results
  close_range((inherited.links >= 0 ? kLinksFd : kBoardFd) + 1, ~0U, 0);
  execve(path, argv, envp);
  _exit(kCannotExecute);
}

}  // namespace

pid_t spawn_rank(const std::vector<std::string>& command, const Inherited& inherited) {
  HB_ASSERT(!command.empty());
  const bool self = command[0].empty();
  const std::string path = self ? "/proc/self/exe" : command[0];
  std::vector<std::string> arguments = command;
  if (self) arguments[0] = "hopbench";
  const std::vector<std::string> environment = rank_environment();
  const std::vector<char*> argv = pointers(arguments), envp = pointers(environment);
  const pid_t launcher = getpid();

  const pid_t pid = fork();
  if (pid < 0) {
    throw environment_error(std::string("cannot start a process for a rank: ") + std::strerror(errno) +
                            ": use fewer ranks or allow more processes (ulimit -u)");
  }
  if (pid == 0) become_rank(path.c_str(), argv.data(), envp.data(), inherited, launcher);
  setpgid(pid, pid);  // here too, since either process may be first
  return pid;
}

void set_for_ranks(const std::string& name, const std::string& value) {
  VariablesOfRanks& own = variables_of_ranks();
  const std::lock_guard lock(own.mutex);
  own.values[name] = value;
}

char process_state(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= text.size() ? '\0' : text[name_end + 2];
}

}  // namespace hopbench
