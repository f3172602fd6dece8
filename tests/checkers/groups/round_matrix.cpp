// Averages within groups: every worker is in exactly one group of each round, and goes through the rounds in their
// order. Then the matrix of a round's weights is symmetric, doubly stochastic and idempotent.
#include <cmath>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class RoundMatrix : public Checker {
 public:
  /// Rounds are numbered first, first + step, ...
  RoundMatrix(const CheckedRun& run, Iter first, Iter step)
      : Checker("round_matrix"), next_(std::size_t(run.workers), first), step_(step) {}

  void on(const Event& event) override {
    if (event.what != EventKind::kReduced || std::size_t(event.rank) >= next_.size()) return;
    Iter& next = next_[std::size_t(event.rank)];
    if (event.iter != next) {
      fail(event.time, event.rank,
           "averaged in round " + std::to_string(event.iter) + ", its next one is " + std::to_string(next));
    }
    next = event.iter + step_;
    Round& round = rounds_[event.iter];
    round.weights.resize(next_.size(), std::vector<double>(next_.size(), 0.0));
    for (std::size_t i = 0; i < event.senders.size(); ++i) {
      round.weights[std::size_t(event.rank)][std::size_t(event.senders[i])] += double(event.weights[i]);
    }
    if (++round.rows < next_.size()) return;
    check(event, round.weights);
    rounds_.erase(event.iter);
  }

  void finish() override {
    for (const auto& [number, round] : rounds_) {
      fail(Time{}, 0, "only " + std::to_string(round.rows) + " workers averaged in round " + std::to_string(number));
    }
  }

 private:
  using Matrix = std::vector<std::vector<double>>;
  struct Round {
    Matrix weights;
    std::size_t rows = 0;
  };
  static bool same(double a, double b) { return std::abs(a - b) < 1e-5; }

  void check(const Event& event, const Matrix& w) {
    look();
    bool symmetric = true, stochastic = true, idempotent = true;
    for (std::size_t i = 0; i < w.size(); ++i) {
      double row = 0, column = 0;
      for (std::size_t j = 0; j < w.size(); ++j) {
        row += w[i][j];
        column += w[j][i];
        symmetric = symmetric && same(w[i][j], w[j][i]);
        double squared = 0;
        for (std::size_t m = 0; m < w.size(); ++m) squared += w[i][m] * w[m][j];
        idempotent = idempotent && same(squared, w[i][j]);
      }
      stochastic = stochastic && same(row, 1) && same(column, 1);
    }
    const std::string which = "the matrix of round " + std::to_string(event.iter) + " is not ";
    if (!symmetric) fail(event.time, event.rank, which + "symmetric");
    if (!stochastic) fail(event.time, event.rank, which + "doubly stochastic");
    if (!idempotent) fail(event.time, event.rank, which + "idempotent");
  }

  std::vector<Iter> next_;  // round, by worker
  Iter step_;
  std::map<Iter, Round> rounds_;
};

}  // namespace

CheckerPtr round_matrix(const CheckedRun& run, Iter first, Iter step) {
  return std::make_unique<RoundMatrix>(run, first, step);
}

}  // namespace hopbench::checkers
