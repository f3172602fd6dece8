#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>

#include "backends/base/process/signals.h"
#include "backends/base/process/tell.h"
#include "backends/base/text.h"
#include "cli/run.h"
#include "suites/campaign/adjust.h"
#include "suites/campaign/calibrations.h"
#include "suites/campaign/install_paths.h"
#include "suites/campaign/join.h"
#include "suites/campaign/preflight.h"
#include "suites/trial/execute.h"
#include "suites/tuning/calibrate_links.h"

namespace hopbench {
namespace {

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
  const Gathering gathering(options);
  gathering.check({spec});
  return gathering.telling_all([&] {
    if (gathering.fleet()->hosts() < 2)
      throw usage_error(options.hosts + ": all processes are on one machine: leave --hosts out, and take --links");
    print_compute(spec, calibrate_twice(spec, gathering.fleet()));
    print_machines(spec, *gathering.fleet());
    return static_cast<int>(ExitCode::kOk);
  });
}

}  // namespace

int command_calibrate(const CalibrateOptions& options) {
  const TrialSpec spec = real_trial(options);
  if (!options.hosts.empty()) return calibrate_machines(options, spec);
  const Calibration c = calibrate(spec, &count_interrupts());
  print_compute(spec, c);
  print_machine(spec, c, options.links);
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace hopbench
