#include "cli/bench/transport_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "backends/base/error.h"
#include "backends/base/json_value.h"
#include "backends/base/process/cores.h"
#include "backends/base/ran_out.h"
#include "backends/runtime/process/process.h"
#include "backends/transport/wire.h"
#include "protocols/node/collectives.h"
#include "suites/trial/plan.h"

namespace hopbench {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr const char* kOurReason = "the bench";

// The operation as protocols do it, over a Node.
class OurExchange : public RankExchange {
 public:
  OurExchange(Node& node, const ExchangeSpec& spec, Space& space)
      : node_(node),
        spec_(spec),
        space_(space),
        heard_(heard_by(spec)),
        x_(spec.floats, space),
        mean_(spec.operation == Operation::kAllReduce ? spec.floats : 0, space) {}

  void once() override {
    operate();
    if (spec_.device) device_space()->finish();
  }

  std::span<const float> checked() override {
    seen_.resize(spec_.floats);
    for (std::size_t i = 0; i < seen_.size(); ++i) seen_[i] = pattern(spec_.rank, i);
    x_ = Vec::from_host(seen_, space_);
    once();
    const bool echo = spec_.operation == Operation::kPingPong && spec_.rank == 0;
    const Payload result = echo ? echo_ : spec_.operation == Operation::kAllReduce ? mean_.share() : x_.share();
    result.space().read(result.data(), seen_.data(), seen_.size());
    return seen_;
  }

 private:
  void operate() {
    ++k_;
    if (spec_.operation == Operation::kPingPong) return ping_pong();
    if (spec_.operation == Operation::kAverage) return average();
    ring_mean(node_, node_.workers(), k_, x_.share(), mean_, 0, kOurReason);
  }

  void ping_pong() {
    const int peer = 1 - spec_.rank;
    if (spec_.rank == 0) node_.send(peer, kParams, k_, x_.share());
    Message message = node_.recv(is_from(kParams, peer, k_), kOurReason);
    if (spec_.rank == 0) {
      echo_ = std::move(message.body);
    } else {
      node_.send(peer, kParams, k_, std::move(message.body));
    }
  }

  void average() {
    const Payload mine = x_.share();
    for (int step = 1; step <= spec_.neighbours; ++step)
      node_.send((spec_.rank + step) % spec_.size, kParams, k_, mine);
    std::vector<Term> terms = terms_of(node_.gather(heard_, spec_.neighbours, is(kParams, k_), kOurReason));
    terms.push_back({.sender = spec_.rank, .tag = k_, .value = mine});
    x_ = hopbench::average(node_, k_, std::move(terms));
    keep_at_first(mine);
  }

  // Peers read a vector while this rank makes the next ones, so up to four are in use, the fourth only when a peer is
  // late. Keeping the first three makes all four in the warm-up, where the first touch of their pages belongs.
  void keep_at_first(const Payload& vector) {
    constexpr Iter kKept = 3;
    if (k_ < kKept) kept_.push_back(vector);
    if (k_ == kKept) kept_.clear();
  }

  Node& node_;
  const ExchangeSpec& spec_;
  Space& space_;
  const std::vector<int> heard_;
  Vec x_, mean_;
  std::vector<float> seen_;
  Payload echo_;
  std::vector<Payload> kept_;
  Iter k_ = -1;
};

/// The limit of an average on a device: vectors of this process alone, averaged in place.
class DeviceAverage : public RankExchange {
 public:
  explicit DeviceAverage(const ExchangeSpec& spec)
      : spec_(spec),
        backend_(create_backend("cuda", {.local_rank = spec.rank})),
        weights_(heard_by(spec).size() + 1, 1.0f / float(heard_by(spec).size() + 1)) {
    for (std::size_t i = 0; i < weights_.size(); ++i) vectors_.emplace_back(spec.floats, backend_->space());
  }
  void once() override {
    std::vector<const float*> terms;
    for (const Vec& vector : vectors_) terms.push_back(vector.data());
    backend_->space().weighted_sum(vectors_.back().mutable_data(), terms, weights_, spec_.floats);
    device_space()->finish();
  }
  std::span<const float> checked() override {
    std::vector<int> ranks = heard_by(spec_);
    ranks.push_back(spec_.rank);
    seen_.resize(spec_.floats);
    for (std::size_t v = 0; v < ranks.size(); ++v) {
      for (std::size_t i = 0; i < seen_.size(); ++i) seen_[i] = pattern(ranks[v], i);
      vectors_[v] = Vec::from_host(seen_, backend_->space());
    }
    once();
    seen_ = vectors_.back().to_host();
    return seen_;
  }

 private:
  const ExchangeSpec spec_;
  const std::unique_ptr<Backend> backend_;
  const std::vector<float> weights_;
  std::vector<Vec> vectors_;
  std::vector<float> seen_;
};

void add_rank(WayTimes& times, const std::vector<double>& single) {
  times.mean = std::max(times.mean, std::accumulate(single.begin(), single.end(), 0.0) / double(single.size()));
  times.single.insert(times.single.end(), single.begin(), single.end());
}

struct Timed {
  std::vector<double> single;
  std::int64_t wrong = 0;
};

Timed time_it(RankExchange& exchange, const WayBench& bench, ChildChannel& channel) {
  RankSlot& slot = channel.board().slot(channel.rank());
  for (int i = 0; i < bench.warmup; ++i) exchange.once();
  const std::int64_t start = channel.ready();
  slot.phase = Phase::kRunning;
  while (Clock::now().time_since_epoch().count() < start) {
  }
  Timed timed;
  timed.single.reserve(std::size_t(bench.iterations));
  auto before = Clock::now();
  for (int i = 0; i < bench.iterations; ++i) {
    exchange.once();
    const auto now = Clock::now();
    timed.single.push_back(std::chrono::duration<double>(now - before).count());
    before = now;
    slot.beats.fetch_add(1, std::memory_order_relaxed);
  }
  const bool ignorant = bench.exchange.operation == Operation::kPingPong && channel.rank() != 0;
  const std::span<const float> got = exchange.checked();
  if (!ignorant) timed.wrong = count_wrong(bench.exchange, got);
  return timed;
}

std::vector<int> peers_of(const ExchangeSpec& spec) {
  std::set<int> peers;
  const int reach = spec.operation == Operation::kAverage ? spec.neighbours : 1;
  for (int step = 1; step <= reach; ++step) {
    peers.insert((spec.rank + step) % spec.size);
    peers.insert((spec.rank + spec.size - step) % spec.size);
  }
  return {peers.begin(), peers.end()};
}

std::string end_text(int status) {
  return WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                             : "exit code " + std::to_string(WEXITSTATUS(status));
}

/// Returns all that a program prints. Throws Error: kEnvironment if it cannot be started, kTrialsFailed if it fails.
std::string output_of(const std::string& command) {
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw environment_error("cannot start " + command);
  std::string text;
  char buffer[4096];
  for (std::size_t n = 0; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
  constexpr int kNotFound = 127;  // of a shell
  const int status = pclose(pipe);
  if (status == 0) return text;
  const std::string failed = command + " failed: " + end_text(status) + " (see above)";
  throw WIFEXITED(status) && WEXITSTATUS(status) == kNotFound ? environment_error(failed) : trial_error(failed);
}

// Runs the operation over Open MPI, which spins while it waits. With more ranks than cores it is made to yield.
WayTimes over_mpi(const WayBench& bench) {
  const ExchangeSpec& e = bench.exchange;
  const bool crowded = e.size > usable_cores();
  const json j = json::parse(output_of(fmt::format(
      "mpirun -n {} --allow-run-as-root --oversubscribe --bind-to none --mca btl self,vader --mca mpi_yield_when_idle "
      "{} "
      "'{}' {} {} {} {} {}",
      e.size, int(crowded), bench.mpi_peer, int(e.operation), e.floats, e.neighbours, bench.iterations, bench.warmup)));
  WayTimes times;
  times.wrong = j.at("wrong");
  for (const json& rank : j.at("single")) {
    add_rank(times, rank.get<std::vector<double>>());
    if (e.operation == Operation::kPingPong) break;
  }
  return times;
}

// Returns a trial that has only ranks.
TrialSpec spec_of(const ExchangeSpec& exchange) {
  TrialSpec spec;
  spec.protocol = spec.label = "dpsgd";
  spec.knobs = KnobValues(find_protocol("dpsgd").knobs);
  spec.workload.model = "timing_only";
  spec.workload.backend = "reference";
  spec.workload.size = exchange.floats;
  spec.workload.workers = exchange.size;
  spec.topology = "ring";
  return spec;
}

Timed time_ours(ChildChannel& channel, const WayBench& bench) {
  const ExchangeSpec& exchange = bench.exchange;
  const Transport& transport = find_transport(bench.way);
  if (transport.prepare != nullptr) transport.prepare();
  std::unique_ptr<Backend> device;
  if (exchange.device) device = create_backend("cuda", {.local_rank = exchange.rank});
  const WireOptions wire_options{.rank = exchange.rank,
                                 .size = exchange.size,
                                 .peers = peers_of(exchange),
                                 .interface = exchange.interface,
                                 .connect_timeout = exchange.timeout,
                                 .body_bytes = exchange.floats * sizeof(float)};
  const std::unique_ptr<Wire> wire = transport.connect(wire_options, channel);
  const TrialSpec spec = spec_of(exchange);
  const Plan plan = make_plan(spec);
  const std::unique_ptr<Workload> workload = make_workload(spec.workload);
  ProcessRuntime runtime({.rank = exchange.rank,
                          .size = exchange.size,
                          .peers = wire_options.peers,
                          .pace = false,
                          .slot = &channel.board().slot(channel.rank())},
                         *wire);
  Node node(runtime, *workload, node_options(spec, plan, exchange.rank, &channel.board().credits()));
  Timed timed;
  try {
    runtime.run([&] {
      OurExchange ours(node, exchange, device ? device->space() : host_space());
      timed = time_it(ours, bench, channel);
    });
  } catch (const std::exception& error) {
    channel.fail(failure_of(error));  // before the wire is gone, when the peers report this rank
    throw;
  }
  return timed;
}

/// Waits for all ranks. The first one to finish would close connections that another still reads from.
void leave_together(ChildChannel& channel) {
  std::vector<int> others;
  for (int rank = 0; rank < channel.size(); ++rank) {
    if (rank != channel.rank()) others.push_back(rank);
  }
  channel.exchange(others, std::vector<std::string>(others.size()));
}

std::unique_ptr<RankExchange> make_bare(const WayBench& bench, Meeting& meeting) {
  if (bench.way == "in place" && bench.exchange.device) return std::make_unique<DeviceAverage>(bench.exchange);
  if (bench.way == "in place") return local_average(bench.exchange);
  if (bench.way == "bare shm") return bare_shm(bench.exchange, meeting);
  constexpr std::string_view kGloo = "bare gloo";
  HB_ASSERT(bench.way.starts_with(kGloo));
  return bare_gloo(bench.exchange, bench.way.substr(std::min(bench.way.size(), kGloo.size() + 1)), meeting);
}

}  // namespace

std::vector<std::string> ways_of(Operation operation, bool device) {
  std::vector<std::string> ways;
  bool gloo = false;
  for (const Transport& transport : transports()) {
    if (transport.chooses || !transport.unavailable().empty()) continue;
    ways.emplace_back(transport.name);
    gloo = gloo || ways.back() == "gloo";
  }
  if (operation == Operation::kAverage) ways.emplace_back("in place");
  if (device) return ways;
  if (operation != Operation::kAllReduce) ways.emplace_back("bare shm");
  if (!gloo) return ways;
  if (operation != Operation::kAllReduce) {
    ways.emplace_back("bare gloo");
  } else {
    for (const char* algorithm : {"ring", "bcube", "ring_chunked", "halving_doubling"})
      ways.push_back(std::string("bare gloo ") + algorithm);
  }
  return ways;
}

std::string to_text(const WayBench& bench) {
  const ExchangeSpec& e = bench.exchange;
  return json{{"way", bench.way},         {"operation", int(e.operation)},  {"size", e.size},
              {"floats", e.floats},       {"neighbours", e.neighbours},     {"device", e.device},
              {"interface", e.interface}, {"iterations", bench.iterations}, {"warmup", bench.warmup}}
      .dump();
}

WayBench way_bench_from_text(const std::string& text) {
  try {
    const json j = json::parse(text);
    WayBench bench{.way = j.at("way"), .exchange = {}};
    read_value(j.at("iterations"), bench.iterations);
    read_value(j.at("warmup"), bench.warmup);
    bench.exchange.operation = static_cast<Operation>(integer_of<int>(j.at("operation")));
    read_value(j.at("size"), bench.exchange.size);
    read_value(j.at("floats"), bench.exchange.floats);
    read_value(j.at("neighbours"), bench.exchange.neighbours);
    bench.exchange.device = j.at("device");
    bench.exchange.interface = j.at("interface");
    return bench;
  } catch (const std::exception& error) {
    throw trial_error(fmt::format("what to measure cannot be read: {}: run the bench again", error.what()));
  }
}

std::string bench_rank(ChildChannel& channel, const ChildTask& job) {
  WayBench mine = way_bench_from_text(job.bench);
  mine.exchange.rank = channel.rank();
  Timed timed;
  if (const auto& ways = transports();
      std::any_of(ways.begin(), ways.end(), [&](const Transport& transport) { return transport.name == mine.way; })) {
    timed = time_ours(channel, mine);
  } else {
    const std::unique_ptr<RankExchange> bare = make_bare(mine, channel);
    timed = time_it(*bare, mine, channel);
    leave_together(channel);
  }
  return json{{"single", timed.single}, {"wrong", timed.wrong}}.dump();
}

WayTimes bench_way(const WayBench& bench, const std::atomic<int>* interrupts) {
  if (bench.way == "open mpi") return over_mpi(bench);
  const ChildTask job{.role = "bench", .spec = spec_of(bench.exchange), .bench = to_text(bench)};
  LaunchOptions options;
  options.command = {"", "rank"};
  options.ranks = bench.exchange.size;
  options.job = to_text(job);
  options.rendezvous_timeout = bench.exchange.timeout;
  options.interrupts = interrupts;
  const LaunchResult launched = launch(options);
  if (!launched.ok) {
    throw Error(launched.interrupted ? ExitCode::kInterrupted : ExitCode::kTrialsFailed,
                bench.way + ": " + launched.failure.text);
  }
  WayTimes times;
  for (std::size_t rank = 0; rank < launched.ranks.size(); ++rank) {
    const json j = json::parse(launched.ranks[rank].result);
    times.wrong += integer_of<std::int64_t>(j.at("wrong"));
    if (bench.exchange.operation == Operation::kPingPong && rank > 0) continue;
    add_rank(times, j.at("single").get<std::vector<double>>());
  }
  return times;
}

}  // namespace hopbench
