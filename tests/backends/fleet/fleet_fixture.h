// A run of several processes on this machine: this one is process 0, the others are this binary with --agent.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <csignal>
#include <memory>
#include <set>
#include <sstream>
#include <thread>

#include "backends/base/error.h"
#include "backends/fleet/agent.h"
#include "backends/fleet/fleet.h"
#include "backends/fleet/socket.h"
#include "backends/runtime/process/crew.h"
#include "backends/runtime/process/launch.h"
#include "backends/runtime/process/spawn.h"
#include "tests/backends/runtime/launch_plays.h"
#include "tests/backends/runtime/launched.h"
#include "tests/folder.h"

namespace hopbench {

inline AgentOptions agent_options(int number, int size, const std::string& mark) {
  AgentOptions options{.number = number, .size = size, .about = {}, .command = {"", "--rank", mark}};
  options.about.machine = "machine" + std::to_string(number);
  options.about.boot = "boot";
  options.about.program = "hopbench";
  options.about.context = "{}";
  options.timeout = std::chrono::seconds(5);
  return options;
}

/// A process that is an agent: this binary with --agent.
class AgentProcess {
 public:
  AgentProcess(const std::string& folder, int number, int size) {
    const std::string words[] = {"--agent", folder, std::to_string(number), std::to_string(size), test_mark()};
    pid_ = fork();
    if (pid_ != 0) return;
    execl("/proc/self/exe", "fleet_test", words[0].c_str(), words[1].c_str(), words[2].c_str(), words[3].c_str(),
          words[4].c_str(), nullptr);
    _exit(127);
  }
  ~AgentProcess() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  AgentProcess(const AgentProcess&) = delete;
  AgentProcess& operator=(const AgentProcess&) = delete;

  pid_t pid() const { return pid_; }
  int wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_ = -1;
};

class FleetTest : public testing::Test {
 protected:
  FleetOptions options(int size) const {
    FleetOptions options{.size = size};
    options.about = agent_options(0, size, "").about;
    options.one_machine = true;
    options.timeout = std::chrono::seconds(10);
    options.interrupted = [] {};
    return options;
  }

  /// Process 0 is this one; `size` - 1 agents.
  Fleet& gather(int size) {
    for (int i = 1; i < size; ++i) agents_.push_back(std::make_unique<AgentProcess>(folder_.path(), i, size));
    meeting_ = open_meeting_point(folder_.path(), "test");
    fleet_ = Fleet::gather(options(size), *meeting_);
    return *fleet_;
  }

  /// A trial of as many ranks as processes, one each.
  LaunchOptions trial(const std::string& play, int ranks = 0) const {
    LaunchOptions trial = launch_of(ranks == 0 ? fleet_->size() : ranks, play);
    for (int p = 0; p < fleet_->size(); ++p) trial.placement.crews.push_back(&fleet_->crew(p));
    for (int r = 0; r < trial.ranks; ++r) trial.placement.crew_of.push_back(r % fleet_->size());
    trial.placement.local = local_places(fleet_->places(), trial.placement.crew_of);
    return trial;
  }

  LaunchResult run(const LaunchOptions& options) const {
    LaunchResult result = launch(options);
    EXPECT_TRUE(eventually([] { return ranks_alive() == 0; })) << "ranks are left";
    return result;
  }
  static std::size_t ranks_alive() {
    std::size_t n = 0;
    for (const pid_t pid : processes_with(test_mark()))
      n += command_line_of(pid).find("--rank") != std::string::npos ? 1 : 0;
    return n;
  }

  Folder folder_;
  std::vector<std::unique_ptr<AgentProcess>> agents_;
  std::unique_ptr<MeetingPoint> meeting_;
  std::unique_ptr<Fleet> fleet_;
};

/// Sets a variable for the processes of errands: their job, and the number of calls that were under way.
inline void prepare_errand(const std::string& job) {
  static std::atomic<int> under_way{0};
  const int others = under_way++;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  set_for_ranks("HB_TEST_VARIABLE", "prepared for " + job + ", beside " + std::to_string(others));
  --under_way;
}

inline int play_agent(char** words) {
  const int number = std::stoi(words[3]), size = std::stoi(words[4]);
  static std::atomic<int> interrupts{0};
  std::signal(SIGTERM, [](int) { ++interrupts; });
  AgentOptions options = agent_options(number, size, words[5]);
  options.interrupts = &interrupts;
  options.prepare = prepare_errand;
  try {
    return run_agent(options, *open_meeting_point(words[2], "test"));
  } catch (const Error& error) {
    return static_cast<int>(error.code());
  }
}

}  // namespace hopbench
