// The iteration gap, by configuration (the gap table of Hop's reading):
//
//   update queues only, standard; D-PSGD   len(j->i)
//   NOTIFY-ACK                             min(len(j->i), 2 len(i->j))
//   update and token queues, standard      min(len(j->i), max_ig len(i->j))
//   backup workers and tokens              max_ig len(i->j)
//   staleness s, no tokens                 (s+1) len(j->i)
//   staleness s and tokens                 min((s+1) len(j->i), max_ig len(i->j))
//
// is what Iter(i) - Iter(j) never exceeds, after every event, over live workers i and j. Backup workers without tokens
// are unbounded. A jump lands behind every out-neighbour, so where the graph is undirected the table holds with
// skipping too; on a directed graph a jump may pass an in-neighbour, and only the tokens' bound is left.
#include <algorithm>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class GapBound : public Checker {
 public:
  explicit GapBound(const CheckedRun& run) : Checker("gap_bound"), graph_(run), at_(std::size_t(run.workers), 0) {
    const std::string control = run.text("gap_control");
    const std::int64_t stale = run.integer("staleness"), backup = run.integer("backup");
    const bool jumps = run.integer("max_jump") > 1;
    if (backup == 0 && (!jumps || graph_.undirected())) per_step_in_ = stale + 1;
    if (control == "tokens") per_step_out_ = run.integer("max_ig");
    if (control == "notify_ack") per_step_out_ = 2;
  }

  void on(const Event& event) override {
    if (event.rank >= graph_.size()) return;
    if (event.what == EventKind::kFinished) graph_.remove(event.rank);
    if (event.what != EventKind::kEnter) return;
    at_[std::size_t(event.rank)] = event.iter;
    for (int j = 0; j < graph_.size(); ++j) check(event, j);
  }

 private:
  void check(const Event& event, int j) {
    const int i = event.rank;
    const std::int64_t there = graph_.distance(i, j), back = graph_.distance(j, i);
    std::int64_t bound = Graph::kFar;
    if (per_step_in_ > 0) bound = std::min(bound, per_step_in_ * back);
    if (per_step_out_ > 0) bound = std::min(bound, per_step_out_ * there);
    if (j == i || bound >= Graph::kFar) return;
    look();
    const Iter gap = event.iter - at_[std::size_t(j)];
    if (gap > bound) {
      fail(event.time, i,
           "is " + std::to_string(gap) + " iterations ahead of rank " + std::to_string(j) + ", allowed are " +
               std::to_string(bound));
    }
  }

  Graph graph_;
  std::vector<Iter> at_;
  std::int64_t per_step_in_ = 0;   // times len(j->i); 0: no such bound
  std::int64_t per_step_out_ = 0;  // times len(i->j); 0: no such bound
};

class LeadBound : public Checker {
 public:
  LeadBound(const CheckedRun& run, Iter bound)
      : Checker("lead_bound"), at_(std::size_t(run.workers), 0), live_(std::size_t(run.workers), 1), bound_(bound) {}

  void on(const Event& event) override {
    if (std::size_t(event.rank) >= at_.size()) return;
    if (event.what == EventKind::kFinished) live_[std::size_t(event.rank)] = 0;
    if (event.what != EventKind::kEnter) return;
    at_[std::size_t(event.rank)] = event.iter;
    live_[std::size_t(event.rank)] = 1;
    look();
    for (std::size_t j = 0; j < at_.size(); ++j) {
      if (live_[j] && event.iter - at_[j] > bound_) {
        fail(event.time, event.rank,
             "entered " + std::to_string(event.iter) + " with rank " + std::to_string(j) + " still at " +
                 std::to_string(at_[j]) + ", allowed is a lead of " + std::to_string(bound_));
      }
    }
  }

 private:
  std::vector<Iter> at_;
  std::vector<char> live_;
  Iter bound_;
};

}  // namespace

CheckerPtr gap_bound(const CheckedRun& run) { return std::make_unique<GapBound>(run); }
CheckerPtr lead_bound(const CheckedRun& run, Iter bound) { return std::make_unique<LeadBound>(run, bound); }

}  // namespace hopbench::checkers
