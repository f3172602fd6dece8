// Many messages of all sorts at once, over every transport: none is lost, torn, doubled or out of order, and nobody
// sleeps on. HB_MESSAGES=2000000 makes it a long one (ci/check transports, for shared memory).
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <vector>

#include "backends/base/random.h"
#include "tests/backends/transport/wire_fixture.h"

namespace hopbench {
namespace {

constexpr int kTalkers = 3;

Iter messages_wanted() {
  const char* const text = std::getenv("HB_MESSAGES");
  return (text != nullptr ? std::atoll(text) : 12'000) / (kTalkers * (kTalkers - 1));
}

/// Mostly tokens, some bodies that travel in frames, some on their own.
std::size_t floats_of(int from, int to, Iter k) {
  constexpr std::size_t kSizes[] = {0, 0, 0, 0, 1, 3, 0, 200, 0, 0, 0, 1023, 0, 17'000, 0, 5000};
  Random random({.seed = 5, .repeat = 0, .purpose = Purpose::kTest, .rank = from * kTalkers + to, .iteration = k});
  return kSizes[std::size_t(random.uniform() * 16)];
}

/// One rank: sends to both others, whose bodies are parts of one vector that it changes between sends.
class Talker {
 public:
  Talker(Wire& wire, int rank, Iter messages) : wire_(wire), rank_(rank), messages_(messages), heard_(kTalkers, 0) {}

  void talk() {
    for (Iter k = 0; k < messages_; ++k) {
      for (int to : others(kTalkers, rank_)) say(to, k);
      while (auto message = wire_.poll()) hear(std::move(*message));
    }
    while (left_ < kTalkers - 1) {
      if (auto message = wire_.poll()) {
        hear(std::move(*message));
      } else {
        wire_.wait(seconds(20));
      }
    }
  }
  bool torn() const { return torn_; }
  const std::vector<Iter>& heard() const { return heard_; }

 private:
  void say(int to, Iter k) {
    Message message = message_of(kData, k);
    if (const std::size_t floats = floats_of(rank_, to, k); floats > 0) {
      x_.fill(float(k % 1000 + to));
      message.body = x_.slice(0, floats);
    }
    while (!wire_.try_send(to, message)) {
      while (auto other = wire_.poll()) hear(std::move(*other));  // who waits for room listens, or all wait
      wire_.wait(milliseconds(100));
    }
    if (k == messages_ - 1) send(wire_, to, message_of(kAck, 0));
  }

  void hear(Message message) {
    if (message.kind == kAck) ++left_;
    if (message.kind != kData) return;
    Iter& expected = heard_[std::size_t(message.from)];
    torn_ = torn_ || message.iter != expected++ || !whole_one(message);
    // Some are held for a while, and looked at again: they must not change.
    if (message.body.size() < 1024 || message.iter % 3 != 0) return;
    held_.push_back(std::move(message));
    if (held_.size() < 8) return;
    torn_ = torn_ || !whole_one(held_.front());
    held_.pop_front();
  }
  bool whole_one(const Message& message) const {
    const std::size_t floats = floats_of(message.from, rank_, message.iter);
    if (message.body.size() != floats) return false;
    const float* const x = message.body.data();
    return std::all_of(x, x + floats, [&](float v) { return v == float(message.iter % 1000 + rank_); });
  }

  Wire& wire_;
  const int rank_;
  const Iter messages_;
  std::vector<Iter> heard_;
  Vec x_{17'000};
  std::deque<Message> held_;
  int left_ = 0;
  bool torn_ = false;
};

class WireStressTest : public WireTest {};

TEST_P(WireStressTest, LosesTearsAndReordersNothing) {
  const Iter messages = messages_wanted();
  body_bytes = 100'000;
  run(kTalkers, [&](Wire& wire, int rank) {
    {
      Talker talker(wire, rank, messages);
      talker.talk();
      EXPECT_FALSE(talker.torn()) << "rank " << rank;
      for (int from : others(kTalkers, rank)) EXPECT_EQ(talker.heard()[std::size_t(from)], messages);
    }
    wire.close(seconds(20));
  });
}

INSTANTIATE_TEST_SUITE_P(Over, WireStressTest, testing::ValuesIn(wire_names()),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace hopbench
