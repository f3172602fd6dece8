// Vector operations on a device, each compared with the rate of the device's own copy, measured in turns.
#include <chrono>
#include <functional>

#include "backends/base/vec.h"
#include "backends/compute/backend.h"
#include "cli/bench/bench_compute.h"

namespace hopbench {
namespace {

constexpr std::size_t kNumbers = 9'225'610;  // of VGG-11: 36.9 MB
constexpr int kTogether = 50;  // operations that are timed together, since one takes about as long as its launch

double seconds_each(DeviceSpace& space, const std::function<void()>& operation) {
  using Clock = std::chrono::steady_clock;
  operation();
  space.finish();
  const Clock::time_point begin = Clock::now();
  for (int i = 0; i < kTogether; ++i) operation();
  space.finish();
  return std::chrono::duration<double>(Clock::now() - begin).count() / kTogether;
}

struct VectorOperation {
  const char* name;
  double passes;
  std::function<void()> run;
};

std::vector<VectorOperation> vector_operations(Space& space, std::vector<Vec>& vectors,
                                               const std::vector<float>& weights) {
  constexpr std::size_t n = kNumbers;
  float* const y = vectors[4].mutable_data();
  float* const m = vectors[3].mutable_data();
  std::vector<const float*> terms;
  for (const Vec& vector : std::span(vectors).first(4)) terms.push_back(vector.data());
  const auto sum = [=, &space, &weights](std::size_t k) {
    space.weighted_sum(y, std::span(terms).first(k), std::span(weights).first(k), n);
  };
  return {{"mean of 2", 3, [=] { sum(2); }},
          {"mean of 4", 5, [=] { sum(4); }},
          {"axpy", 3, [=, &space] { space.axpy(y, 0.5f, terms[0], n); }},
          {"scale", 2, [=, &space] { space.scale(y, 0.999f, n); }},
          {"norm", 1, [=, &space] { space.dot(y, y, n); }},
          {"dot", 2, [=, &space] { space.dot(y, terms[0], n); }},
          {"sgd", 3, [=, &space] { space.sgd(y, nullptr, terms[0], {.lr = 0.01f}, n); }},
          {"sgd, momentum", 5, [=, &space] { space.sgd(y, m, terms[0], {.lr = 0.01f, .momentum = 0.9f}, n); }}};
}

}  // namespace

BandwidthBench bench_device_vectors(const BenchWork& work) {
  const std::unique_ptr<Backend> backend = create_backend(work.backend, {.precision = work.precision});
  auto& space = dynamic_cast<DeviceSpace&>(backend->space());
  std::vector<Vec> vectors;
  for (int i = 0; i < 5; ++i) {
    vectors.emplace_back(kNumbers, space);
    vectors.back().fill(1.0f / float(i + 1));
  }
  const std::vector<float> weights(4, 0.25f);
  const std::vector<VectorOperation> all = vector_operations(space, vectors, weights);
  const double bytes = double(kNumbers) * sizeof(float);
  BandwidthBench bench;
  bench.mib = bytes / (1 << 20);
  for (const VectorOperation& o : all) bench.operations.push_back({o.name, "copy", o.passes * bytes, {}, {}});
  for (int repeat = 0; repeat < work.repeats; ++repeat) {
    float* const to = vectors[4].mutable_data();
    const float* const from = vectors[0].data();
    const double copy = 2 * bytes / seconds_each(space, [&] { space.copy(to, from, kNumbers); });
    bench.copy.push_back(copy);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double rate = bench.operations[i].bytes / seconds_each(space, all[i].run);
      bench.operations[i].rates.push_back(rate);
      bench.operations[i].shares.push_back(rate / copy);
    }
  }
  return bench;
}

}  // namespace hopbench
