// The crew behind an agent's connection. Internal to backends/fleet.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/fleet/errand.h"
#include "backends/runtime/process/crew.h"

namespace hopbench {

class RemoteCrew : public Crew {
 public:
  /// `number`: the number of the process in the run. `host`: its name for people. `here`: it is on this machine.
  /// `interrupted` is called when the agent is asked to end.
  RemoteCrew(std::unique_ptr<ControlChannel> channel, int number, std::string host, bool here,
             std::function<void()> interrupted);

  /// Measures the offset of the agent's clock from this one. Throws Error(kEnvironment) if it does not answer.
  void synchronise();
  std::int64_t clock_offset_ns() const { return offset_ns_; }
  std::int64_t clock_error_ns() const { return error_ns_; }
  void say_bye(int exit_code);

  /// Gives the agent an errand (errand.h). Its result comes through `step`.
  void begin_errand(std::int64_t number, const Errand& errand);
  /// Counts a ^C for its errands.
  void interrupt_errands();
  std::size_t errands() const { return errands_; }
  /// Returns the errands that have ended since the last call, with their results.
  std::vector<std::pair<std::int64_t, LaunchResult>> take_done() { return std::exchange(done_, {}); }
  const std::string& why_lost() const { return lost_; }

  const std::string& host() const override { return host_; }
  bool here() const override { return here_; }
  void start(const CrewJob& job, Board& board, CrewEvents& events) override;
  void put(int rank, const ControlMessage& message) override;
  void kill_all() override;
  void watch(std::vector<pollfd>& wanted) const override;
  bool burial_ahead() const override { return false; }
  void step(std::span<const pollfd> polled) override;
  bool all_ended() const override { return alive_.empty(); }
  void dismiss() override;

 private:
  void hear(const ControlMessage& message);
  void give_credits(std::int64_t wanted);
  void pass_on(const ControlMessage& message);
  void finish_errand(const ControlMessage& message);
  void lose(const std::string& why);
  std::string who() const;  // "process 2 (node7)"
  bool await(ControlType type, ControlMessage& message);

  const std::unique_ptr<ControlChannel> channel_;
  const int number_;
  const std::string host_;
  const bool here_;
  const std::function<void()> interrupted_;
  std::string lost_;  // why it was lost; empty: it is there
  std::int64_t offset_ns_ = 0, error_ns_ = 0;

  std::size_t errands_ = 0;  // number of errands under way
  std::vector<std::pair<std::int64_t, LaunchResult>> done_;

  // State of the trial.
  bool busy_ = false;
  std::vector<int> alive_;
  Board* board_ = nullptr;
  CrewEvents* events_ = nullptr;
  std::chrono::steady_clock::time_point heard_{};
};

}  // namespace hopbench
