// For tests that start ranks as processes: the test binary is its own rank, started with "--rank" as its first
// argument. And for looking whether anything of a trial is left behind.
#pragma once

#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>

#include "backends/runtime/process/launch.h"

namespace hopbench {

/// A word in the command line of every process that this test starts.
inline std::string test_mark() { return "--mark=" + std::to_string(getpid()); }

inline LaunchOptions launch_of(int ranks, const std::string& job) {
  LaunchOptions options;
  options.command = {"", "--rank", test_mark()};
  options.ranks = ranks;
  options.job = job;
  options.rendezvous_timeout = options.stall_timeout = std::chrono::seconds(20);
  return options;
}

/// With zeros between the words; of a process that has just ended, nothing.
inline std::string command_line_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline");
  std::string line(4096, '\0');
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<std::size_t>(file.gcount()));
  return line;
}

/// Processes with `mark` in their command line, but for this one.
inline std::set<pid_t> processes_with(const std::string& mark) {
  std::set<pid_t> found;
  DIR* const proc = opendir("/proc");
  while (const dirent* entry = readdir(proc)) {
    const pid_t pid = static_cast<pid_t>(std::atoi(entry->d_name));
    if (pid <= 0 || pid == getpid()) continue;
    if (command_line_of(pid).find(mark) != std::string::npos) found.insert(pid);
  }
  closedir(proc);
  return found;
}

inline int open_descriptors() {
  int n = 0;
  DIR* const fds = opendir("/proc/self/fd");
  while (readdir(fds) != nullptr) ++n;
  closedir(fds);
  return n;
}

/// The addresses that a process listens at (TCP, hexadecimal as Linux has them).
inline std::set<std::string> listening_sockets_of(pid_t pid) {
  std::set<std::string> own, found;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd", gone))
    own.insert(std::filesystem::read_symlink(entry, gone).string());
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(table);
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string slot, local, remote, state, queues, timer, retries, user, timeout, inode;
      words >> slot >> local >> remote >> state >> queues >> timer >> retries >> user >> timeout >> inode;
      if (state == "0A" && own.contains("socket:[" + inode + "]")) found.insert(local);
    }
  }
  return found;
}

/// Returns true if `condition` comes true within some seconds.
template <class Condition>
bool eventually(const Condition& condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace hopbench
