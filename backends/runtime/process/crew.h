// The ranks of a trial in one place, as their launcher sees them: its own processes (LocalCrew), or processes that an
// agent on another machine started for it (backends/fleet).
//
// An example of a death: rank 3 of an agent's crew is killed. The LocalCrew there reaps it and reports it to the agent,
// which sends the rank's last slot and the wait status. The launcher's crew puts the slot on the launcher's board and
// calls `ended`. From there on all ranks are treated alike, wherever they were.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/base/local_place.h"
#include "backends/base/time.h"
#include "backends/runtime/links/link_emulator.h"
#include "backends/runtime/process/board.h"
#include "backends/runtime/process/control.h"

namespace hopbench {

struct CrewMember {
  int rank = 0;
  LocalPlace local = {};
};

struct CrewJob {
  std::vector<std::string> command;                      // argv of a rank. Empty command[0]: this very binary
  std::string job;                                       // handed to every rank
  int ranks = 1;                                         // of the trial, all crews together
  std::vector<CrewMember> members;                       // this crew's
  Duration check_every{std::chrono::milliseconds(500)};  // interval of the checks for stopped ranks (SIGSTOP)
  LinkEmulator* links = nullptr;                         // emulated links; nullptr: none
};

/// The receiver of a crew's events. It is called from within `start`, `step` and `put`.
class CrewEvents {
 public:
  virtual ~CrewEvents() = default;
  virtual void heard(int rank, ControlMessage message) = 0;
  /// The rank's process has ended and is reaped, after its last words; `status` is as in waitpid.
  virtual void ended(int rank, int status) = 0;
  /// The whole crew cannot be reached, and so these ranks, which had not ended, are lost.
  virtual void lost(const std::vector<int>& ranks, const std::string& why) = 0;
};

class Crew {
 public:
  virtual ~Crew() = default;
  /// Returns the machine's name for people; empty: this machine.
  virtual const std::string& host() const = 0;
  /// Returns true if its ranks can share memory, and a link emulator, with this process.
  virtual bool here() const = 0;

  /// Starts its members. The slots of their ranks on `board` show what they do, and their credits come from it. Board
  /// and events must outlive the trial. Throws Error if no process can be made.
  virtual void start(const CrewJob& job, Board& board, CrewEvents& events) = 0;
  /// Sends a message to a rank; times in it are on this process's CLOCK_MONOTONIC.
  virtual void put(int rank, const ControlMessage& message) = 0;
  virtual void kill_all() = 0;

  /// Adds the descriptors that are to be polled.
  virtual void watch(std::vector<pollfd>& wanted) const = 0;
  /// Returns true if a rank is about to end and no descriptor will report its death; then look again soon.
  virtual bool burial_ahead() const = 0;
  /// Handles what came; `polled` is what `watch` added.
  virtual void step(std::span<const pollfd> polled) = 0;
  virtual bool all_ended() const = 0;

  /// Ends the trial: kills and reaps all ranks that are left. Then `start` may be called again.
  virtual void dismiss() = 0;
};

/// Child processes, in groups of their own, that die with the thread that started them. `address`: where their
/// transport may listen; empty: loopback. `lent`: for a launcher on another machine, which is not to write files here.
class LocalCrew : public Crew {
 public:
  explicit LocalCrew(std::string address = "", bool lent = false);
  ~LocalCrew() override;

  const std::string& host() const override { return host_; }
  bool here() const override { return true; }
  void start(const CrewJob& job, Board& board, CrewEvents& events) override;
  void put(int rank, const ControlMessage& message) override;
  void kill_all() override;
  void watch(std::vector<pollfd>& wanted) const override;
  bool burial_ahead() const override;
  void step(std::span<const pollfd> polled) override;
  bool all_ended() const override;
  void dismiss() override;

 private:
  struct Member {
    int rank = 0;
    pid_t pid = -1;
    std::unique_ptr<ControlChannel> channel;
    bool reaped = false, hung_up = false;
  };
  Member start_one(const CrewMember& member, const CrewJob& job);
  void read(Member& member);
  void reap(Member& member);
  void check_stopped();

  const std::string host_;
  const std::string address_;
  const bool lent_;
  std::vector<Member> members_;
  Board* board_ = nullptr;
  CrewEvents* events_ = nullptr;
  bool killed_ = false;
  Duration check_every_{};
  std::chrono::steady_clock::time_point checked_{};
};

}  // namespace hopbench
