#include "backends/runtime/process/process.h"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "backends/base/error.h"
#include "backends/base/record/event.h"
#include "backends/runtime/message_event.h"
#include "backends/runtime/process/process_impl.h"
#include "backends/runtime/process/run_delay.h"

namespace hopbench {
namespace {

constexpr Duration kLongWait = std::chrono::seconds(1);    // then silent peers are looked for again
constexpr Duration kNap = std::chrono::milliseconds(100);  // the longest sleep in which an early end goes unnoticed

std::int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

ProcessRuntime::ProcessRuntime(const ProcessOptions& options, Wire& wire)
    : impl_(std::make_unique<Impl>(options, wire, *this)) {}
ProcessRuntime::~ProcessRuntime() = default;

void ProcessRuntime::run(std::function<void()> body, bool must_finish) { impl_->run(body, must_finish); }
void ProcessRuntime::end() { impl_->end(); }
Time ProcessRuntime::now() const { return impl_->now(); }
void ProcessRuntime::post(int to, Message message) { impl_->post(to, std::move(message)); }
bool ProcessRuntime::await(const Ready& ready, Time deadline, const char* why, int messages) {
  return impl_->await(ready, deadline, why, messages);
}
Occupied ProcessRuntime::occupy(Work work) { return impl_->occupy(work); }
void ProcessRuntime::spawn(std::function<void()> strand) { impl_->spawn(std::move(strand)); }
Duration ProcessRuntime::contended() const { return impl_->contended(); }
Duration ProcessRuntime::waited_for_cores() const { return impl_->waited_for_cores(); }

using Impl = ProcessRuntime::Impl;

Impl::Impl(const ProcessOptions& options, Wire& wire, Runtime& runtime)
    : options_(options),
      start_ns_(options.start_monotonic_ns != 0 ? options.start_monotonic_ns : monotonic_ns()),
      wire_(wire),
      runtime_(runtime),
      tap_(options.slot, options.observer) {
  if (options.slot != nullptr || options.observer != nullptr) runtime_.observer = &tap_;
  const int last = options.peers.empty() ? 0 : options.peers.back();
  heard_.resize(static_cast<std::size_t>(std::max(last, options.rank)) + 1);
}

Time Impl::now() const { return Time(Duration(monotonic_ns() - start_ns_)); }

// --- The run

void Impl::run(const std::function<void()>& body, bool must_finish) {
  sleep_until(Time{});
  const Duration delay_before = run_delay();
  {
    const std::lock_guard turn(baton_);
    strands_ = 1;
    body_ = std::this_thread::get_id();
    must_finish_ = must_finish;
    show(Phase::kRunning);
    try {
      if (!must_finish) tell_peers(kServing);
      body();
      body_returned_ = true;
      tell_peers(kBye);
      show(Phase::kFinished);
      await([] { return false; }, kNever, "the other ranks", 1);
    } catch (const Stop&) {
    } catch (...) {
      fail(std::current_exception());
    }
    --strands_;
  }
  join_strands();
  delayed_ += run_delay() - delay_before;
  waited_ = process_run_delay();
  if (error_) std::rethrow_exception(error_);
  if (asked_to_end_)
    throw trial_error("rank " + std::to_string(options_.rank) + " was asked to end")
        .as(FailureKind::kError, options_.rank);
  wire_.close(options_.close_timeout);
}

void Impl::end() {
  asked_to_end_ = true;
  wire_.wake();  // a polling strand will notify the others; a computing one will see it when it is done
}

void Impl::spawn(std::function<void()> strand) {
  ++strands_;
  threads_.emplace_back([this, strand = std::move(strand)] { strand_main(strand); });
}

void Impl::strand_main(const std::function<void()>& strand) {
  const std::lock_guard turn(baton_);
  try {
    if (!stopping_) strand();
  } catch (const Stop&) {
  } catch (...) {
    fail(std::current_exception());
  }
  --strands_;
  delayed_ += run_delay();
  call_all();  // it may have been the last that was busy
}

void Impl::join_strands() {
  while (true) {
    std::vector<std::thread> threads;
    {
      const std::lock_guard turn(baton_);
      threads.swap(threads_);
    }
    if (threads.empty()) return;
    for (std::thread& thread : threads) thread.join();
  }
}

void Impl::fail(std::exception_ptr error) {
  if (!error_) error_ = std::move(error);
  stop();
}

void Impl::stop() {
  stopping_ = true;
  call_all();
}

/// Returns true if the rank is over. A strand asks that is about to block, after all that arrived was delivered.
bool Impl::over() const {
  if (must_finish_ && !body_returned_) return false;
  for (int peer : options_.peers) {
    if (left_.count(peer) == 0 && serving_.count(peer) == 0) return false;
  }
  for (const auto& [peer, messages] : outbox_) {
    if (!messages.empty()) return false;
  }
  const auto blocked = std::count_if(waiters_.begin(), waiters_.end(), [](const Waiter* w) { return !w->called; });
  return blocked == strands_;
}

// --- Turns

bool Impl::await(const Ready& ready, Time deadline, const char* why, int messages) {
  // The caller holds the baton and goes on holding it, however this ends.
  struct Turn {
    std::unique_lock<std::mutex> lock;
    ~Turn() { lock.release(); }
  } turn{std::unique_lock(baton_, std::adopt_lock)};
  struct WaiterSlot {  // among the waiters
    Impl& impl;
    Waiter& me;
    bool taken = false;
    ~WaiterSlot() {
      if (!taken) return;
      std::erase(impl.waiters_, &me);
      impl.show(Phase::kRunning);
    }
  };
  Waiter me{ready, why, arrived_ + messages, now(), arrived_, std::this_thread::get_id() == body_};
  WaiterSlot place{*this, me};
  beat();
  while (true) {
    if (asked_to_end_ && !stopping_) stop();
    if (stopping_) throw Stop{};
    drain();
    if (ready()) return true;
    if (deadline != kNever && now() >= deadline) return false;
    if (!std::exchange(place.taken, true)) waiters_.push_back(&me);
    let_others_look();
    show_wait(me);
    me.called = false;
    if (over()) {
      stop();
    } else {
      block(me, deadline, turn.lock);
    }
    me.called = true;
  }
}

/// A strand that was called looks and, if it then waits, polls itself. So the strand that a message is for goes on
/// polling for the next one. If two strands took turns at it, each message would wake both.
void Impl::block(Waiter& me, Time deadline, std::unique_lock<std::mutex>& turn) {
  if (poller_ == nullptr && !somebody_will_look()) {
    poller_ = &me;
    const Time here = now();
    const Duration left = std::min(here + kLongWait, deadline) - here;
    const int messages = polling_for_ = missing();
    turn.unlock();
    wire_.wait(std::max(Duration{}, left), messages);
    turn.lock();
    poller_ = nullptr;
    return;
  }
  if (poller_ != nullptr && missing() < polling_for_) call(*poller_);  // it asks for more than this strand needs
  const auto until = std::chrono::steady_clock::time_point(Duration(start_ns_) +
                                                           std::min(now() + kLongWait, deadline).time_since_epoch());
  me.changed.wait_until(turn, until, [&] { return me.called; });
}

/// Returns the smallest number of further messages after which one of the waiting strands may be ready.
int Impl::missing() const {
  std::int64_t least = std::numeric_limits<int>::max();
  for (const Waiter* waiter : waiters_) least = std::min(least, waiter->wanted - arrived_);
  return static_cast<int>(std::max<std::int64_t>(1, least));
}

void Impl::call(Waiter& waiter) {
  if (std::exchange(waiter.called, true)) return;
  if (poller_ == &waiter) {
    wire_.wake();
  } else {
    waiter.changed.notify_one();
  }
}

void Impl::call_all() {
  for (Waiter* waiter : waiters_) call(*waiter);
}

/// Must be called whenever a strand gives its turn away: what it did may be what another strand waits for.
void Impl::let_others_look() {
  for (Waiter* waiter : waiters_) {
    if (waiter->called) continue;
    bool wake = true;
    try {
      wake = waiter->ready();
    } catch (...) {  // it will be thrown again where it belongs: in that strand
    }
    if (wake) call(*waiter);
  }
}

bool Impl::somebody_will_look() const {
  return std::any_of(waiters_.begin(), waiters_.end(), [](const Waiter* w) { return w->called; });
}

/// Must be called when a strand gives its turn away without waiting itself: as long as any strand waits, one strand
/// must wait on the wire.
void Impl::pass_on_polling() {
  if (poller_ == nullptr && !waiters_.empty() && !somebody_will_look()) call(*waiters_.front());
}

// --- Messages

void Impl::post(int to, Message message) {
  message.from = options_.rank;
  if (message.bytes == 0) message.bytes = bytes_with(message.body);
  beat();
  announce(EventKind::kSend, to, message);
  if (to == options_.rank) {
    to_self_.push_back(std::move(message));
  } else {
    hand_over(to, std::move(message));
  }
}

void Impl::hand_over(int to, Message message) {
  std::deque<Message>& waiting = outbox_[to];
  if (!waiting.empty() || !wire_.try_send(to, message)) waiting.push_back(std::move(message));
}

void Impl::tell_peers(Kind kind) {
  for (int peer : options_.peers) {
    hand_over(peer, {.from = options_.rank, .kind = kind, .words = {}, .body = {}, .bytes = kHeaderBytes});
  }
}

/// Takes in all messages that have arrived, and sends those that wait for room.
void Impl::drain() {
  for (auto& [peer, messages] : outbox_) {
    while (!messages.empty() && wire_.try_send(peer, messages.front())) messages.pop_front();
  }
  while (!to_self_.empty()) {
    Message message = std::move(to_self_.front());
    to_self_.pop_front();
    arrive(std::move(message));
  }
  while (auto message = wire_.poll()) arrive(std::move(*message));
}

void Impl::arrive(Message message) {
  beat();
  heard_.at(static_cast<std::size_t>(message.from)) = ++arrived_;
  if (message.kind == kServing) {
    serving_.insert(message.from);
    return;
  }
  if (message.kind == kBye || message.kind == kGone) {
    left_.insert(message.from);
    if (message.kind == kGone) outbox_[message.from].clear();
    runtime_.mailbox.put(std::move(message));
    return;
  }
  const Message about{message.from, message.kind, message.iter, message.words, {}, message.bytes};
  const bool kept = runtime_.mailbox.put(std::move(message));
  announce(kept ? EventKind::kDeliver : EventKind::kDrop, about.from, about);
}

void Impl::announce(EventKind what, int peer, const Message& message) {
  if (options_.observer == nullptr) return;
  options_.observer->on(message_event(what, now(), options_.rank, peer, message));
}

// --- The board

void Impl::Tap::on(const Event& event) {
  if (slot_ != nullptr && event.what == EventKind::kEnter) slot_->iteration = event.iter;
  if (slot_ != nullptr && event.what == EventKind::kGradient) {
    slot_->loss = static_cast<float>(event.value);
    slot_->samples.fetch_add(event.count, std::memory_order_relaxed);
  }
  if (observer_ != nullptr) observer_->on(event);
}

void Impl::beat() {
  if (options_.slot != nullptr) options_.slot->beats.fetch_add(1, std::memory_order_relaxed);
}

void Impl::show(Phase phase, const char* why) {
  RankSlot* const slot = options_.slot;
  if (slot == nullptr) return;
  if (computing_ > 0) phase = Phase::kComputing;
  if (body_returned_) phase = Phase::kFinished;
  if (slot->phase.exchange(phase, std::memory_order_relaxed) != phase)
    slot->since.store(std::chrono::steady_clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  if (phase == Phase::kWaiting) std::strncpy(slot->waiting_for, why, sizeof slot->waiting_for - 1);
}

/// Shows the wait of the rank's own strand, if any. It says more than its responders', and it lasts while they answer.
void Impl::show_wait(const Waiter& me) {
  RankSlot* const slot = options_.slot;
  if (slot == nullptr) return;
  const auto body = std::find_if(waiters_.begin(), waiters_.end(), [](const Waiter* w) { return w->body; });
  const Waiter& shown = body != waiters_.end() ? **body : me;
  show(Phase::kWaiting, shown.why);
  if (slot->phase == Phase::kWaiting)
    slot->since.store(start_ns_ + shown.since.time_since_epoch().count(), std::memory_order_relaxed);
  const std::string silent = now() - shown.since < kLongWait ? "" : silent_since(shown);
  std::strncpy(slot->silent, silent.c_str(), sizeof slot->silent - 1);
}

/// Returns the peers from which nothing has come since that wait began, as far as they fit: "2, 5, ...".
std::string Impl::silent_since(const Waiter& me) const {
  constexpr std::size_t kRoom = sizeof RankSlot::silent - std::string_view(", ...").size() - 1;
  std::string silent;
  for (int peer : options_.peers) {
    if (left_.count(peer) > 0 || heard_[static_cast<std::size_t>(peer)] > me.before) continue;
    const std::string next = (silent.empty() ? "" : ", ") + std::to_string(peer);
    if (silent.size() + next.size() > kRoom) return silent + ", ...";
    silent += next;
  }
  return silent;
}

// --- Sleeping

void Impl::sleep_until(Time when) const {
  while (!stopping_ && !asked_to_end_) {
    const Time here = now();
    if (here >= when) return;
    const std::int64_t until = start_ns_ + std::min(when, here + kNap).time_since_epoch().count();
    const timespec wake{until / 1'000'000'000, until % 1'000'000'000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, nullptr);
  }
}

}  // namespace hopbench
