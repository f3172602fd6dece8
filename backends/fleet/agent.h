// An agent: it lends a machine to the launcher of a run, which is on another or beside it.
//
// It connects to the launcher, says who it is, and is let in or not. Then it waits for trials: it starts the ranks that
// it is told to (always this very program, never a command that came over the network), passes on what they and the
// launcher say to each other, and tells how they end. It holds no suite, writes no file, and ends with the launcher.
//
// It never listens. Whatever becomes of the connection, no process of a trial is left when it returns.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "backends/base/time.h"
#include "backends/fleet/meeting_point.h"

namespace hopbench {

/// What an agent says of itself, and the launcher of the run.
struct Introduction {
  std::string token;    // of the invitation
  std::string machine;  // its name
  std::string boot;     // boot_id()
  std::string address;  // where its ranks may listen; empty: at the end of this connection
  std::string program;  // version and commit: all must be the same
  std::string context;  // of the machine, JSON: for the result folder
};
std::string to_text(const Introduction& introduction);
/// False: it is none.
bool from_text(const std::string& text, Introduction& introduction);

struct AgentOptions {
  int number = 1, size = 2;  // of the run's processes
  Introduction about = {};   // without token
  std::vector<std::string> command{"", "rank"};
  Duration timeout{std::chrono::seconds(30)};    // to be let in
  const std::atomic<int>* interrupts = nullptr;  // rises with SIGINT and SIGTERM: the launcher is told
};

/// Serves until the launcher says good-bye; returns the exit code it names. Error(kEnvironment) if there is no
/// launcher, it refuses, or it is lost.
int run_agent(const AgentOptions& options, MeetingPoint& meeting);

}  // namespace hopbench
