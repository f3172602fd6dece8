// Errands: single processes of this program that an agent starts and supervises by itself, several at once. Trials in
// virtual time are errands. The ranks of real trials are not: their launcher supervises them through crews.
//
//   launcher  --kErrand (number, Errand)-->  agent: Errands, a thread each: launch()  --kErrandDone (number, result)-->
//
// While an agent has errands, it sends a sign of life every second. If it is lost, its errands are lost with it, and
// the launcher may give them to another agent.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backends/base/local_place.h"
#include "backends/base/time.h"
#include "backends/runtime/process/launch.h"

namespace hopbench {

struct Errand {
  std::string job;                                                  // handed to the process
  LocalPlace place = {};                                            // among the errands of its agent
  Duration rendezvous_timeout{}, stall_timeout{}, trial_timeout{};  // as in LaunchOptions
};
std::string to_text(const Errand& errand);
/// Returns false if `text` is not an errand, or one that no launcher would send.
bool from_text(const std::string& text, Errand& errand);

/// Convert the result of an errand, a launch of one rank, to text, and back. Returns false if `text` is not one.
std::string result_to_text(const LaunchResult& result);
bool result_from_text(const std::string& text, LaunchResult& result);

/// The errands of an agent. Only the agent's thread may call this.
class Errands {
 public:
  struct Done {
    std::int64_t number;
    std::string result;  // result_to_text()
  };

  /// `command`: argv of a process, as in LaunchOptions. `prepare`, if there is one, is called with the job of an errand
  /// before its process starts, on any thread, one call at a time. It may do once what each process would do again.
  explicit Errands(std::vector<std::string> command, std::function<void(const std::string& job)> prepare = {});
  /// Kills what is under way, and waits until it is gone.
  ~Errands();
  Errands(const Errands&) = delete;
  Errands& operator=(const Errands&) = delete;

  /// Starts a process, on a thread of its own. If it cannot be started, its result says why.
  void begin(std::int64_t number, const Errand& errand);
  /// Counts a ^C for all that are under way. The first one asks them to end, the second one kills them.
  void interrupt() { ++interrupts_; }
  /// Returns those that have ended since the last call.
  std::vector<Done> take_done();
  bool any() const { return !threads_.empty(); }
  /// Returns a descriptor that is readable once take_done() has something to return.
  int fd() const { return wake_; }

 private:
  void run(std::int64_t number, const Errand& errand);

  const std::vector<std::string> command_;
  const std::function<void(const std::string& job)> prepare_;
  std::mutex preparing_;
  const int wake_;
  std::atomic<int> interrupts_{0};
  std::vector<std::pair<std::int64_t, std::thread>> threads_;
  std::mutex mutex_;
  std::vector<Done> done_;  // guarded by mutex_
};

}  // namespace hopbench
