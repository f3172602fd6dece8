// A page of memory shared by the launcher and the ranks of a real trial: the state of each rank, and the credits.
// Written without system calls in the hot path. The launcher reads it for progress, stalls and post-mortems. It is
// anonymous (memfd), so nothing is left behind, however a process dies.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "backends/runtime/budget.h"

namespace hopbench {

enum class Phase : std::int32_t {
  kStarting,
  kConnecting,
  kReady,
  kComputing,
  kWaiting,
  kRunning,
  kFinished,
  kEvaluating,
  kDone
};
const char* to_string(Phase phase);

struct RankSlot {
  std::atomic<Phase> phase{Phase::kStarting};
  std::atomic<std::int64_t> iteration{-1};
  std::atomic<std::int64_t> beats{0};  // rises with everything the rank does
  std::atomic<float> loss{0};
  std::atomic<std::int64_t> samples{0};  // samples of the gradients that it has computed
  std::atomic<std::int64_t> since{0};    // CLOCK_MONOTONIC in ns: start of its wait, or of what `phase` says
  std::atomic<bool> stopped{false};      // by SIGSTOP; the launcher or agent checks this
  /// The time on the trial's clock at which the rank kills itself because its scenario says so; -1: it does not.
  std::atomic<std::int64_t> crashed_ns{-1};
  char waiting_for[64] = {};  // the last reason; may be torn, for people only
  char silent[64] = {};       // ranks silent since that wait began, once it has lasted a second; likewise
};

class Board {
 public:
  /// Creates a board (launcher) and keeps the descriptor open for children to inherit.
  static std::unique_ptr<Board> create(int ranks, std::int64_t credits);
  /// Creates a board for an agent, which is given credits bit by bit.
  static std::unique_ptr<Board> create_elsewhere(int ranks, std::int64_t credits);
  /// Maps the board behind an inherited descriptor (rank), and owns the descriptor from then on.
  static std::unique_ptr<Board> attach(int fd, int ranks);
  ~Board();

  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  int fd() const { return fd_; }
  int ranks() const { return ranks_; }
  RankSlot& slot(int rank);
  const RankSlot& slot(int rank) const { return const_cast<Board*>(this)->slot(rank); }
  Credits& credits();

 private:
  Board(int fd, int ranks);  // owns fd
  void map();

  const int fd_;
  const int ranks_;
  const std::size_t bytes_;
  void* memory_ = nullptr;
};

}  // namespace hopbench
