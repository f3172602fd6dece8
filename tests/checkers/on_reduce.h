// The common part of checkers of Hop's and D-PSGD's averages: each Reduce of a worker, where the worker is, and
// whether it has just got there by a jump.
#pragma once

#include <string>
#include <vector>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {

class OnReduce : public Checker {
 public:
  OnReduce(std::string name, const CheckedRun& run)
      : Checker(std::move(name)), graph_(run), workers_(std::size_t(run.workers)) {}

  void on(const Event& event) override {
    if (event.rank >= graph_.size()) return;
    Worker& worker = workers_[std::size_t(event.rank)];
    if (event.what == EventKind::kFinished) worker.finished = true;
    if (event.what == EventKind::kEnter) {
      worker.jumped = worker.at >= 0 && event.iter > worker.at + 1;
      worker.at = event.iter;
    }
    if (event.what == EventKind::kReduced) {
      look();
      reduced(event, worker);
      worker.jumped = false;
    }
  }

 protected:
  struct Worker {
    Iter at = -1;
    bool jumped = false, finished = false;
  };
  virtual void reduced(const Event& event, const Worker& worker) = 0;

  const Graph& graph() const { return graph_; }
  const Worker& state(int rank) const { return workers_[std::size_t(rank)]; }

 private:
  Graph graph_;
  std::vector<Worker> workers_;
};

}  // namespace hopbench::checkers
