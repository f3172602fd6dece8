// The five methods of the seam in virtual time, as strands call them. The other side of each switch is in
// simulated.cpp.
#include <algorithm>

#include "backends/runtime/virtual/simulated_impl.h"

namespace hopbench {
namespace {

/// The arithmetic of one occupy. It refers to the strand's frame, so it ends before that frame does.
class Arithmetic {
 public:
  Arithmetic(JobPool& pool, const Work& work)
      : pool_(pool), job_([&work] { work.job([](int) {}); }) {}  // milestones have their times, so `reached` is ignored
  ~Arithmetic() {
    if (started_) pool_.wait(job_);
  }
  Job& job() { return job_; }
  void started() { started_ = true; }
  /// Throws what the job threw.
  void join() {
    if (std::exchange(started_, false)) pool_.join(job_);
  }

 private:
  JobPool& pool_;
  Job job_;
  bool started_ = false;
};

}  // namespace

SimStrand& SimRank::running() {
  SimStrand* strand = simulation_.running_;
  HB_ASSERT_MSG(strand != nullptr && strand->rank == rank_, "a blocking call from outside the rank's own strands");
  if (strand->stop) throw Stop{};
  return *strand;
}

Time SimRank::now() const { return simulation_.now_; }

void SimRank::post(int to, Message message) { simulation_.post(*this, to, std::move(message)); }

void SimRank::spawn(std::function<void()> strand) {
  if (dead_ || simulation_.stopping_) return;
  simulation_.new_strand(rank_, std::move(strand), false);
}

bool SimRank::await(const Ready& ready, Time deadline, const char* why, int /*messages*/) {
  SimStrand& self = running();
  if (ready()) return true;
  if (deadline < simulation_.now_) return false;  // one that is now lets all else of this instant happen first
  self.ready = &ready;
  begin_wait(self, SimStrand::State::kAwait, why);
  queue_last(self);
  if (deadline != kNever)
    simulation_.push({.time = deadline, .what = SimEventKind::kDeadline, .index = self.id, .wait = self.wait});
  self.strand->suspend();
  if (self.stop) throw Stop{};
  if (self.thrown) std::rethrow_exception(std::exchange(self.thrown, nullptr));
  return self.outcome;
}

Occupied SimRank::occupy(Work work) {
  SimStrand& self = running();
  const Time start = simulation_.now_;
  Arithmetic arithmetic(simulation_.pool_, work);
  if (work.job) {
    start_job(self, arithmetic.job(), work.yields);  // throws if the pool's threads cannot be started
    arithmetic.started();
  }
  if (!work.yields) {
    arithmetic.join();
    hold_turn(self, start + work.cost);
    return {.took = simulation_.now_ - start};
  }
  for (const Work::Milestone& milestone : work.milestones) {
    yield_until(self, start + scaled(work.cost, milestone.at));
    arithmetic.join();
    if (milestone.then) milestone.then();
  }
  if (work.milestones.empty() || simulation_.now_ < start + work.cost) yield_until(self, start + work.cost);
  arithmetic.join();
  const Duration took = simulation_.now_ - start;
  return {.took = took, .late = took - work.cost};
}

void SimRank::start_job(SimStrand& self, Job& job, bool may_run_elsewhere) {
  if (may_run_elsewhere && simulation_.options_.threads > 1) {
    simulation_.pool_.start(job);
    return;
  }
  self.job = &job;
  self.strand->suspend();  // resumed at once, after the job
}

void SimRank::begin_wait(SimStrand& self, SimStrand::State state, const char* why) {
  self.state = state;
  self.why = why;
  self.since = simulation_.now_;
  self.due = false;
  ++self.wait;
}

void SimRank::queue_last(SimStrand& self) {
  const auto at = std::find(strands_.begin(), strands_.end(), &self);
  std::rotate(at, at + 1, strands_.end());
}

void SimRank::yield_until(SimStrand& self, Time when) {
  queue_last(self);
  wait_until(self, when);
}

void SimRank::hold_turn(SimStrand& self, Time until) {
  if (until <= simulation_.now_) return;
  holder_ = &self;
  wait_until(self, until);
  holder_ = nullptr;
}

void SimRank::wait_until(SimStrand& self, Time when) {
  begin_wait(self, SimStrand::State::kOccupied, "the end of its work");
  simulation_.push(
      {.time = std::max(when, simulation_.now_), .what = SimEventKind::kWake, .index = self.id, .wait = self.wait});
  self.strand->suspend();
  if (self.stop) throw Stop{};
}

}  // namespace hopbench
