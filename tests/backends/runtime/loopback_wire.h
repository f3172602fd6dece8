// A wire in memory: every rank is a thread of the test. What ProcessRuntime is tested on.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "backends/transport/wire.h"

namespace hopbench {

/// A hub that connects the loopback wires of one test.
struct LoopbackHub {
  struct End {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Message> arrived;
    bool woken = false;
    std::size_t room = 1000;  // messages that may wait here
    std::set<int> refused;    // ranks that want to know when there is room again
  };
  End& end(int rank) {
    const std::lock_guard lock(mutex);
    return ends[rank];
  }
  std::mutex mutex;
  std::map<int, End> ends;
};

class LoopbackWire : public Wire {
 public:
  LoopbackWire(LoopbackHub& hub, int rank) : hub_(hub), rank_(rank), mine_(hub.end(rank)) {}

  bool try_send(int to, const Message& message) override {
    LoopbackHub::End& theirs = hub_.end(to);
    const std::lock_guard lock(theirs.mutex);
    if (theirs.arrived.size() >= theirs.room) {
      theirs.refused.insert(rank_);
      return false;
    }
    theirs.arrived.push_back(message);
    theirs.arrived.back().from = rank_;
    theirs.changed.notify_all();
    return true;
  }

  std::optional<Message> poll() override {
    std::set<int> hopeful;
    std::optional<Message> message;
    {
      const std::lock_guard lock(mine_.mutex);
      if (mine_.arrived.empty()) return std::nullopt;
      message = std::move(mine_.arrived.front());
      mine_.arrived.pop_front();
      hopeful.swap(mine_.refused);
    }
    for (int rank : hopeful) wake_end(hub_.end(rank));
    return message;
  }

  void wait(Duration timeout, int /*messages*/ = 1) override {
    std::unique_lock lock(mine_.mutex);
    mine_.changed.wait_until(lock, std::chrono::steady_clock::now() + timeout,
                             [&] { return !mine_.arrived.empty() || mine_.woken; });
    mine_.woken = false;
  }

  void wake() override { wake_end(mine_); }

  std::map<std::string, std::vector<int>> carriers() const override { return {}; }

  void close(Duration) override {}

 private:
  static void wake_end(LoopbackHub::End& end) {
    const std::lock_guard lock(end.mutex);
    end.woken = true;
    end.changed.notify_all();
  }

  LoopbackHub& hub_;
  const int rank_;
  LoopbackHub::End& mine_;
};

}  // namespace hopbench
