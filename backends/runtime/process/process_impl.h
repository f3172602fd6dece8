// The inside of ProcessRuntime. process.cpp has the turns and the messages, process_occupy.cpp has the device's time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "backends/base/record/event.h"
#include "backends/runtime/process/process.h"

namespace hopbench {

class ProcessRuntime::Impl {
 public:
  Impl(const ProcessOptions& options, Wire& wire, Runtime& runtime);

  void run(const std::function<void()>& body, bool must_finish);
  void end();
  Time now() const;
  void post(int to, Message message);
  bool await(const Ready& ready, Time deadline, const char* why, int messages);
  Occupied occupy(const Work& work);
  void spawn(std::function<void()> strand);
  Duration waited_for_cores() const { return waited_; }
  Duration contended() const { return delayed_ - absorbed_; }

 private:
  struct Waiter {
    const Ready& ready;
    const char* why = "";
    std::int64_t wanted = 0;  // messages that must have arrived in all before `ready` can hold
    Time since{};             // start of the wait; messages arrived by then:
    std::int64_t before = 0;
    bool body = false;   // the rank's own strand, not one that it spawned
    bool called = true;  // to look again; false only while it is blocked
    std::condition_variable changed{};
  };
  class Slot;
  /// Sees the node's events on their way to the observer, for the board.
  class Tap : public Observer {
   public:
    Tap(RankSlot* slot, Observer* observer) : slot_(slot), observer_(observer) {}
    void on(const Event& event) override;

   private:
    RankSlot* const slot_;
    Observer* const observer_;
  };

  // All functions below are called with the baton, unless they say so.
  void let_others_look();
  void call(Waiter& waiter);
  void call_all();
  bool somebody_will_look() const;
  void pass_on_polling();
  void block(Waiter& me, Time deadline, std::unique_lock<std::mutex>& turn);
  int missing() const;
  bool over() const;
  void stop();
  void fail(std::exception_ptr error);

  void drain();
  void arrive(Message message);
  void hand_over(int to, Message message);
  void tell_peers(Kind kind);
  void announce(EventKind what, int peer, const Message& message);

  void strand_main(const std::function<void()>& strand);  // without the baton
  void join_strands();                                    // without the baton
  void sleep_until(Time when) const;                      // ends early when the run does
  Occupied occupy_in_turn(const Work& work);
  void hang_until(Time when);

  void beat();
  void show(Phase phase, const char* why = "");
  void show_wait(const Waiter& me);
  std::string silent_since(const Waiter& me) const;

  const ProcessOptions options_;
  const std::int64_t start_ns_;
  Wire& wire_;
  Runtime& runtime_;
  Tap tap_;

  std::mutex baton_;                 // protects the members below
  std::vector<Waiter*> waiters_;     // oldest first
  Waiter* poller_ = nullptr;         // the one that waits on the wire
  std::int64_t arrived_ = 0;         // messages so far
  std::vector<std::int64_t> heard_;  // by rank: the number of its last message
  std::thread::id body_{};
  int polling_for_ = 1;  // number of further messages that the wire is asked for
  std::vector<std::thread> threads_;
  int strands_ = 0, computing_ = 0;
  std::map<int, std::deque<Message>> outbox_;  // messages that the wire had no room for
  std::deque<Message> to_self_;
  std::set<int> left_, serving_;  // peers that said kBye or died; peers that are ended by Stop
  bool must_finish_ = true, body_returned_ = false;
  std::exception_ptr error_;
  Duration waited_{};                // of all threads, the transport's too
  Duration delayed_{}, absorbed_{};  // of all strands; of that, what a pace made harmless

  std::atomic<bool> stopping_{false}, asked_to_end_{false};
};

}  // namespace hopbench
