// Ranks that are threads of a test, connected by a transport for real processes.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backends/transport/wire.h"
#include "tests/wire_talk.h"

namespace hopbench {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A meeting of threads.
class Room {
 public:
  std::function<void(int from, int to, const std::string& blob)> seen;  // may stay empty

  std::vector<std::string> exchange(int rank, const std::vector<int>& peers, const std::vector<std::string>& blobs) {
    for (std::size_t i = 0; i < peers.size(); ++i) {
      if (seen) seen(rank, peers[i], blobs[i]);
    }
    std::unique_lock lock(mutex_);
    for (std::size_t i = 0; i < peers.size(); ++i) table_[{rank, peers[i]}].push_back(blobs[i]);
    changed_.notify_all();
    std::vector<std::string> theirs;
    for (int peer : peers) {
      std::deque<std::string>& here = table_[{peer, rank}];
      changed_.wait(lock, [&] { return !here.empty(); });
      theirs.push_back(here.front());
      here.pop_front();
    }
    return theirs;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<int, int>, std::deque<std::string>> table_;
};

class Seat : public Meeting {
 public:
  Seat(Room& room, int rank) : room_(room), rank_(rank) {}
  std::vector<std::string> exchange(const std::vector<int>& peers, const std::vector<std::string>& blobs) override {
    return room_.exchange(rank_, peers, blobs);
  }

 private:
  Room& room_;
  const int rank_;
};

class WireTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::string why = find_transport(GetParam()).unavailable();
    if (!why.empty()) GTEST_SKIP() << why;
  }

  /// Connects `size` ranks and runs a body on each, all of them threads.
  void run(int size, const std::function<void(Wire&, int)>& body, Duration timeout = seconds(30)) {
    std::vector<std::thread> threads;
    for (int r = 0; r < size; ++r) {
      threads.emplace_back([&, r] {
        try {
          Seat seat(room, r);
          const WireOptions options{r, size, peers_of ? peers_of(r) : others(size, r), "", timeout};
          const auto wire = find_transport(GetParam()).connect(options, seat);
          body(*wire, r);
        } catch (const std::exception& e) {
          ADD_FAILURE() << "rank " << r << ": " << e.what();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  Room room;
  std::function<std::vector<int>(int)> peers_of;  // empty: everybody
};

}  // namespace hopbench
