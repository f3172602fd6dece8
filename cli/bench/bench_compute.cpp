#include "cli/bench/bench_compute.h"

#include <chrono>
#include <fstream>
#include <functional>
#include <map>
#include <thread>

#include "backends/base/error.h"
#include "backends/base/random.h"
#include "backends/compute/peak.h"
#include "backends/cuda/backend.h"
#include "backends/runtime/process/run_delay.h"
#include "models/fit.h"
#include "results/arithmetic/statistics.h"

namespace hopbench {
namespace {

constexpr double kBurst = 0.004;  // seconds of FMA before and after what is measured

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Returns the MiB of a line "NAME:  123 kB" of this process's status; 0 if the kernel has no such line.
double status_mib(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::stod(line.substr(name.size() + 1)) / 1024;
  }
  return 0;
}

double peak_now(const BenchWork& work) {
  if (work.device()) return cuda::matrix_rate(work.precision);
  // OpenMP's threads spin for a while after a step.
  if (work.threads > 1) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return fma_peak(work.threads, work.width, kBurst);
}

/// The time of one repeat. `disturbed`: other programs' work is in it.
struct Repeat {
  double seconds = 0;
  bool disturbed = false;
};

template <class F>
Repeat time_once(const BenchWork& work, const F& f) {
  if (work.device()) {
    const double begin = wall_seconds();
    f();
    return {wall_seconds() - begin, false};
  }
  if (work.threads == 1) {
    const double begin = thread_cpu_seconds();
    f();
    return {thread_cpu_seconds() - begin, false};
  }
  const Duration waited = process_run_delay();
  const double begin = wall_seconds();
  f();
  const double seconds = wall_seconds() - begin;
  const double delay = std::chrono::duration<double>(process_run_delay() - waited).count();
  return {seconds, delay > 0.02 * seconds};
}

template <class F, class Keep>
Timings measure_there(const BenchWork& work, const F& f, const Keep& keep) {
  Timings timings;
  const double before = peak_now(work);
  f();
  for (int i = 0; i < work.repeats; ++i) {
    timings.seconds.push_back(time_once(work, f).seconds);
    keep();
  }
  timings.peaks.assign(timings.seconds.size(), (before + peak_now(work)) / 2);
  return timings;
}

/// Repeats `f` and times it. Calls `keep` after each repeat that counts.
template <class F, class Keep>
Timings measure(const BenchWork& work, const F& f, const Keep& keep) {
  if (work.device()) return measure_there(work, f, keep);
  Timings timings;
  int spare = 2 * work.repeats;
  double before = peak_now(work);
  while (int(timings.seconds.size()) < work.repeats) {
    const Repeat repeat = time_once(work, f);
    const double after = peak_now(work);
    const double peak = (before + after) / 2;
    before = after;
    if (repeat.disturbed && spare-- > 0) continue;
    timings.disturbed += repeat.disturbed;
    timings.seconds.push_back(repeat.seconds);
    timings.peaks.push_back(peak);
    keep();
  }
  return timings;
}

/// A step of a model, with all that it needs.
class Stepper {
 public:
  Stepper(const ModelEntry& entry, const BenchWork& work)
      : backend_(create_backend(work.backend, {.threads = work.threads, .precision = work.precision})) {
    const std::optional<Inputs> known = inputs_of(entry.default_dataset, {});
    if (!known) find_dataset(entry.default_dataset).load({});  // says what is missing
    const Inputs inputs = known.value();
    WorkloadSpec spec;
    spec.model = entry.name;
    spec.batch = work.batch;
    spec.threads = work.threads;
    learner_ = entry.create(*backend_, spec, inputs.shape, inputs.classes, work.batch);
    x_ = learner_->initial(1, 0);
    g_ = Vec(x_.size(), x_.space());
    Random random({.seed = 1, .purpose = Purpose::kSynthetic});
    features_.resize(inputs.shape.size() * std::size_t(work.batch));
    for (float& feature : features_) feature = float(2 * random.uniform() - 1);
    for (int i = 0; i < work.batch; ++i) labels_.push_back(inputs.classes == 0 ? 0 : i % inputs.classes);
    if (!work.device()) return;
    inputs_there_ = Vec::from_host(features_, x_.space());
    labels_there_ = Vec::from_host({reinterpret_cast<const float*>(labels_.data()), labels_.size()}, x_.space());
  }

  Learner& learner() { return *learner_; }
  void step() {
    if (inputs_there_.size() > 0) return step_there();
    const Batch batch{int(labels_.size()), features_.data(), labels_.data()};
    learner_->gradient(x_.data(), batch, g_.mutable_data(), {});
  }

 private:
  void step_there() {
    CompiledNetwork* const network = learner_->anatomy().network;
    const bool running = x_.size() > learner_->trainable();
    float* const g = g_.mutable_data();
    const auto* const labels = reinterpret_cast<const std::int32_t*>(labels_there_.data());
    network->train(x_.data(), inputs_there_.data(), labels, g, running ? g + learner_->trainable() : nullptr,
                   int(labels_.size()), {});
  }

  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Learner> learner_;
  Vec x_, g_, inputs_there_, labels_there_;
  std::vector<float> features_;
  std::vector<std::int32_t> labels_;
};

using Direction = CompiledNetwork::Direction;

std::string direction_name(Direction direction) {
  return direction == Direction::kForward ? "forward" : direction == Direction::kBackwardWeights ? "weights" : "data";
}

/// Measures steps in which the network reports when each part of it is done.
std::vector<LayerBench> bench_layers(Stepper& stepper, const BenchWork& work) {
  const Learner::Anatomy anatomy = stepper.learner().anatomy();
  using Key = std::pair<int, int>;  // direction, layer: in the order of a step
  std::map<Key, double> spent;
  std::map<Key, LayerBench> rows;
  const auto clock = [&] { return work.threads == 1 && !work.device() ? thread_cpu_seconds() : wall_seconds(); };
  double last = 0;
  const bool tells = anatomy.network != nullptr && anatomy.network->watch([&](int layer, Direction direction) {
    const double now = clock();
    spent[{int(direction), layer}] += now - last;
    last = now;
  });
  if (!tells) return {};
  const auto step = [&] {
    spent.clear();
    last = clock();
    stepper.step();
    spent[{3, -1}] += clock() - last;
  };
  step();
  const Timings steps = measure(work, step, [&] {
    for (const auto& [key, seconds] : spent) rows[key].timings.seconds.push_back(seconds);
  });
  anatomy.network->watch({});
  std::vector<LayerBench> table;
  for (auto& [key, row] : rows) {
    const auto& [direction, layer] = key;
    row.timings.peaks = steps.peaks;
    row.name = layer < 0 ? "at the borders of the network" : anatomy.layers[std::size_t(layer)];
    row.direction = direction > 2 ? "" : direction_name(Direction(direction));
    row.flops = layer < 0 ? 0 : anatomy.forward_flops[std::size_t(layer)] * work.batch;
    table.push_back(row);
  }
  return table;
}

}  // namespace

double Timings::median_s() const { return median(seconds); }

double Timings::share(double flops) const {
  std::vector<double> shares;
  for (std::size_t i = 0; i < seconds.size(); ++i) shares.push_back(flops / seconds[i] / peaks[i]);
  return median(shares);
}

ModelBench bench_model(const std::string& model, const BenchWork& work) {
  ModelBench bench;
  bench.model = model;
  bench.batch = work.batch;
  bench.threads = work.threads;
  const ModelEntry& entry = find_model(model);
  if (entry.create == nullptr) {
    bench.skipped = "it computes nothing";
    return bench;
  }
  bench.idle_mib = status_mib("VmRSS");
  std::unique_ptr<Stepper> stepper;
  const double begin = wall_seconds();
  try {
    stepper = std::make_unique<Stepper>(entry, work);
  } catch (const Error& error) {
    bench.skipped = error.what();
    return bench;
  }
  const double made = wall_seconds();
  stepper->step();
  bench.setup_s = made - begin;
  bench.first_s = wall_seconds() - made;
  bench.parameters = stepper->learner().trainable();
  bench.flops = stepper->learner().flops_per_sample() * work.batch;
  bench.step = measure(
      work, [&] { stepper->step(); }, [] {});
  bench.peak_mib = status_mib("VmHWM");
  if (work.device()) bench.device = device_space()->use().remarks;
  if (work.layers) bench.layers = bench_layers(*stepper, work);
  return bench;
}

namespace {

struct HostOperation {
  const char *name, *against;
  double passes;
  std::function<void()> run;
};

/// Adds the best rate of three passes of each operation that is compared with `peer`. They are measured in turns with
/// it, since neighbours take part of the bandwidth. Returns the peer's own best rate.
double bench_beside(const PlainPass& peer, const std::vector<HostOperation>& operations, BandwidthBench& bench) {
  double limit = 0;
  std::vector<double> rates(operations.size(), 0.0);
  for (int turn = 0; turn < 3; ++turn) {
    for (const auto& way : peer.ways) limit = std::max(limit, pass_rate(peer.bytes, way));
    for (std::size_t i = 0; i < operations.size(); ++i) {
      if (operations[i].against == peer.name)
        rates[i] = std::max(rates[i], pass_rate(bench.operations[i].bytes, operations[i].run));
    }
  }
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].against != peer.name) continue;
    bench.operations[i].rates.push_back(rates[i]);
    bench.operations[i].shares.push_back(rates[i] / limit);
  }
  return limit;
}

}  // namespace

BandwidthBench bench_vectors(int repeats) {
  constexpr std::size_t kTerms = 4;
  const std::size_t n = floats_beyond_caches();
  Space& space = host_space();
  std::vector<Vec> vectors;
  for (std::size_t i = 0; i <= kTerms; ++i) vectors.emplace_back(n);  // zeros: touched once
  for (std::size_t i = 0; i <= kTerms; ++i) vectors[i].fill(1.0f / float(i + 1));
  float* y = vectors[kTerms].mutable_data();
  std::vector<const float*> terms;
  for (std::size_t i = 0; i < kTerms; ++i) terms.push_back(vectors[i].data());
  const std::vector<float> weights(kTerms, 1.0f / float(kTerms));
  volatile double sink = 0;

  BandwidthBench bench;
  const double bytes = double(n) * sizeof(float);
  bench.mib = bytes / (1 << 20);
  const std::vector<HostOperation> operations = {
      {"mean of 2", "triad", 3, [&] { space.weighted_sum(y, std::span(terms).first(2), weights, n); }},
      {"mean of 4", "sum of 4", 5, [&] { space.weighted_sum(y, terms, weights, n); }},
      {"axpy", "triad", 3, [&] { space.axpy(y, 0.5f, terms[0], n); }},
      {"scale", "copy", 2, [&] { space.scale(y, 0.999f, n); }},
      {"copy", "copy", 2, [&] { space.copy(y, terms[0], n); }},
      {"norm", "read", 1, [&] { sink = space.dot(y, y, n); }},
      {"dot", "read", 2, [&] { sink = space.dot(y, terms[0], n); }},
      {"sgd", "triad", 3, [&] { space.sgd(y, nullptr, terms[0], {.lr = 0.01f}, n); }},
      {"sgd, momentum", "triad", 5,
       [&] { space.sgd(y, vectors[3].mutable_data(), terms[0], {.lr = 0.01f, .momentum = 0.9f}, n); }}};
  for (const HostOperation& o : operations) bench.operations.push_back({o.name, o.against, o.passes * bytes, {}, {}});
  const std::map<std::string, std::vector<double>*> limits = {
      {"read", &bench.read}, {"copy", &bench.copy}, {"triad", &bench.triad}, {"sum of 4", &bench.sum}};
  const std::vector<PlainPass> plain = plain_passes(y, {terms[0], terms[1], terms[2], terms[3]}, n);
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (const PlainPass& peer : plain) limits.at(peer.name)->push_back(bench_beside(peer, operations, bench));
  }
  return bench;
}

}  // namespace hopbench
