// Ranks that are threads of a test, connected by a transport for real processes.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backends/runtime/links/emulated_wire.h"
#include "backends/runtime/links/link_emulator.h"
#include "backends/transport/wire.h"
#include "tests/backends/transport/wire_talk.h"

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
    const std::string why = transport_of(GetParam()).unavailable();
    if (!why.empty()) GTEST_SKIP() << why;
  }

  /// Connects `size` ranks and runs a body on each, all of them threads.
  void run(int size, const std::function<void(Wire&, int)>& body, Duration timeout = seconds(30)) {
    std::optional<LinkEmulator> emulator;
    if (is_emulated(GetParam())) emulator.emplace(links, size, 1, 0);
    links_began = std::chrono::steady_clock::now();
    if (emulator) emulator->start(links_began.time_since_epoch().count());
    std::vector<std::thread> threads;
    for (int r = 0; r < size; ++r) {
      threads.emplace_back([&, r] {
        try {
          Seat seat(room, r);
          const WireOptions options{.rank = r,
                                    .size = size,
                                    .peers = peers_of ? peers_of(r) : others(size, r),
                                    .interface = "",
                                    .connect_timeout = timeout,
                                    .body_bytes = body_bytes,
                                    .eager_bytes = eager_bytes};
          std::unique_ptr<Wire> wire = transport_of(GetParam()).connect(options, seat);
          if (emulator) wire = std::make_unique<EmulatedWire>(std::move(wire), options.peers, emulator->take_end(r));
          body(*wire, r);
        } catch (const std::exception& e) {
          ADD_FAILURE() << "rank " << r << ": " << e.what();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  Room room;
  NetworkSpec links = wide_links();                   // where they are emulated
  std::chrono::steady_clock::time_point links_began;  // by the last run
  std::function<std::vector<int>(int)> peers_of;      // empty: everybody
  std::size_t body_bytes = std::size_t{1} << 20;      // larger ones are not received ahead
  std::size_t eager_bytes = std::size_t{64} << 20;
};

}  // namespace hopbench
