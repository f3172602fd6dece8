#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>

#include "backends/base/text.h"
#include "cli/commands/run.h"
#include "cli/install_paths.h"
#include "cli/preflight.h"
#include "cli/processes/join.h"
#include "cli/signals.h"
#include "cli/tell.h"
#include "suites/trial/execute.h"
#include "suites/tuning/calibrate_links.h"

namespace hopbench {
namespace {

// Returns a key. Trials with the same key have the same cost: the same arithmetic by the same number of ranks.
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

std::string text(Duration d) { return duration_text(d.count() / 1000 * 1000); }

void print_links(const NetworkSpec& network) {
  fmt::print("# each pair of ranks alone; latency is half a round trip, bandwidth is each way's:\n{}",
             links_toml(network));
}

std::string milliseconds_text(double seconds) { return fmt::format("{:.3g}", 1e3 * seconds); }

/// Prints comments: what each pair measured, and the TCP of each machine.
void print_pairs(const LinkFigures& figures) {
  for (const PairFigures& pair : figures.pairs) {
    fmt::print("# {} to {}: round trip {} ms;", pair.from, pair.to, milliseconds_text(pair.round_trip_s));
    for (const PairFigures::Sent& sent : pair.bodies)
      fmt::print(" {:.0f} KiB {},", sent.bytes / 1024, milliseconds_text(sent.seconds));
    fmt::print(" both ways at once {} ms{}\n", milliseconds_text(pair.both_ways_s),
               pair.contended ? "; cpu-contended" : "");
  }
  for (std::size_t rank = 0; rank < figures.ends.size(); ++rank) {
    const LinkEnd& end = figures.ends[rank];
    fmt::print("# rank {}{}: TCP {}, packets: {}\n", rank, end.machine.empty() ? "" : " on " + end.machine,
               end.congestion_control, end.packets);
  }
  const auto contended =
      std::count_if(figures.pairs.begin(), figures.pairs.end(), [](const PairFigures& pair) { return pair.contended; });
  if (contended > 0)
    tell(fmt::format(
        "{} of {} pairs were cpu-contended: other programs took the cores. Calibrate again when they are idle\n",
        contended, figures.pairs.size()));
}

void print_compute(const TrialSpec& spec, const Calibration& c) {
  fmt::print("# {}\n# a step: {} median, {} at 99 %, all ranks stepping at once\n", calibration_key(spec),
             text(c.step_median), text(c.step_p99));
  fmt::print("[compute]\npace = \"{}\"\nvector_rate = \"{:.2f}GB/s\"\n\n", text(c.cost), c.vector_bytes_per_s / 1e9);
}

void print_machine(const TrialSpec& spec, const Calibration& c, bool links) {
  fmt::print("[network]  # {}, every rank sending at once\noverhead = \"{}\"\nprocessors = {}\n", spec.transport,
             text(c.overhead), c.processors);
  if (!links) fmt::print("latency = \"{}\"\n", text(c.latency));
  fmt::print("overhead_rate = {}\n", rate_toml(c.overhead_rate));
  if (!links) {
    fmt::print("bandwidth = 0  # of links: none measured (--links)\n");
    return;
  }
  const LinkFigures figures = calibrate_links(spec, &count_interrupts());
  print_pairs(figures);
  print_links(network_from(figures.pairs, c, make_plan(spec).host_of));
}

/// Prints links between machines. The time that a machine's cores spend on messages counts as the links' there, since
/// rounds of all ranks cannot tell the two apart.
void print_machines(const TrialSpec& spec, Fleet& fleet) {
  const LinkFigures figures = calibrate_links(spec, &count_interrupts(), &fleet);
  print_pairs(figures);
  fmt::print("[network]  # {}\nhosts = [{}]\n", spec.transport, fmt::join(figures.machine_of, ", "));
  print_links(network_from(figures.pairs, {}, figures.machine_of));
}

/// Returns the first trial of the suite that runs in real processes.
TrialSpec real_trial(const CalibrateOptions& options) {
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
  return *real;
}

int calibrate_machines(const CalibrateOptions& options, const TrialSpec& spec) {
  RunOptions gather;
  gather.hosts = options.hosts;
  gather.ssh = options.ssh;
  gather.interface = options.interface;
  gather.command_line = options.command_line;
  const Gathering gathering(gather);
  gathering.check({spec});
  try {
    if (gathering.fleet()->hosts() < 2)
      throw usage_error(options.hosts + ": all processes are on one machine: leave --hosts out, and take --links");
    print_compute(spec, calibrate_twice(spec, gathering.fleet()));
    print_machines(spec, *gathering.fleet());
  } catch (const Error& error) {
    gathering.fleet()->set_exit_code(static_cast<int>(error.code()));
    throw;
  }
  gathering.fleet()->set_exit_code(static_cast<int>(ExitCode::kOk));
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace

Calibration calibrate_twice(const TrialSpec& spec, Fleet* fleet) {
  try {
    return calibrate(spec, &count_interrupts(), fleet);
  } catch (const Error& error) {
    if (error.code() == ExitCode::kInterrupted || error.code() == ExitCode::kUsage) throw;
    std::fprintf(stderr, "  %s: once more\n", error.what());
    return calibrate(spec, &count_interrupts(), fleet);
  }
}

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
  const TrialSpec spec = real_trial(options);
  if (!options.hosts.empty()) return calibrate_machines(options, spec);
  const Calibration c = calibrate(spec, &count_interrupts());
  print_compute(spec, c);
  print_machine(spec, c, options.links);
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace hopbench
