// The machines of a run, as its launcher sees them: a crew for each process that mpirun, srun, a Kubernetes Job or ssh
// started (backends/fleet/agent.h), including process 0.
//
// An example of a run: mpirun starts four processes. Process 0 listens, leaves an invitation at the meeting point and
// waits. Processes 1, 2 and 3 find it, connect, send the token and introduce themselves. When all are there, process 0
// stops listening, measures the offsets of their clocks from its own, and runs the suite. For each trial, launch()
// starts rank 2 through the crew of process 2, whose agent forks it there. Rank 2's transport learns through the same
// connection where rank 0 listens.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/base/time.h"
#include "backends/fleet/agent.h"
#include "backends/fleet/errand.h"
#include "backends/fleet/meeting_point.h"
#include "backends/fleet/placing.h"

namespace hopbench {

class Crew;

struct FleetOptions {
  int size = 1;                                  // number of processes, including this one
  Introduction about = {};                       // of this process, without token
  std::vector<int> slots = {};                   // see Places
  bool one_machine = false;                      // all of them are on this machine: listens on loopback
  std::string interface = {};                    // the one whose address to listen on and to announce; empty: all
  Duration timeout{std::chrono::seconds(30)};    // for all processes to come
  std::function<void()> interrupted = {};        // called when an agent is asked to end
  const std::atomic<int>* interrupts = nullptr;  // of this process; ends the waiting
};

/// A process of the run.
struct FleetMember {
  std::string machine, address;  // its name, and the address where its ranks listen; empty: loopback
  int host = 0;                  // machines are numbered in the order of their first processes
  std::int64_t clock_offset_ns = 0,
               clock_error_ns = 0;  // its CLOCK_MONOTONIC minus that of process 0; largest error of that
  std::string context;              // JSON
};

/// An errand that has ended.
struct EndedErrand {
  int process = 0;
  std::int64_t number = 0;
  LaunchResult result;
};

class Fleet {
 public:
  /// Waits until all processes are there. Throws Error(kEnvironment), naming the processes that are missing, or the one
  /// that it cannot take and why; or Error(kInterrupted).
  static std::unique_ptr<Fleet> gather(const FleetOptions& options, MeetingPoint& meeting);
  /// Tells the agents that the run is over.
  virtual ~Fleet() = default;

  virtual const std::vector<FleetMember>& members() const = 0;
  virtual Crew& crew(int number) = 0;
  /// Sets the exit code that the agents end with.
  virtual void set_exit_code(int code) = 0;

  /// Gives an errand to the agent of a process other than 0. `number` identifies it among all errands of the run. One
  /// thread at a time may call the functions on errands, and no trial may have ranks in a remote crew meanwhile.
  virtual void begin_errand(int process, std::int64_t number, const Errand& errand) = 0;
  /// Waits until an errand ends or an agent is lost, but not longer than `patience`. Returns the errands that have
  /// ended.
  virtual std::vector<EndedErrand> await_errands(Duration patience) = 0;
  /// Counts a ^C for all errands: the first one asks them to end, the second one kills them.
  virtual void interrupt_errands() = 0;
  /// Returns why the agent of a process other than 0 was lost, and with it the errands that it had; "" if it is there.
  virtual const std::string& why_lost(int process) const = 0;

  int size() const { return static_cast<int>(members().size()); }
  virtual Places places() const = 0;
  /// Returns the number of machines.
  int hosts() const;
};

}  // namespace hopbench
