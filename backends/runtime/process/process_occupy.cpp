// Pacing: keeps the device's time, with real arithmetic on cores that other ranks use too.
#include <sys/sysinfo.h>

#include <algorithm>
#include <utility>

#include "backends/base/error.h"
#include "backends/runtime/process/process_impl.h"
#include "backends/runtime/process/run_delay.h"

namespace hopbench {

using Impl = ProcessRuntime::Impl;

namespace {

/// Paced arithmetic begins after this share of its slot, because it only has to be done by the end. With fewer cores
/// than ranks it could otherwise hold a core that another rank needs to pass on a last message before it can begin
/// itself. 8 ranks on 2 cores then took 36 ms an iteration of ring all-reduce instead of 29, an effect of the machine.
/// The margin of a calibrated cost (1.25 x the 99th percentile) covers it.
constexpr double kHeadStart = 0.2;

/// Returns the share of the host's memory in use, caches included. Takes less than a microsecond.
double memory_in_use() {
  struct sysinfo info {};
  if (sysinfo(&info) != 0 || info.totalram == 0) return 0;
  return 1 - double(info.freeram) / double(info.totalram);
}

}  // namespace

/// One piece of work while it runs, without the baton.
class Impl::Slot {
 public:
  Slot(Impl& impl, const Work& work) : impl_(impl), work_(work), start_(impl.now()), end_(start_ + work.cost) {
    if (!impl.options_.pace && work.nominal.count() > 0 && work.cost > work.nominal) {
      drag_ = to_seconds(work.cost) / to_seconds(work.nominal) - 1;
    }
  }

  Occupied run() {
    const Duration delay_before = run_delay();
    if (impl_.options_.pace) impl_.sleep_until(start_ + scaled(work_.cost, kHeadStart));
    if (work_.job) work_.job([this](int i) { reached(i); });
    const Time done = impl_.now() - blocked_;
    delay_ = run_delay() - delay_before;
    computed_ = static_cast<int>(work_.milestones.size());
    if (impl_.options_.pace) {
      pass_milestones(true);
      impl_.sleep_until(end_);
      overrun_ = std::max(Duration{}, done - end_);
    } else {
      drag();
      pass_milestones(false);
    }
    const Duration took = impl_.now() - start_;
    return {.took = took,
            .late = std::min(blocked_, std::max(Duration{}, impl_.options_.pace ? took - work_.cost : took)),
            .overran = overrun_.count() > 0,
            .stolen = delay_,
            .memory = memory_in_use()};
  }

  /// Returns the run delay that the pace made harmless: all of it, except what pushed the work past its deadline.
  Duration absorbed() const { return impl_.options_.pace ? delay_ - std::min(delay_, overrun_) : Duration{}; }

 private:
  void reached(int i) {
    computed_ = std::max(computed_, i + 1);
    if (!impl_.options_.pace) drag();
    pass_milestones(false);
  }

  /// Runs the milestones whose results are complete. If paced, their time must have come, or be waited for.
  void pass_milestones(bool may_sleep) {
    for (; passed_ < computed_ && passed_ < static_cast<int>(work_.milestones.size()); ++passed_) {
      const Work::Milestone& milestone = work_.milestones[static_cast<std::size_t>(passed_)];
      if (impl_.options_.pace) {
        const Time due = start_ + scaled(work_.cost, milestone.at);
        if (impl_.now() < due && !may_sleep) return;
        impl_.sleep_until(due);
      }
      const Time asked = impl_.now();
      const std::lock_guard turn(impl_.baton_);
      if (impl_.stopping_) return;
      const Duration blocked = impl_.now() - asked;
      blocked_ += blocked;
      dragged_to_ += blocked;  // no arithmetic, so none of this time is slowed
      if (milestone.then) milestone.then();
      impl_.drain();
      impl_.let_others_look();
    }
  }

  /// Unpaced: makes a slowed rank take longer in proportion, piece by piece, so that its milestones are late too.
  void drag() {
    const Time here = impl_.now();
    if (drag_ > 0) impl_.sleep_until(here + scaled(here - dragged_to_, drag_));
    dragged_to_ = impl_.now();
  }

  Impl& impl_;
  const Work& work_;
  const Time start_, end_;
  double drag_ = 0;
  Time dragged_to_ = start_;
  int computed_ = 0, passed_ = 0;  // milestones whose results are complete; which have been run
  Duration delay_{}, overrun_{};
  Duration blocked_{};  // waits of its milestones, while another strand had the turn
};

Occupied Impl::occupy(const Work& work) {
  beat();
  if (!work.yields) return occupy_in_turn(work);
  if (asked_to_end_ && !stopping_) stop();
  if (stopping_) throw Stop{};
  ++computing_;
  show(Phase::kComputing);
  drain();
  let_others_look();
  pass_on_polling();
  Slot slot(*this, work);
  Occupied occupied;
  {
    struct Away {  // takes the baton back, however this ends
      Impl& impl;
      explicit Away(Impl& i) : impl(i) { impl.baton_.unlock(); }
      ~Away() {
        impl.baton_.lock();
        --impl.computing_;
        impl.show(Phase::kRunning);
      }
    } away(*this);
    occupied = slot.run();
  }
  absorbed_ += slot.absorbed();
  if (stopping_) throw Stop{};
  return occupied;
}

/// Called with the baton. The beats count as progress, or a long hang would be taken for a stall.
void Impl::hang_until(Time when) {
  constexpr Duration kBeat = std::chrono::milliseconds(100);
  while (now() < when && !stopping_ && !asked_to_end_) {
    beat();
    sleep_until(std::min(when, now() + kBeat));
  }
}

Occupied Impl::occupy_in_turn(const Work& work) {
  const Time start = now();
  if (work.hang) hang_until(start + work.cost);
  const auto reached = [](int) {};
  if (work.job) work.job(reached);
  if (work.cost > work.nominal && work.nominal.count() > 0)  // slowed
    sleep_until(start + scaled(now() - start, to_seconds(work.cost) / to_seconds(work.nominal)));
  for (const Work::Milestone& milestone : work.milestones) {
    if (milestone.then) milestone.then();
  }
  return {.took = now() - start};
}

}  // namespace hopbench
