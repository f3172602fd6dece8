// A worker enters its iterations from 0 on, one by one; a jump is at most max_jump long and only where skipping is on.
// Under a stop rule by iterations everybody enters all who neither dies nor leaves early, and nobody a later one than
// the end; under credits some may have got none.
#include <string_view>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class EnterOrder : public Checker {
 public:
  explicit EnterOrder(const CheckedRun& run)
      : Checker("enter_order"),
        workers_(run.workers),
        end_(run.iterations),
        longest_(std::max<Iter>(1, run.integer("max_jump"))),
        at_(std::size_t(run.workers), -1),
        early_(run.leave_early),
        when_(std::size_t(run.workers + run.servers)) {}

  void on(const Event& event) override {
    if (std::size_t(event.rank) >= when_.size()) return fail(event.time, event.rank, "is no rank of this trial");
    Time& last = when_[std::size_t(event.rank)];
    if (event.time < last) fail(event.time, event.rank, "its clock went back");
    last = event.time;
    if (is_death(event)) early_.insert(event.rank);
    if (event.what == EventKind::kFault && event.text == std::string_view("return")) back_.insert(event.rank);
    if (event.what != EventKind::kEnter || event.rank >= workers_) return;
    look();
    Iter& at = at_[std::size_t(event.rank)];
    const Iter step = event.iter - at;
    const bool first = at<0, back = back_.erase(event.rank)> 0;  // under a clock it may have missed some
    if (back ? step < 1 : first ? event.iter != 0 : (step < 1 || step > longest_)) {
      fail(event.time, event.rank, "entered " + std::to_string(event.iter) + " after " + std::to_string(at));
    }
    if (end_ > 0 && event.iter > end_) {
      fail(event.time, event.rank, "entered " + std::to_string(event.iter) + ", the end is " + std::to_string(end_));
    }
    at = event.iter;
  }

  void finish() override {
    for (std::size_t i = 0; i < at_.size(); ++i) {
      if (end_ == 0 || at_[i] + 1 >= end_ || early_.count(int(i)) != 0) continue;
      if (back_.count(int(i)) != 0) continue;  // it returned when the others had done the last iteration
      fail(Time{}, int(i),
           at_[i] < 0 ? std::string("never entered iteration 0") : "ended in iteration " + std::to_string(at_[i]));
    }
  }

 private:
  int workers_;
  Iter end_, longest_;
  std::vector<Iter> at_;
  std::set<int> early_;  // are lost before the end
  std::set<int> back_;   // have been away, and entered no iteration since
  std::vector<Time> when_;
};

}  // namespace

CheckerPtr enter_order(const CheckedRun& run) { return std::make_unique<EnterOrder>(run); }

}  // namespace hopbench::checkers
