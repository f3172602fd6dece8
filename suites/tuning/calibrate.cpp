// Calibration: the cost of a step while all ranks step together, as they will in the trial. A paced trial gives every
// iteration a slot, so the steps are measured in slots too. All ranks start a step at the same instant, and its end
// counts.
#include "suites/tuning/calibrate.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <vector>

#include "backends/base/process/cores.h"
#include "backends/transport/wire.h"
#include "results/arithmetic/statistics.h"
#include "suites/trial/child_task.h"
#include "suites/trial/execute.h"
#include "suites/trial/rank_assignment.h"

namespace hopbench {
namespace {

using nlohmann::json;
using SteadyClock = std::chrono::steady_clock;

constexpr double kProbeSeconds = 0.7;  // free stepping, to find the length of a slot
constexpr int kSlots = 60;
constexpr int kWarmRounds = 100;
constexpr std::int64_t kShortestRound = 4'000'000;  // nanoseconds of a slot that are left for messages
constexpr int kMostPeers = 8;
constexpr std::size_t kLargeFloats = 1 << 18;  // 1 MiB
constexpr Duration kCostStep = std::chrono::milliseconds(5);
constexpr double kMargin = 1.25;
constexpr double kNoise = 0.3;  // of a round: a difference no larger than this means nothing

double seconds_since(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

// The workers in a circle, each connected to the few that follow and come before it.
class Circle {
 public:
  Circle(ChildChannel& channel, const TrialSpec& spec)
      : rank_(channel.rank()), size_(channel.size()), fan_(std::min(size_ - 1, kMostPeers)) {
    if (size_ < 2) return;
    std::set<int> peers;
    for (int step = 1; step <= fan_; ++step) peers.insert({after(step), after(size_ - step)});
    const WireOptions options = wire_options(spec, channel, {peers.begin(), peers.end()}, kLargeFloats * sizeof(float));
    wire_ = find_transport(spec.transport).connect(options, channel);
  }

  /// Returns the number of ranks with which each one exchanges messages.
  int fan() const { return fan_; }

  /// Sends to the next rank; returns what the previous one sent.
  Message pass(const Payload& body, std::int64_t word) {
    Message message{.from = rank_, .kind = kPass, .iter = 0, .words = {word}, .body = body, .bytes = 0};
    if (size_ < 2) return message;
    send(after(1), message);
    while (passed_.empty()) take();
    Message got = std::move(passed_.front());
    passed_.pop_front();
    return got;
  }

  /// Sends to the next fan() ranks and waits for this round's messages of the fan() ranks before it. Some may be ahead.
  void exchange(const Payload& body, std::int64_t round) {
    for (int step = 1; step <= fan_; ++step)
      send(after(step), {.from = rank_, .kind = kExchange, .iter = round, .words = {}, .body = body, .bytes = 0});
    while (arrived_[round] < fan_) take();
    arrived_.erase(round);
  }

  /// Returns the largest of all ranks' values. It also brings the ranks together in time.
  std::int64_t largest(std::int64_t mine) {
    std::int64_t all = mine, passing = mine;
    for (int i = 1; i < size_; ++i) {
      passing = pass({}, passing).words[0];
      all = std::max(all, passing);
    }
    return all;
  }

  void close() {
    if (wire_ != nullptr) wire_->close(std::chrono::seconds(10));
  }

 private:
  static constexpr Kind kPass{1}, kExchange{2};

  int after(int step) const { return (rank_ + step) % size_; }

  void send(int to, const Message& message) {
    while (!wire_->try_send(to, message)) wire_->wait(std::chrono::milliseconds(10));
  }

  // Takes one message, which may belong to a round that is not yet waited for.
  void take() {
    std::optional<Message> got = wire_->poll();
    if (!got) return static_cast<void>(wire_->wait(std::chrono::milliseconds(100)));
    if (got->kind == kGone) throw trial_error("rank " + std::to_string(got->from) + " died during calibration");
    if (got->kind == kPass) passed_.push_back(std::move(*got));
    if (got->kind == kExchange) ++arrived_[got->iter];
  }

  int rank_, size_, fan_;
  std::deque<Message> passed_;
  std::map<std::int64_t, int> arrived_;  // by round of exchange
  std::unique_ptr<Wire> wire_;
};

// One rank's arithmetic: a gradient, the average of three vectors and an optimizer step.
class Stepper {
 public:
  Stepper(Workload& workload, int worker, RankSlot& slot)
      : workload_(workload),
        worker_(worker),
        slot_(slot),
        x_(workload.initial()),
        momentum_(x_.size(), x_.space()),
        gradient_(Vec::uninitialised(x_.size(), x_.space())) {}

  void gradient() {
    const int batch = workload_.spec().batch;
    workload_.gradient(x_.share(), worker_, position_, batch, gradient_, [](int) {});
    position_ += std::uint64_t(batch);
    slot_.beats.fetch_add(1, std::memory_order_relaxed);  // else many long steps look like a stall
  }

  /// Returns the bytes read and written per second.
  double vector_rate() {
    const auto begin = SteadyClock::now();
    const std::vector<Payload> terms = {x_.share(), gradient_.share(), momentum_.share()};
    const Vec average = mean(terms);
    const Space::SgdStep step{.lr = 0.0f, .momentum = 0.9f, .weight_decay = 0.0f, .nesterov = false};
    x_.space().sgd(x_.mutable_data(), momentum_.mutable_data(), gradient_.data(), step, x_.size());
    const double bytes = double(x_.size()) * sizeof(float) * (4 + 5);
    return bytes / std::max(1e-9, seconds_since(begin));
  }

 private:
  Workload& workload_;
  int worker_;
  RankSlot& slot_;
  Vec x_, momentum_, gradient_;
  std::uint64_t position_ = 0;
};

// Returns the length of a slot, in nanoseconds, that every rank's step fits into with time to spare. It uses the mean,
// not the median: with more ranks than cores most steps run undisturbed in a slice of their own, and a few wait for all
// the others.
std::int64_t find_slot(Stepper& stepper, Circle& circle) {
  int steps = 0;
  circle.largest(0);
  const auto begin = SteadyClock::now();
  for (; steps < 5 || seconds_since(begin) < kProbeSeconds; ++steps) stepper.gradient();
  return circle.largest(static_cast<std::int64_t>(1.5e9 * seconds_since(begin) / steps));
}

// The three rounds of messages that explain_messages() tells apart.
enum Round { kOne, kOneLarge, kSeveral, kRounds };

constexpr double kLate = -1;

struct Measured {
  std::vector<double> steps, vector_rates;          // seconds, bytes/s
  std::array<double, kRounds> warm{};               // seconds per round, one after the other: the mean
  std::array<std::vector<double>, kRounds> cold{};  // of a round after a step and a sleep; kLate if there was no sleep
};

class Rounds {
 public:
  explicit Rounds(Circle& circle) : circle_(circle), large_(Vec(kLargeFloats).share()) {}

  void run(int kind) {
    if (kind == kOne) circle_.pass({}, 0);
    if (kind == kOneLarge) circle_.pass(large_, 0);
    if (kind == kSeveral) circle_.exchange({}, exchanges_++);
  }

  // A message may be here before it is waited for, so single waits say little. From round to round no rank can be more
  // than a message ahead of those before it, so the mean over many rounds is the time of a round.
  double warm(int kind) {
    circle_.largest(0);
    const auto begin = SteadyClock::now();
    for (int i = 0; i < kWarmRounds; ++i) run(kind);
    return seconds_since(begin) / kWarmRounds;
  }

 private:
  Circle& circle_;
  Payload large_;
  std::int64_t exchanges_ = 0;
};

void sleep_until(std::int64_t time_ns) {
  std::this_thread::sleep_until(SteadyClock::time_point{std::chrono::nanoseconds(time_ns)});
}

void measure_slots(Stepper& stepper, Circle& circle, Measured& measured) {
  Rounds rounds(circle);
  const std::int64_t slot_ns = find_slot(stepper, circle);
  for (int kind = 0; kind < kRounds; ++kind) measured.warm[std::size_t(kind)] = rounds.warm(kind);
  const double longest = *std::max_element(measured.warm.begin(), measured.warm.end());
  const std::int64_t round_ns = circle.largest(std::max(kShortestRound, std::int64_t(4e9 * longest)));
  const std::int64_t now = SteadyClock::now().time_since_epoch().count();
  const std::int64_t begin = circle.largest(now + 2'000'000);  // one instant for all: they share the machine's clock
  for (int i = 0; i < kSlots; ++i) {
    const std::int64_t start = begin + i * (slot_ns + round_ns), end = start + slot_ns;
    sleep_until(start);
    stepper.gradient();
    measured.steps.push_back(seconds_since(SteadyClock::time_point{std::chrono::nanoseconds(start)}));
    measured.vector_rates.push_back(stepper.vector_rate());
    const SteadyClock::time_point send{std::chrono::nanoseconds(end)};
    const bool late = SteadyClock::now() > send;
    sleep_until(end);
    rounds.run(i % kRounds);
    measured.cold[std::size_t(i % kRounds)].push_back(late ? kLate : seconds_since(send));
  }
}

// Ranks on one machine share its cores, and their network costs the handling of messages. If each of n ranks sends m
// messages and gets m, the round keeps c cores busy for 2 n m handlings. A message's overhead is what one more adds to
// a round, and a byte's overhead is what one more byte adds. The rest of the smallest round is latency.
void explain_messages(Calibration& result, int ranks, const std::array<double, kRounds>& round) {
  if (ranks < 2) return;
  const int fan = std::min(ranks - 1, kMostPeers);
  const double handlings = 2.0 * ranks / std::min(result.processors, ranks);  // one after the other, a message each
  const double small = round[kOne];
  const double a_message = fan > 1 ? (round[kSeveral] - small) / (fan - 1) / handlings : 0;
  const double overhead = std::clamp(a_message, 0.0, small / handlings);
  result.overhead = seconds_to_duration(overhead);
  result.latency = seconds_to_duration(small - handlings * overhead);
  // Shared memory lends large bodies, so only the rank that reads them spends time on the bytes.
  const double bytes_s = round[kOneLarge] - small;
  if (bytes_s > kNoise * small) result.overhead_rate = handlings * double(kLargeFloats * sizeof(float)) / bytes_s;
}

std::vector<double> pooled(const std::vector<json>& ranks, const char* key) {
  std::vector<double> all;
  for (const json& rank : ranks) {
    const auto values = rank.at(key).get<std::vector<double>>();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

// Returns the time of a round as a paced rank meets it: after a step and a sleep, until the last rank is done. It is
// the median of the slots in which no rank was late. If there are none, it is that of rounds in a row.
double round_time(const std::vector<json>& ranks, std::size_t kind) {
  std::vector<double> slots, warm;
  std::set<std::size_t> late;
  for (const json& rank : ranks) {
    const auto mine = rank.at("cold").at(kind).get<std::vector<double>>();
    slots.resize(mine.size());
    for (std::size_t i = 0; i < mine.size(); ++i) {
      slots[i] = std::max(slots[i], mine[i]);
      if (mine[i] == kLate) late.insert(i);
    }
    warm.push_back(rank.at("warm").at(kind).get<double>());
  }
  std::vector<double> in_time;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (late.count(i) == 0) in_time.push_back(slots[i]);
  }
  return in_time.empty() ? median(warm) : median(in_time);
}

}  // namespace

std::string calibrate_rank(ChildChannel& channel, const ChildTask& job) {
  const TrialSpec& spec = job.spec;
  if (const Transport& transport = find_transport(spec.transport); transport.prepare != nullptr) transport.prepare();
  const std::unique_ptr<Workload> workload = make_workload(spec.workload.on(channel.rank(), channel.local()));
  workload->load_data();  // a step that draws its samples would set the pace
  RankSlot& slot = channel.board().slot(channel.rank());
  Stepper stepper(*workload, channel.rank(), slot);
  stepper.gradient();
  Circle circle(channel, spec);
  channel.ready();
  slot.phase = Phase::kComputing;
  Measured measured;
  measure_slots(stepper, circle, measured);
  circle.close();
  return json{{"steps", measured.steps},
              {"vector_rates", measured.vector_rates},
              {"warm", measured.warm},
              {"cold", measured.cold}}
      .dump();
}

LaunchResult launch_or_throw(const LaunchOptions& options, const char* what) {
  LaunchResult launched = launch(options);
  if (launched.ok) return launched;
  throw Error(launched.interrupted ? ExitCode::kInterrupted : ExitCode::kTrialsFailed,
              std::string(what) + " failed: " + launched.failure.text);
}

Calibration calibrate(const TrialSpec& spec, const std::atomic<int>* interrupts, Fleet* fleet) {
  LaunchOptions options = launch_options(ChildTask{"calibrate", spec}, spec.workers(), interrupts);
  place(options, spec, make_plan(spec), fleet);
  std::vector<json> ranks;
  for (const RankOutcome& outcome : launch_or_throw(options, "calibration").ranks)
    ranks.push_back(json::parse(outcome.result));
  Calibration result;
  const std::vector<double> steps = pooled(ranks, "steps");
  result.step_median = seconds_to_duration(median(steps));
  result.step_p99 = seconds_to_duration(quantile(steps, 0.99));
  const double slots = std::ceil(kMargin * to_seconds(result.step_p99) / to_seconds(kCostStep));
  result.cost = kCostStep * static_cast<std::int64_t>(std::max(1.0, slots));
  result.vector_bytes_per_s = median(pooled(ranks, "vector_rates"));
  result.processors = usable_cores();
  std::array<double, kRounds> rounds{};
  for (std::size_t kind = 0; kind < kRounds; ++kind) rounds[kind] = round_time(ranks, kind);
  explain_messages(result, spec.workers(), rounds);
  return result;
}

}  // namespace hopbench
