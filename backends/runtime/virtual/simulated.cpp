#include "backends/runtime/virtual/simulated.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/base/ran_out.h"
#include "backends/base/record/event.h"
#include "backends/runtime/virtual/simulated_impl.h"

namespace hopbench {
namespace {

// If this number of deadlines in a row comes with no message, work or action on the way, the run polls for ever.
constexpr std::int64_t kIdleLimit = 1'000'000;

/// Returns the time with at least milliseconds, and with finer digits if it has them.
std::string seconds_text(std::int64_t ns) {
  const int digits = ns % 1'000'000 == 0 ? 3 : ns % 1000 == 0 ? 6 : 9;
  return fmt::format("{:.{}f} s", static_cast<double>(ns) * 1e-9, digits);
}

}  // namespace

Simulation::Impl::Impl(const SimulationOptions& options, Simulation& self)
    : options_(options),
      pool_(options.threads),
      self_(self),
      schedule_({.seed = options.shuffle, .purpose = Purpose::kSchedule}) {
  if (!strand_kind_available(options_.strands)) options_.strands = StrandKind::kThreads;
  for (int r = 0; r < options.ranks; ++r) {
    ranks_.push_back(std::make_unique<SimRank>(*this, r));
    ranks_.back()->observer = options.observer;
  }
}

Simulation::Impl::~Impl() = default;

void Simulation::Impl::connect(int a, int b) {
  connected_ = true;
  const auto add = [this](int of, int peer) {
    std::vector<int>& peers = ranks_[static_cast<std::size_t>(of)]->peers_;
    const auto at = std::lower_bound(peers.begin(), peers.end(), peer);
    if (at == peers.end() || *at != peer) peers.insert(at, peer);
  };
  if (a == b) return;
  add(a, b);
  add(b, a);
}

void Simulation::Impl::start(int r, std::function<void()> body, bool must_finish) {
  SimRank& rank = *ranks_.at(static_cast<std::size_t>(r));
  HB_ASSERT_MSG(!rank.started_, "a rank with two bodies");
  rank.started_ = true;
  rank.must_finish_ = must_finish;
  new_strand(r, std::move(body), true);
}

SimStrand& Simulation::Impl::new_strand(int rank, std::function<void()> body, bool is_body) {
  if (free_strands_.empty()) {
    strands_.push_back(std::make_unique<SimStrand>());
    strands_.back()->id = static_cast<std::uint32_t>(strands_.size() - 1);
    free_strands_.push_back(strands_.back().get());
  }
  SimStrand& strand = *free_strands_.back();
  free_strands_.pop_back();
  strand.state = SimStrand::State::kNew;
  strand.rank = rank;
  strand.is_body = is_body;
  strand.stop = false;
  strand.since = now_;
  strand.strand = make_strand(
      options_.strands,
      [this, rank, run = std::move(body)] {
        try {
          run();
        } catch (const Stop&) {
        } catch (...) {
          fail(rank, std::current_exception());
        }
      },
      options_.stack_bytes);
  ranks_[static_cast<std::size_t>(rank)]->strands_.push_back(&strand);
  return strand;
}

// --- Events

void Simulation::Impl::push(SimEvent event) {
  if (event.what != SimEventKind::kDeadline && event.what != SimEventKind::kKill) ++live_;
  const bool permuted =
      event.what == SimEventKind::kStart || event.what == SimEventKind::kWake || event.what == SimEventKind::kDeadline;
  if (options_.shuffle != 0 && permuted) event.tie = schedule_.next_u32();
  queue_.push(event);
}

bool Simulation::Impl::stale(const SimEvent& event) const {
  if (event.what != SimEventKind::kWake && event.what != SimEventKind::kDeadline) return false;
  const SimStrand& strand = *strands_[event.index];
  const bool waits = strand.state == SimStrand::State::kAwait || strand.state == SimStrand::State::kOccupied;
  return !waits || strand.wait != event.wait;
}

void Simulation::Impl::begin() {
  if (network_ == nullptr) network_ = make_instant_network(self_);
  for (const auto& rank : ranks_) {
    HB_ASSERT_MSG(rank->started_, "a rank without a body");
    if (rank->must_finish_) ++unfinished_;
    if (!connected_) {
      for (int peer = 0; peer < options_.ranks; ++peer) {
        if (peer != rank->rank_) rank->peers_.push_back(peer);
      }
    }
    push({.what = SimEventKind::kStart, .index = static_cast<std::uint32_t>(rank->rank_)});
  }
}

void Simulation::Impl::run() {
  begin();
  try {
    loop();
  } catch (...) {
    if (!failure_) failure_ = std::current_exception();
  }
  stop_everything();
  if (failure_) std::rethrow_exception(failure_);
}

void Simulation::Impl::loop() {
  while (!failure_) {
    if (unfinished_ == 0 && live_ == 0) {
      if (!stop_servers()) return;
      continue;
    }
    idle_ = live_ == 0 ? idle_ + 1 : 0;
    if (queue_.empty() || idle_ > kIdleLimit) throw trial_error(deadlock_report());
    const SimEvent event = queue_.pop();
    if (event.what != SimEventKind::kDeadline && event.what != SimEventKind::kKill) --live_;
    if (stale(event)) continue;
    if (event.time > kClockEnd) throw trial_error(clock_end_report());
    now_ = event.time;
    ++events_run_;
    touched_ = false;
    dispatch(event);
    if (!touched_) continue;
    last_turn_ = now_;
    if (options_.observer != nullptr && !failure_) options_.observer->settled(now_);
  }
}

void Simulation::Impl::dispatch(const SimEvent& event) {
  switch (event.what) {
    case SimEventKind::kStart:
      return give_turns(*ranks_[event.index]);
    case SimEventKind::kDeliver:
      return deliver(event.index);
    case SimEventKind::kWake:
    case SimEventKind::kDeadline:
      strands_[event.index]->due = true;
      return give_turns(*ranks_[static_cast<std::size_t>(strands_[event.index]->rank)]);
    case SimEventKind::kAction: {
      const std::function<void()> action = actions_.take(event.index);
      return action();
    }
    case SimEventKind::kKill:
      return kill(*ranks_[event.index]);
  }
}

// --- Turns

void Simulation::Impl::give_turns(SimRank& rank) {
  while (!failure_) {
    SimStrand* strand = next(rank);
    if (strand == nullptr) return;
    resume(*strand);
  }
}

SimStrand* Simulation::Impl::next(SimRank& rank) {
  if (rank.holder_ != nullptr) return rank.holder_->due ? rank.holder_ : nullptr;
  for (SimStrand* strand : rank.strands_) {
    if (can_run(*strand)) return strand;
  }
  return nullptr;
}

bool Simulation::Impl::can_run(SimStrand& strand) {
  switch (strand.state) {
    case SimStrand::State::kNew:
      return true;
    case SimStrand::State::kOccupied:
      return strand.due;
    case SimStrand::State::kAwait:
      try {
        strand.outcome = (*strand.ready)();
      } catch (...) {
        strand.thrown = std::current_exception();
        return true;
      }
      return strand.outcome || strand.due;
    case SimStrand::State::kFree:
    case SimStrand::State::kRunning:
      break;
  }
  return false;
}

void Simulation::Impl::resume(SimStrand& strand) {
  touched_ = true;
  strand.state = SimStrand::State::kRunning;
  SimStrand* const outer = std::exchange(running_, &strand);
  strand.strand->resume();
  while (strand.job != nullptr) {
    pool_.run_here(*std::exchange(strand.job, nullptr));
    strand.strand->resume();
  }
  running_ = outer;
  if (strand.strand->done()) ended(strand);
}

void Simulation::Impl::ended(SimStrand& strand) {
  SimRank& rank = *ranks_[static_cast<std::size_t>(strand.rank)];
  std::erase(rank.strands_, &strand);
  strand.strand.reset();
  strand.state = SimStrand::State::kFree;
  free_strands_.push_back(&strand);
  if (strand.is_body) body_ended(rank);
}

void Simulation::Impl::body_ended(SimRank& rank) {
  rank.body_returned_ = true;
  if (rank.must_finish_) --unfinished_;
  if (!rank.dead_) say_to_peers(rank, kBye);
}

void Simulation::Impl::fail(int rank, std::exception_ptr error) {
  if (failure_) return;
  const std::string who = fmt::format("rank {}", rank);
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    const bool says_who = std::string_view(e.what()).starts_with(who + " ");
    failure_ = std::make_exception_ptr((says_who ? e : e.in(who)).as(e.kind(), rank));
  } catch (const std::exception& e) {
    const Failure failure = failure_of(e);
    failure_ = std::make_exception_ptr(trial_error(who + ": " + failure.text).as(failure.kind, rank));
  } catch (...) {
    failure_ = std::make_exception_ptr(trial_error(who + " threw something that is not an exception"));
  }
}

// --- Ends

void Simulation::Impl::stop(SimStrand& strand) {
  SimRank& rank = *ranks_[static_cast<std::size_t>(strand.rank)];
  if (rank.holder_ == &strand) rank.holder_ = nullptr;
  strand.stop = true;
  if (strand.state == SimStrand::State::kNew) {
    touched_ = true;
    ended(strand);
    return;
  }
  resume(strand);
  HB_ASSERT_MSG(strand.state == SimStrand::State::kFree, "a strand waits although it was stopped");
}

bool Simulation::Impl::stop_servers() {
  bool any = false;
  for (const auto& rank : ranks_) {
    if (rank->body_returned_ || rank->dead_) continue;
    any = true;
    const auto is_body = [](const SimStrand* s) { return s->is_body; };
    stop(**std::find_if(rank->strands_.begin(), rank->strands_.end(), is_body));
    give_turns(*rank);
  }
  if (any && options_.observer != nullptr && !failure_) options_.observer->settled(now_);
  return any;
}

void Simulation::Impl::stop_everything() {
  stopping_ = true;
  for (const auto& rank : ranks_) {
    while (!rank->strands_.empty()) stop(*rank->strands_.front());
  }
}

void Simulation::Impl::kill(SimRank& rank) {
  if (rank.dead_ || rank.body_returned_) return;
  if (before_kill_) before_kill_(rank.rank_);
  rank.dead_ = true;
  while (!rank.strands_.empty()) stop(*rank.strands_.front());
  touched_ = true;
  say_to_peers(rank, kGone);
}

std::string Simulation::Impl::deadlock_report() const {
  return fmt::format("deadlock at t={}", seconds_text(last_turn_.time_since_epoch().count())) + under_way();
}

std::string Simulation::Impl::clock_end_report() const {
  return fmt::format(
             "virtual time would go past the end of its clock, {:.0f} years, after t={}: something in the suite takes "
             "too long: look at its slowdowns, pace, bandwidths and latencies",
             to_seconds(kClockEnd) / (365 * 24 * 3600.0), seconds_text(last_turn_.time_since_epoch().count())) +
         under_way();
}

std::string Simulation::Impl::under_way() const {
  std::string at_work, waiting;
  for (const auto& rank : ranks_) {
    for (const SimStrand* strand : rank->strands_) {
      const bool works = strand->state == SimStrand::State::kOccupied;
      std::string& report = works ? at_work : waiting;
      report += fmt::format("\n  rank {} {}{}, for {}", rank->rank_, works ? "is at work" : "waits for ",
                            works ? "" : strand->why, seconds_text((last_turn_ - strand->since).count()));
      if (describe_) report += ": " + describe_(rank->rank_);
    }
  }
  return at_work + waiting;
}

// --- The interface

Simulation::Simulation(const SimulationOptions& options) : impl_(std::make_unique<Impl>(options, *this)) {}
Simulation::~Simulation() = default;

void Simulation::use(std::unique_ptr<Network> network) { impl_->network_ = std::move(network); }
void Simulation::connect(int a, int b) { impl_->connect(a, b); }
Runtime& Simulation::rank(int r) { return *impl_->ranks_.at(static_cast<std::size_t>(r)); }
void Simulation::start(int r, std::function<void()> body, bool must_finish) {
  impl_->start(r, std::move(body), must_finish);
}
void Simulation::run() { impl_->run(); }
void Simulation::kill(int r, Time when) {
  impl_->push({.time = std::max(when, now()), .what = SimEventKind::kKill, .index = static_cast<std::uint32_t>(r)});
}
void Simulation::before_kill(std::function<void(int)> tell) { impl_->before_kill_ = std::move(tell); }
void Simulation::describe_with(std::function<std::string(int)> describe) { impl_->describe_ = std::move(describe); }
Time Simulation::now() const { return impl_->now_; }
void Simulation::at(Time when, std::function<void()> action) {
  impl_->push(
      {.time = std::max(when, now()), .what = SimEventKind::kAction, .index = impl_->add_action(std::move(action))});
}
std::int64_t Simulation::events_run() const { return impl_->events_run_; }
std::int64_t Simulation::messages_delivered() const { return impl_->messages_delivered_; }

}  // namespace hopbench
