// Checks of `hopbench bench transport` for wrong numbers, and the bare exchanges themselves.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "backends/transport/exchange.h"
#include "tests/backends/transport/wire_fixture.h"

namespace hopbench {
namespace {

ExchangeSpec average_of(int size, int rank, int neighbours, std::size_t floats) {
  ExchangeSpec spec{.operation = Operation::kAverage, .rank = rank, .size = size, .floats = floats};
  spec.neighbours = neighbours;
  return spec;
}

TEST(CountWrong, KnowsWhatEachOperationMustLeave) {
  const ExchangeSpec average = average_of(4, 1, 2, 3);  // hears ranks 0 and 3
  EXPECT_EQ(heard_by(average), (std::vector<int>{0, 3}));
  std::vector<float> x;
  for (std::size_t i = 0; i < 3; ++i) x.push_back((pattern(0, i) + pattern(1, i) + pattern(3, i)) / 3);
  EXPECT_EQ(count_wrong(average, x), 0);
  x[1] += 0.01f;
  EXPECT_EQ(count_wrong(average, x), 1);
  x[2] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(count_wrong(average, x), 2);
  x.pop_back();
  EXPECT_EQ(count_wrong(average, x), 2) << "what is missing is wrong";

  ExchangeSpec other{.operation = Operation::kPingPong, .rank = 0, .size = 2, .floats = 2};
  EXPECT_EQ(count_wrong(other, std::vector<float>{pattern(0, 0), pattern(0, 1)}), 0);
  EXPECT_EQ(count_wrong(other, std::vector<float>{pattern(1, 0), pattern(1, 1)}), 2);
  other.operation = Operation::kAllReduce;
  EXPECT_EQ(count_wrong(other, std::vector<float>{(pattern(0, 0) + pattern(1, 0)) / 2, 0}), 1);
}

TEST(AverageInPlace, TakesAnyNumberOfVectors) {
  for (std::size_t n = 1; n <= 6; ++n) {
    std::vector<std::vector<float>> ys(n, std::vector<float>(1000, 3));
    std::vector<const float*> places;
    for (const auto& y : ys) places.push_back(y.data());
    std::vector<float> x(1000, 3 + float(n + 1));
    average_in_place(x, places);
    EXPECT_EQ(x, std::vector<float>(1000, 4)) << n;
  }
}

using Make = std::function<std::unique_ptr<RankExchange>(const ExchangeSpec&, Meeting&)>;

/// Ranks that are threads and do it a dozen times.
void expect_right(const ExchangeSpec& spec, const Make& make) {
  Room room;
  std::vector<std::unique_ptr<RankExchange>> all(std::size_t(spec.size));  // none goes while another still reads
  std::vector<std::thread> threads;
  for (int rank = 0; rank < spec.size; ++rank) {
    threads.emplace_back([&, rank] {
      ExchangeSpec mine = spec;
      mine.rank = rank;
      Seat seat(room, rank);
      std::unique_ptr<RankExchange>& exchange = all[std::size_t(rank)];
      exchange = make(mine, seat);
      for (int i = 0; i < 12; ++i) exchange->once();
      const std::span<const float> got = exchange->checked();
      if (spec.operation == Operation::kPingPong && rank == 1) return;  // only rank 0 has it back
      EXPECT_EQ(count_wrong(mine, got), 0) << "rank " << rank;
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// More than the ring of chunks holds, and no whole number of chunks.
constexpr std::size_t kMany = 9 * 65'536 + 17;

TEST(BareShm, DoesWhatTheBenchAsks) {
  for (std::size_t floats : {std::size_t{2}, kMany}) {
    expect_right({.operation = Operation::kPingPong, .size = 2, .floats = floats}, bare_shm);
    expect_right(average_of(2, 0, 1, floats), bare_shm);
    expect_right(average_of(5, 0, 3, floats), bare_shm);
  }
}

TEST(BareGloo, DoesWhatTheBenchAsks) {
  if (!find_transport("gloo").unavailable().empty()) GTEST_SKIP() << "no Gloo";
  const auto with = [](const std::string& algorithm) {
    return [algorithm](const ExchangeSpec& spec, Meeting& meeting) { return bare_gloo(spec, algorithm, meeting); };
  };
  expect_right({.operation = Operation::kPingPong, .size = 2, .floats = 1000}, with(""));
  expect_right(average_of(4, 0, 2, 1000), with(""));
  for (const char* algorithm : {"ring", "bcube", "ring_chunked", "halving_doubling"})
    expect_right({.operation = Operation::kAllReduce, .size = 4, .floats = 1000}, with(algorithm));
}

TEST(LocalAverage, DoesWhatTheBenchAsks) {
  const ExchangeSpec spec = average_of(4, 2, 3, 1000);
  EXPECT_EQ(count_wrong(spec, local_average(spec)->checked()), 0);
}

}  // namespace
}  // namespace hopbench
