#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <vector>

#include "backends/runtime/virtual/bench_sim.h"
#include "cli/bench/bench.h"
#include "results/arithmetic/statistics.h"
#include "results/files/context.h"
#include "suites/trial/execute.h"

namespace hopbench {
namespace {

// Returns a Hop run without its arithmetic. What remains is virtual time itself, with transfers that share links.
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
  spec.scenario.compute = {{.what = SlowdownKind::kBernoulli, .factor = 6.0, .probability = 1.0 / workers}};
  spec.costs.gradient = std::chrono::milliseconds(100);
  spec.costs.vector_bytes_per_s = 4e9;
  spec.network.bandwidth = 1.25e9;
  spec.what = MeasureKind::kConvergence;
  spec.stop = {StopSpec::Kind::kIterations, iterations};
  return spec;
}

double cpu_seconds(const TrialSpec& spec) {
  const std::clock_t begin = std::clock();
  simulate_trial(spec);
  return double(std::clock() - begin) / CLOCKS_PER_SEC;
}

double peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return double(usage.ru_maxrss) * 1024;
}

// Returns the memory that a rank adds to the process, from the peaks with all workers and with half of them. The model
// has sizes only, so its parameters are in neither. Call it first, since a peak never falls.
double bytes_a_rank(const BenchSimOptions& options) {
  const int half = options.workers / 2;
  simulate_trial(hop_without_arithmetic(half, options.iterations));
  const double before = peak_bytes();
  simulate_trial(hop_without_arithmetic(options.workers, options.iterations));
  return (peak_bytes() - before) / (options.workers - half);
}

struct Rates {
  std::vector<double> exchange, incast;  // messages/s
  std::vector<double> hop;               // s
};

Rates measure(const BenchSimOptions& options) {
  const TrialSpec hop = hop_without_arithmetic(options.workers, options.iterations);
  Rates rates;
  for (int i = 0; i < options.repeats; ++i) {  // in turns, so that all see the same machine
    const MessageBench exchange = run_exchange_bench(options.ranks, options.messages / (4 * options.ranks) + 1);
    rates.exchange.push_back(double(exchange.messages) / exchange.cpu_s);
    const MessageBench incast = run_incast_bench(options.incast, options.messages / options.incast + 1);
    rates.incast.push_back(double(incast.messages) / incast.cpu_s);
    rates.hop.push_back(cpu_seconds(hop));
  }
  return rates;
}

void print_json(const BenchSimOptions& options, const Rates& rates, double a_rank) {
  const nlohmann::json rows = {{{"bench", "exchange"},
                                {"ranks", options.ranks},
                                {"messages_per_cpu_s", rates.exchange},
                                {"median", median(rates.exchange)}},
                               {{"bench", "incast"},
                                {"workers", options.incast},
                                {"messages_per_cpu_s", rates.incast},
                                {"median", median(rates.incast)}},
                               {{"bench", "hop"},
                                {"workers", options.workers},
                                {"iterations", options.iterations},
                                {"cpu_s", rates.hop},
                                {"median", median(rates.hop)},
                                {"bytes_a_rank", a_rank}}};
  fmt::print("{}\n", nlohmann::json{{"schema_version", "1.0"},
                                    {"context", nlohmann::json::parse(context_json({"bench", "sim"}))},
                                    {"rows", rows}}
                         .dump(1));
}

void print_rates(const char* what, const std::string& who, const std::vector<double>& rates) {
  fmt::print("{}, {}: {:.0f} messages a second of CPU time (median of {}; {:.0f} to {:.0f})\n", what, who,
             median(rates), rates.size(), quantile(rates, 0.0), quantile(rates, 1.0));
}

}  // namespace

int command_bench_sim(const BenchSimOptions& options) {
  const double a_rank = bytes_a_rank(options);
  const Rates rates = measure(options);
  if (options.json) {
    print_json(options, rates, a_rank);
    return 0;
  }
  print_rates("exchange of 1-float messages", fmt::format("{} ranks", options.ranks), rates.exchange);
  print_rates("incast of 1 MB pushes", fmt::format("{} workers", options.incast), rates.incast);
  fmt::print(
      "Hop, timing only, {} workers x {} iterations, 4 MB models: {:.2f} s of CPU time (median of {}; {:.2f} to "
      "{:.2f}), "
      "{:.1f} KiB a rank\n",
      options.workers, options.iterations, median(rates.hop), rates.hop.size(), quantile(rates.hop, 0.0),
      quantile(rates.hop, 1.0), a_rank / 1024);
  return 0;
}

}  // namespace hopbench
