#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <new>
#include <set>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "backends/base/error.h"
#include "backends/base/printable.h"
#include "backends/base/ran_out.h"
#include "backends/base/random.h"
#include "backends/base/text.h"
#include "backends/base/time.h"
#include "backends/base/vec.h"

namespace hopbench {
namespace {

Vec counting(std::size_t n) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<float>(i);
  return Vec::from_host(values);
}

TEST(RanOut, SaysOfWhatAndWhatToDo) {
  EXPECT_EQ(ran_out(std::bad_alloc()).value_or("").rfind("out of memory: use a smaller model", 0), 0u);
  const std::system_error thread(std::make_error_code(std::errc::resource_unavailable_try_again));
  const std::string said = ran_out(thread).value_or("");
  EXPECT_EQ(said.rfind("cannot start a thread: ", 0), 0u) << said;
  EXPECT_NE(said.find("(ulimit -u, ulimit -v)"), std::string::npos) << said;
  EXPECT_FALSE(ran_out(std::system_error(std::make_error_code(std::errc::no_space_on_device))));
  EXPECT_FALSE(ran_out(std::runtime_error("out of memory")));
}

TEST(Error, CarriesTheKindOfATrialsFailure) {
  EXPECT_EQ(failure_of(trial_error("x")).kind, FailureKind::kError);
  EXPECT_EQ(failure_of(environment_error("x")).kind, FailureKind::kEnvironment);
  EXPECT_EQ(failure_of(std::bad_alloc()).kind, FailureKind::kEnvironment);
  EXPECT_EQ(failure_of(std::runtime_error("out of memory")).kind, FailureKind::kError);
  const Failure failure = failure_of(trial_error("x").as(FailureKind::kScenario, 3).in("on the way"));
  EXPECT_EQ(failure.kind, FailureKind::kScenario);
  EXPECT_EQ(failure.rank, 3);
  EXPECT_EQ(failure.text, "on the way: x");
}

TEST(Vec, SharedNumbersNeverChange) {
  Vec x = counting(5);
  const Payload before = x.share();
  x.fill(7);
  EXPECT_EQ(Vec::copy_of(before).to_host(), (std::vector<float>{0, 1, 2, 3, 4}));
  EXPECT_EQ(x.to_host(), std::vector<float>(5, 7));
}

TEST(Vec, WritesInPlaceWhenNobodyElseHoldsIt) {
  Vec x = counting(5);
  const float* where = x.data();
  { const Payload gone = x.share(); }
  x.scale(2);
  EXPECT_EQ(x.data(), where);
  const Payload held = x.slice(1, 2);
  x.scale(2);
  EXPECT_NE(x.data(), where);
}

TEST(Vec, AWriteWhileAnotherThreadReadsItsShareIsSafe) {
  Vec x = counting(100'000);
  for (int round = 0; round < 20; ++round) {
    const Vec expected = x;
    double seen = 0;
    std::thread reader([payload = x.share(), &seen] { seen = Vec::copy_of(payload).norm(); });
    x.axpy(1.0f, expected.share());
    reader.join();
    EXPECT_EQ(seen, expected.norm());
  }
}

TEST(Vec, CopiesAreDeep) {
  Vec x = counting(3);
  Vec y = x;
  y.fill(0);
  EXPECT_EQ(x.to_host(), (std::vector<float>{0, 1, 2}));
  const Vec& itself = x;
  x = itself;
  EXPECT_EQ(x.to_host(), (std::vector<float>{0, 1, 2}));
}

TEST(Vec, AssignWritesOnlyThePart) {
  Vec x(5);
  x.assign(1, counting(3).share());
  EXPECT_EQ(x.to_host(), (std::vector<float>{0, 0, 1, 2, 0}));
}

TEST(Vec, SumsInTheOrderGiven) {
  const Vec big = Vec::from_host(std::vector<float>{1e8f}), minus = Vec::from_host(std::vector<float>{-1e8f}),
            one = Vec::from_host(std::vector<float>{1.0f});
  const std::vector<float> ones = {1, 1, 1};
  const std::vector<Payload> lost = {big.share(), one.share(), minus.share()};
  const std::vector<Payload> kept = {big.share(), minus.share(), one.share()};
  EXPECT_EQ(weighted_sum(lost, ones).to_host()[0], 0.0f);
  EXPECT_EQ(weighted_sum(kept, ones).to_host()[0], 1.0f);
}

TEST(Vec, MeanOfLongVectorsIsRightInEveryBlock) {
  const Vec x = counting(10'001);
  Vec y = x;
  y.scale(3);
  const std::vector<Payload> terms = {x.share(), y.share()};
  const std::vector<float> result = mean(terms).to_host();
  for (std::size_t i = 0; i < result.size(); ++i) ASSERT_EQ(result[i], 2.0f * static_cast<float>(i));
}

std::vector<float> drawn(std::size_t n, std::int64_t draw) {
  Random random({.seed = 3, .purpose = Purpose::kTest, .iteration = draw});
  std::vector<float> values(n);
  for (float& value : values) value = float(2 * random.uniform() - 1);
  return values;
}

// Around the lengths at which the passes change: lanes, pages, and vectors that are stored past the caches.
const std::size_t kLengths[] = {0, 1, 15, 16, 17, 100, 4095, 4096, 5000, 20'011, (4u << 20) + 5};

TEST(Space, SumsInTheOrderGivenAtAnyLengthAndPlace) {
  for (const std::size_t n : kLengths) {
    for (const std::size_t shift : {0u, 1u}) {
      const std::vector<float> a = drawn(n + 1, 1), b = drawn(n + 1, 2), c = drawn(n + 1, 3);
      const float* const in[] = {a.data() + shift, b.data(), c.data() + 1 - shift};
      const float weights[] = {0.3f, -0.7f, 1.1f};
      std::vector<float> out(n + 2, 7.0f);
      host_space().weighted_sum(out.data() + shift, in, weights, n);
      for (std::size_t i = 0; i < n; ++i) {
        const float sum = weights[0] * in[0][i] + weights[1] * in[1][i];
        ASSERT_EQ(out[shift + i], sum + weights[2] * in[2][i]) << i << " of " << n;
      }
      EXPECT_EQ(out[shift + n], 7.0f) << "one too many of " << n;
    }
  }
}

TEST(Space, MultipliesInDoubleAtAnyLength) {
  for (const std::size_t n : kLengths) {
    const std::vector<float> x = drawn(n, 1), y = drawn(n, 2), same = x;
    long double exact = 0, size = 0;
    for (std::size_t i = 0; i < n; ++i) {
      exact += static_cast<long double>(x[i]) * y[i];
      size += std::abs(static_cast<long double>(x[i]) * y[i]);
    }
    EXPECT_NEAR(host_space().dot(x.data(), y.data(), n), double(exact), 1e-13 * double(size)) << n;
    EXPECT_EQ(host_space().dot(x.data(), x.data(), n), host_space().dot(x.data(), same.data(), n)) << n;
  }
}

TEST(Vec, SquaredNormIsOfVectorsAndOfParts) {
  const Vec x = counting(5);  // 0 1 2 3 4
  EXPECT_EQ(squared_norm(x.share()), 30);
  EXPECT_EQ(squared_norm(x.slice(3, 2)), 25);
  EXPECT_DOUBLE_EQ(x.norm() * x.norm(), 30);
  EXPECT_EQ(squared_norm(Vec(1'000'000'000, null_space()).share()), 0);
}

TEST(Vec, NullSpaceKeepsSizesOnly) {
  Vec x(1'000'000'000, null_space());
  EXPECT_EQ(x.size(), 1'000'000'000u);
  EXPECT_EQ(x.data(), nullptr);
  x.axpy(2, x.share());
  x.assign(10, x.slice(0, 5));
  EXPECT_EQ(x.slice(7, 100).size(), 100u);
  EXPECT_EQ(x.norm(), 0);
}

TEST(Vec, LentMemoryIsGivenBackByTheLastHolder) {
  float numbers[4] = {1, 2, 3, 4};
  int released = 0;
  {
    Payload view;
    {
      const Payload whole(StorageRef(new Storage(host_space(), numbers, 4, [&] { ++released; })), 0, 4);
      view = whole.slice(2, 2);
    }
    EXPECT_EQ(released, 0);
    EXPECT_EQ(view.data()[1], 4);
  }
  EXPECT_EQ(released, 1);
}

TEST(Vec, SgdFollowsItsFormula) {
  for (const bool nesterov : {false, true}) {
    Vec x = Vec::from_host(std::vector<float>{2.0f}), m = Vec::from_host(std::vector<float>{0.5f});
    const Vec g = Vec::from_host(std::vector<float>{1.0f});
    host_space().sgd(x.mutable_data(), m.mutable_data(), g.data(),
                     {.lr = 0.1f, .momentum = 0.9f, .weight_decay = 0.01f, .nesterov = nesterov}, 1);
    const double slope = 1.0 + 0.01 * 2.0, velocity = 0.9 * 0.5 + slope;
    EXPECT_NEAR(m.to_host()[0], velocity, 1e-6);
    EXPECT_NEAR(x.to_host()[0], 2.0 - 0.1 * (nesterov ? slope + 0.9 * velocity : velocity), 1e-6);
  }
}

TEST(Vec, AdamWFollowsItsFormula) {
  Vec x = Vec::from_host(std::vector<float>{2.0f}), m = Vec::from_host(std::vector<float>{0.5f}),
      v = Vec::from_host(std::vector<float>{0.25f});
  const Vec g = Vec::from_host(std::vector<float>{-3.0f});
  host_space().adamw(x.mutable_data(), m.mutable_data(), v.mutable_data(), g.data(),
                     {.lr = 0.1f,
                      .beta1 = 0.8f,
                      .beta2 = 0.9f,
                      .epsilon = 0.5f,
                      .correction1 = 2.0f,
                      .correction2 = 4.0f,
                      .weight_decay = 0.01f},
                     1);
  const double mean = 0.8 * 0.5 - 0.2 * 3, square = 0.9 * 0.25 + 0.1 * 9;
  EXPECT_NEAR(m.to_host()[0], mean, 1e-6);
  EXPECT_NEAR(v.to_host()[0], square, 1e-6);
  EXPECT_NEAR(x.to_host()[0], 2.0 - 0.1 * (2 * mean / (std::sqrt(4 * square) + 0.5) + 0.01 * 2.0), 1e-6);
}

TEST(Vec, CompensationFollowsItsFormula) {
  for (const bool adaptive : {false, true}) {
    Vec g = Vec::from_host(std::vector<float>{2.0f}), square = Vec::from_host(std::vector<float>{0.5f});
    const Vec w = Vec::from_host(std::vector<float>{3.0f}), sent = Vec::from_host(std::vector<float>{1.0f});
    host_space().compensate(g.mutable_data(), w.data(), sent.data(), adaptive ? square.mutable_data() : nullptr,
                            {.lambda = 0.04f, .decay = 0.9f}, 1);
    const double mean = adaptive ? 0.9 * 0.5 + 0.1 * 4 : 0.5;
    EXPECT_NEAR(square.to_host()[0], mean, 1e-6);
    EXPECT_NEAR(g.to_host()[0], 2 + (adaptive ? 0.04 / std::sqrt(mean) : 0.04) * 4 * (3 - 1), 1e-6);
  }
}

TEST(HashBits, TellsVectorsApartByASingleBit) {
  Vec x = counting(100);
  const std::uint64_t before = hash_bits(x.share());
  EXPECT_EQ(before, hash_bits(counting(100).share()));
  x.mutable_data()[50] = std::nextafter(50.0f, 51.0f);
  EXPECT_NE(before, hash_bits(x.share()));
  EXPECT_NE(hash_bits(counting(1).share()), hash_bits(counting(1).share(), 1));
}

TEST(Random, DependsOnEveryPartOfItsKeyAndOnNothingElse) {
  const RandomKey base{.seed = 7, .repeat = 2, .purpose = Purpose::kSlowdown, .rank = 3, .iteration = 11};
  std::set<std::uint64_t> firsts;
  const auto first = [](const RandomKey& key) { return Random(key).next_u64(); };
  RandomKey other = base;
  firsts.insert(first(base));
  other.seed = 8, firsts.insert(first(other)), other = base;
  other.repeat = 3, firsts.insert(first(other)), other = base;
  other.purpose = Purpose::kLink, firsts.insert(first(other)), other = base;
  other.rank = -1, firsts.insert(first(other)), other = base;
  other.iteration = 12, firsts.insert(first(other)), other = base;
  EXPECT_EQ(firsts.size(), 6u);
  EXPECT_EQ(first(base), first(base));
}

TEST(Random, GivesTheSameNumbersOnEveryMachine) {
  Random draws({.seed = 1, .repeat = 0, .purpose = Purpose::kTest, .rank = 0, .iteration = 0});
  const std::uint64_t a = draws.next_u64(), b = draws.next_u64(), c = draws.next_u64();
  // Recorded once: a change here changes every published result.
  EXPECT_EQ(a, 12665509284406464197u);
  EXPECT_EQ(b, 10225810958557982130u);
  EXPECT_EQ(c, 5150992787986354419u);
}

TEST(Random, SkipsAsManyNumbersAsItIsAsked) {
  for (const std::size_t before : {0u, 1u, 3u, 4u}) {
    for (const std::size_t n : {0u, 1u, 3u, 4u, 5u, 8u, 22u}) {
      Random drawn({.seed = 7}), skipped({.seed = 7});
      for (std::size_t i = 0; i < before + n; ++i) drawn.next_u32();
      for (std::size_t i = 0; i < before; ++i) skipped.next_u32();
      skipped.skip(n);
      for (int i = 0; i < 9; ++i) EXPECT_EQ(skipped.next_u32(), drawn.next_u32()) << before << ", " << n;
    }
  }
}

TEST(Random, HasTheMomentsItPromises) {
  Random draws({.seed = 5, .repeat = 0, .purpose = Purpose::kTest, .rank = 0, .iteration = 0});
  const int n = 200'000;
  double uniform = 0, normal = 0, square = 0, exponential = 0;
  int hits = 0;
  std::vector<int> faces(6);
  for (int i = 0; i < n; ++i) {
    uniform += draws.uniform();
    const double z = draws.normal();
    normal += z, square += z * z;
    exponential += draws.exponential();
    hits += draws.chance(0.125) ? 1 : 0;
    ++faces[draws.below(6)];
  }
  EXPECT_NEAR(uniform / n, 0.5, 0.005);
  EXPECT_NEAR(normal / n, 0.0, 0.02);
  EXPECT_NEAR(square / n, 1.0, 0.02);
  EXPECT_NEAR(exponential / n, 1.0, 0.02);
  EXPECT_NEAR(double(hits) / n, 0.125, 0.005);
  for (const int face : faces) EXPECT_NEAR(double(face) / n, 1.0 / 6, 0.005);
}

TEST(Random, ShufflesIntoAPermutation) {
  std::vector<int> items(1000);
  for (int i = 0; i < 1000; ++i) items[std::size_t(i)] = i;
  const std::vector<int> before = items;
  Random draws({.seed = 5, .repeat = 0, .purpose = Purpose::kTest, .rank = 0, .iteration = 0});
  draws.shuffle(std::span<int>(items));
  EXPECT_NE(items, before);
  EXPECT_EQ(std::set<int>(items.begin(), items.end()).size(), 1000u);
}

TEST(Text, FindsTheNearestName) {
  const std::vector<std::string> names = {"batch", "backend", "threads"};
  EXPECT_EQ(nearest("bacth", names), "batch");
  EXPECT_EQ(nearest("thread", names), "threads");
  EXPECT_EQ(nearest("momentum", names), "");
  const std::vector<std::string> networks = {"1G", "10G", "25G two racks"};
  EXPECT_EQ(nearest("25G", networks), "25G two racks") << "the only one that begins so";
  EXPECT_EQ(nearest("1", networks), "1G") << "two begin so";
  EXPECT_EQ(did_you_mean("bakend", names), " Did you mean 'backend'?");
}

TEST(Text, ReadsDurationsAndSaysThemBack) {
  const auto ns = [](const char* text) {
    long long value = -1;
    return parse_duration(text, value) ? value : -1;
  };
  EXPECT_EQ(ns("40ms"), 40'000'000);
  EXPECT_EQ(ns("1.5s"), 1'500'000'000);
  EXPECT_EQ(ns("250 us"), 250'000);
  EXPECT_EQ(ns("2min"), 120'000'000'000);
  for (const char* bad : {"", "ms", "40", "4 weeks", "nan s", "1e30s", "40ms x"}) EXPECT_EQ(ns(bad), -1) << bad;
  for (const char* text : {"40ms", "1.5s", "250us", "1500.001us", "0ns", "90s"}) {
    EXPECT_EQ(duration_text(ns(text)), text);
  }
}

TEST(Text, ReadsRates) {
  const auto rate = [](const char* text) {
    double value = -1;
    return parse_rate(text, value) ? value : -1;
  };
  EXPECT_EQ(rate("1Gbit/s"), 125e6);
  EXPECT_EQ(rate("4.5GB/s"), 4.5e9);
  EXPECT_EQ(rate("125e6"), 125e6);
  EXPECT_EQ(rate("-1MB/s"), -1);
  EXPECT_EQ(rate("fast"), -1);
}

TEST(Time, RoundsToTheNearestNanosecond) {
  EXPECT_EQ(seconds_to_duration(1e-9).count(), 1);
  EXPECT_EQ(seconds_to_duration(-1.6e-9).count(), -2);
  EXPECT_EQ(scaled(Duration{100}, 2.5).count(), 250);
}

TEST(ErrorDeathTest, AnAssertionSaysWhatAndWho) {
  describe_process("rank 3, seed 7");
  EXPECT_DEATH(HB_ASSERT(1 == 2), "assertion failed: 1 == 2 .*rank 3, seed 7");
}

TEST(Error, KeepsItsCodeWhenContextIsAdded) {
  const Error error = usage_error("no such file").in("suites/a.toml");
  EXPECT_STREQ(error.what(), "suites/a.toml: no such file");
  EXPECT_EQ(error.code(), ExitCode::kUsage);
}

TEST(Printable, EscapesWhatATerminalWouldObeyAndKeepsTheRest) {
  EXPECT_EQ(printable("plain, \xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80"),
            "plain, \xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80");
  EXPECT_EQ(printable("\x1b]0;x\x07"), "\\u001b]0;x\\u0007");
  EXPECT_EQ(printable("a\xC2\x9B"
                      "31m"),
            "a\\u009b31m");
  EXPECT_EQ(printable("a\xE2\x80\xAE"
                      "b\xE2\x81\xA6"),
            "a\\u202eb\\u2066");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\u0000b");
  EXPECT_EQ(printable("one\ntwo\r\t\x7f"), "one\\ntwo\\r\\t\\u007f");
  EXPECT_EQ(printable_lines("one\n\ttwo\r\x1b"), "one\n\ttwo\\r\\u001b");
  EXPECT_EQ(printable_line("one\n\ttwo\r\x1b"), "one  two \\u001b");
  EXPECT_EQ(printable("\xff\xC0\xAF\xED\xA0\x80\xE2\x82"), "\\xff\\xc0\\xaf\\xed\\xa0\\x80\\xe2\\x82") << "not UTF-8";
  EXPECT_TRUE(is_printable("\xC3\xA4 b"));
  for (const char* bad : {"\x1b", "a\n", "\xC2\x9B", "\xE2\x80\xAE", "\xff", "\xE2\x80\xA8"})
    EXPECT_FALSE(is_printable(bad)) << printable(bad);
}

TEST(Printable, ShortensInTheMiddleBetweenCharacters) {
  EXPECT_EQ(shortened("0123456789", 10), "0123456789");
  EXPECT_EQ(shortened("0123456789abcdefghij", 9), "012345 ... (11 bytes left out) ... hij");
  EXPECT_EQ(shortened("\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4", 4), "\xC3\xA4 ... (8 bytes left out) ... ");
  EXPECT_LT(quotable(std::string(10'000'000, 'k')).size(), 200u);
}

TEST(Printable, CutsListsOfManyNamesWithACount) {
  const std::vector<std::string> names(1000, "n");
  EXPECT_EQ(listed(std::span(names).first(3)), "n, n, n");
  EXPECT_EQ(listed(names, 2), "n, n and 998 more");
}

TEST(Text, QuotesControlCharactersForAShell) {
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("\x1b[31m'\\"), "$'\\033[31m\\047\\134'");
}

TEST(Suggestions, KnowOtherSpellingsAndWhatUsersOfOtherToolsType) {
  const std::vector<std::string> protocols = {"hop", "allreduce", "dpsgd", "local_sgd"},
                                 transports = {"gloo", "shm", "sim"};
  for (const char* word : {"ddp", "DDP", "fsdp", "horovod", "sgd", "nccl", "All-Reduce"})
    EXPECT_EQ(nearest(word, protocols), "allreduce") << word;
  for (const char* word : {"tcp", "socket", "nccl", "mpi"}) EXPECT_EQ(nearest(word, transports), "gloo") << word;
  EXPECT_EQ(nearest("D-PSGD", protocols), "dpsgd");
  EXPECT_EQ(nearest("FedAvg", protocols), "local_sgd");
  EXPECT_EQ(nearest("tcp", protocols), "") << "not among these candidates";
  EXPECT_EQ(nearest("hopp", protocols), "hop") << "slips are still found";
}

}  // namespace
}  // namespace hopbench
