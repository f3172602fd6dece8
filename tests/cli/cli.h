// The hopbench binary as a user meets it: started in a folder of its own, watched from outside.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "tests/paths.h"
#include "tests/results/results_samples.h"

namespace hopbench {

using Args = std::vector<std::string>;

struct Ended {
  int code = -1;  // 128 + signal if one ended it
  std::string out, err;
};

/// A running hopbench. It is killed, and so are its ranks, if the test goes out of scope first.
class Running {
 public:
  Running(const std::string& folder, const Args& words, const Args& variables = {},
          const std::string& path = program()) {
    pid_ = fork();
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that is killed leaves nothing behind
    setpgid(0, 0);                     // a ^C at the terminal is the test's, not its children's
    if (chdir(folder.c_str()) != 0) _exit(126);
    attach(STDIN_FILENO, "/dev/null", O_RDONLY);
    attach(STDOUT_FILENO, out_.path() + "/out", O_WRONLY | O_CREAT);
    attach(STDERR_FILENO, out_.path() + "/err", O_WRONLY | O_CREAT);
    clean_environment();
    for (const std::string& variable : variables) putenv(const_cast<char*>(variable.c_str()));
    std::vector<char*> argv{const_cast<char*>(path.c_str())};
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    execv(path.c_str(), argv.data());
    _exit(127);
  }
  ~Running() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  void send(int signal) const { ::kill(pid_, signal); }
  pid_t pid() const { return pid_; }

  /// Its processes, as far as they are its children: the ranks, first one first.
  std::vector<pid_t> ranks() const {
    std::vector<pid_t> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const pid_t pid = static_cast<pid_t>(std::atoi(entry.path().filename().c_str()));
      const std::string stat = pid > 0 ? text_of(entry.path().string() + "/stat") : "";
      const std::size_t name_end = stat.rfind(')');
      if (name_end == std::string::npos || name_end + 4 > stat.size()) continue;
      if (stat[name_end + 2] != 'Z' && std::atoi(stat.c_str() + name_end + 4) == pid_) found.push_back(pid);
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  Ended wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return {WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), text_of(out_ / "out"),
            text_of(out_ / "err")};
  }

 private:
  static void attach(int descriptor, const std::string& path, int flags) {
    const int opened = open(path.c_str(), flags, 0600);
    if (opened < 0 || dup2(opened, descriptor) < 0) _exit(126);
  }
  static void clean_environment() {
    std::vector<std::string> ours;
    for (char** variable = environ; *variable != nullptr; ++variable) {
      const std::string text = *variable;
      if (text.starts_with("HOPBENCH_")) ours.push_back(text.substr(0, text.find('=')));
    }
    for (const std::string& name : ours) unsetenv(name.c_str());
    unsetenv("CI");  // under which gates are strict and progress is quiet
    setenv("HOPBENCH_ROOT", source_dir().c_str(), 1);
  }

  Folder out_;  // outside of the folder in which it runs: there, nothing may be written
  pid_t pid_ = -1;
};

inline Ended hopbench(const std::string& folder, const Args& words, const Args& variables = {},
                      const std::string& path = program()) {
  return Running(folder, words, variables, path).wait();
}

/// Every file below a folder, with its size.
inline std::string contents(const std::string& folder) {
  Args lines;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    lines.push_back(entry.path().string() +
                    (entry.is_regular_file() ? " " + std::to_string(entry.file_size()) : std::string("/")) + "\n");
  }
  std::sort(lines.begin(), lines.end());
  std::string all;
  for (const std::string& line : lines) all += line;
  return all;
}

inline std::size_t count_lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

/// Returns true if the condition comes true before the test's own limit is in danger.
template <class Condition>
bool soon(const Condition& condition) {
  for (int i = 0; i < 4000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

/// Four ranks, two variants, two scenarios, in virtual time: moments.
inline std::string small_suite() {
  return R"(schema = 1
name = "small"
[run]
world_size = 4
iterations = 8
repeats = 1
warmup_time = "0s"
[model]
name = "quadratic"
size = 64
[compute]
backend = "reference"
pace = "10ms"
[transport]
name = "sim"
[[protocol]]
name = "allreduce"
[[protocol]]
name = "hop"
backup = 1
[[scenario]]
name = "homogeneous"
[[scenario]]
name = "random"
compute = [{ kind = "bernoulli", probability = 0.3, factor = 4.0 }]
)";
}

/// The text with `from` replaced, which must be there.
inline std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) {
    ADD_FAILURE() << "no '" << from << "' to replace";
    return text;
  }
  return text.replace(at, from.size(), to);
}

}  // namespace hopbench
