// An agent: it makes a machine available to the launcher of a run, which may be on another machine or on the same one.
//
// It connects to the launcher, introduces itself, and is let in or not. Then it waits for trials. It starts the ranks
// that it is asked for (always this program, never a command that came over the network), passes on their messages and
// the launcher's, and reports their ends. It holds no suite, writes no file, and ends with the launcher.
//
// It never listens. Whatever happens to the connection, no process of a trial is left when it returns.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "backends/base/time.h"
#include "backends/fleet/meeting_point.h"

namespace hopbench {

/// The data with which an agent, and the launcher of the run, introduce themselves.
struct Introduction {
  std::string token;    // of the invitation
  std::string machine;  // its name
  std::string boot;     // boot_id()
  std::string address;  // where its ranks may listen; empty: at the end of this connection
  std::string program;  // version and commit: all must be the same
  std::string context;  // of the machine, JSON: for the result folder
};
std::string to_text(const Introduction& introduction);
/// Returns false if `text` is not an introduction.
bool from_text(const std::string& text, Introduction& introduction);

struct AgentOptions {
  int number = 1, size = 2;  // of the run's processes
  Introduction about = {};   // of this process, without token
  std::vector<std::string> command{"", "rank"};
  Duration timeout{std::chrono::seconds(30)};    // to be let in
  const std::atomic<int>* interrupts = nullptr;  // rises with SIGINT and SIGTERM; then the launcher is notified
  std::function<void(const std::string& job)> prepare = {};  // as in Errands
};

/// Serves until the launcher says good-bye. Returns the exit code that the launcher names. Throws Error(kEnvironment)
/// if there is no launcher, or if it refuses or is lost.
int run_agent(const AgentOptions& options, MeetingPoint& meeting);

}  // namespace hopbench
