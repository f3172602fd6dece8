#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "backends/base/text.h"
#include "cli/places.h"
#include "cli/preflight.h"
#include "cli/run.h"
#include "cli/signals.h"
#include "suites/calibrate_links.h"
#include "suites/execute.h"

namespace hopbench {
namespace {

// Two trials with the same key have the same cost: the same arithmetic by as many ranks.
std::string calibration_key(const TrialSpec& spec) {
  const WorkloadSpec& w = spec.workload;
  return fmt::format("{} on {}{}, batch {}, {} x {} threads, {} workers", w.model, w.dataset,
                     w.augment == Augment::kNone ? "" : ", augmented", w.batch, w.backend, w.threads, w.workers);
}

void apply(const Calibrated& calibrated, TrialSpec& spec) {
  spec.costs.gradient = calibrated.cost;
  spec.step_p99 = calibrated.step_p99;
  if (spec.costs.vector_bytes_per_s == 0) spec.costs.vector_bytes_per_s = calibrated.vector_bytes_per_s;
}

// Without a cost no trial can run, so a mishap is given a second chance.
Calibration calibrate_twice(const TrialSpec& spec, Fleet* fleet) {
  try {
    return calibrate(spec, &count_interrupts(), fleet);
  } catch (const Error& error) {
    if (error.code() == ExitCode::kInterrupted || error.code() == ExitCode::kUsage) throw;
    std::fprintf(stderr, "  %s: once more\n", error.what());
    return calibrate(spec, &count_interrupts(), fleet);
  }
}

std::string text(Duration d) { return duration_text(d.count() / 1000 * 1000); }

std::string rate_text(double bytes_per_s) {
  return bytes_per_s > 0 ? fmt::format("\"{:.1f}MB/s\"", bytes_per_s / 1e6) : "0";
}

void print_links(const NetworkSpec& network) {
  fmt::print("# each pair of ranks alone; latency is half a round trip, bandwidth is each way's:\nlatency = \"{}\"\n",
             text(network.latency));
  fmt::print("bandwidth = {}\n", rate_text(network.bandwidth));
  if (network.links.empty()) return;
  fmt::print("links = [\n");
  for (const NetworkSpec::Link& link : network.links) {
    fmt::print("  {{ a = {}, b = {}", link.a, link.b);
    if (link.bandwidth > 0) fmt::print(", bandwidth = {}", rate_text(link.bandwidth));
    if (link.latency >= Duration{}) fmt::print(", latency = \"{}\"", text(link.latency));
    if (link.one_way) fmt::print(", one_way = true");
    fmt::print(" }},\n");
  }
  fmt::print("]\n");
}

}  // namespace

bool needs_calibration(const TrialSpec& spec) {
  return spec.transport != "sim" && spec.pace && spec.costs.gradient.count() == 0;
}

void calibrate_trials(std::vector<TrialSpec>& trials, std::vector<Calibrated>& known, Fleet* fleet) {
  for (TrialSpec& spec : trials) {
    if (!needs_calibration(spec)) continue;
    const TrialSpec everybody = spec.of_everybody();  // all variants have one pace
    const std::string key = calibration_key(everybody);
    auto found = std::find_if(known.begin(), known.end(), [&](const Calibrated& c) { return c.key == key; });
    if (found == known.end()) {
      std::fprintf(stderr, "calibrating %s\n", key.c_str());
      const Calibration c = calibrate_twice(everybody, fleet);
      std::fprintf(stderr,
                   "  a step takes %s (median), %s (99 %%) with all ranks stepping: every trial is paced to %s\n",
                   text(c.step_median).c_str(), text(c.step_p99).c_str(), text(c.cost).c_str());
      found = known.insert(known.end(), {key, c.cost, c.step_p99, c.vector_bytes_per_s});
    }
    apply(*found, spec);
  }
}

int command_calibrate(const CalibrateOptions& options) {
  Suite suite = load_suite(find_suite(options.suite), options.suite_options);
  keep_matching(options.filter, suite.trials);
  const auto real = std::find_if(suite.trials.begin(), suite.trials.end(),
                                 [](const TrialSpec& spec) { return spec.transport != "sim"; });
  if (suite.trials.empty()) throw usage_error("--filter " + options.filter + ": no trial has such an id");
  if (real == suite.trials.end()) {
    throw usage_error(options.suite +
                      ": nothing to calibrate: every measure of this suite is in virtual time, whose costs "
                      "come from the suite: add --set transport.name=\"gloo\" to measure this machine");
  }
  check_available({*real});
  const Calibration c = calibrate(*real, &count_interrupts());
  fmt::print("# {}\n# a step: {} median, {} at 99 %, all ranks stepping at once\n", calibration_key(*real),
             text(c.step_median), text(c.step_p99));
  fmt::print("[compute]\npace = \"{}\"\nvector_rate = \"{:.2f}GB/s\"\n\n", text(c.cost), c.vector_bytes_per_s / 1e9);
  fmt::print("[network]  # {}, every rank sending at once\noverhead = \"{}\"\nprocessors = {}\n", real->transport,
             text(c.overhead), c.processors);
  if (!options.links) fmt::print("latency = \"{}\"\n", text(c.latency));
  fmt::print("overhead_rate = {}\n", rate_text(c.overhead_rate));
  if (options.links) {
    print_links(network_from(calibrate_links(*real, &count_interrupts()), c, make_plan(*real).host_of));
  } else {
    fmt::print("bandwidth = 0  # of links: none measured (--links)\n");
  }
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace hopbench
