#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "backends/runtime/bench_sim.h"
#include "cli/bench.h"
#include "results/context.h"
#include "results/statistics.h"
#include "suites/execute.h"

namespace hopbench {
namespace {

// A Hop run whose arithmetic is left out: what remains is virtual time itself, transfers sharing links included.
TrialSpec hop_without_arithmetic(int workers, int iterations) {
  TrialSpec spec;
  spec.suite = spec.measure = spec.scenario_name = "bench";
  spec.protocol = spec.label = "hop";
  spec.knobs = KnobValues(find_protocol("hop").knobs);
  spec.knobs.set(find_protocol("hop").knobs, "backup", KnobValue{std::int64_t{1}});
  spec.workload.model = "timing_only";
  spec.workload.dataset = "";
  spec.workload.backend = "reference";
  spec.workload.size = 1'000'000;
  spec.workload.workers = workers;
  spec.workload.evaluation_samples = 0;
  spec.transport = "sim";
  spec.topology = "ring_based";
  spec.scenario.name = "random 6x";
  spec.scenario.compute = {{.what = ComputeRule::What::kBernoulli, .factor = 6.0, .probability = 1.0 / workers}};
  spec.costs.gradient = std::chrono::milliseconds(100);
  spec.costs.vector_bytes_per_s = 4e9;
  spec.network.bandwidth = 1.25e9;
  spec.what = What::kConvergence;
  spec.stop = {StopSpec::Kind::kIterations, iterations};
  return spec;
}

double wall_seconds(const TrialSpec& spec) {
  const auto begin = std::chrono::steady_clock::now();
  simulate_trial(spec);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double peak_gib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return double(usage.ru_maxrss) * 1024 / double(1ull << 30);
}

}  // namespace

int command_bench_sim(const BenchSimOptions& options) {
  std::vector<double> rates, walls;
  const int rounds = 200'000 / options.ranks;
  for (int i = 0; i < options.repeats; ++i) {
    const MessageBench bench = run_message_bench(options.ranks, rounds);
    rates.push_back(double(bench.messages) / bench.wall_s);
  }
  const TrialSpec hop = hop_without_arithmetic(options.workers, options.iterations);
  for (int i = 0; i < options.repeats; ++i) walls.push_back(wall_seconds(hop));
  if (options.json) {
    const nlohmann::json rows = {
        {{"bench", "messages"}, {"ranks", options.ranks}, {"messages_per_s", rates}, {"median", median(rates)}},
        {{"bench", "hop"},
         {"workers", options.workers},
         {"iterations", options.iterations},
         {"wall_s", walls},
         {"median", median(walls)},
         {"peak_gib", peak_gib()}}};
    fmt::print("{}\n", nlohmann::json{{"schema_version", "1.0"},
                                      {"context", nlohmann::json::parse(context_json({"bench", "sim"}))},
                                      {"rows", rows}}
                           .dump(1));
    return 0;
  }
  fmt::print("1-float messages, {} ranks: {:.0f} messages/s (median of {}; {:.0f} to {:.0f})\n", options.ranks,
             median(rates), options.repeats, quantile(rates, 0.0), quantile(rates, 1.0));
  fmt::print(
      "Hop, timing only, {} workers x {} iterations, 4 MB models: {:.2f} s (median of {}; {:.2f} to {:.2f}), "
      "peak {:.2f} GiB\n",
      options.workers, options.iterations, median(walls), options.repeats, quantile(walls, 0.0), quantile(walls, 1.0),
      peak_gib());
  return 0;
}

}  // namespace hopbench
