#include "suites/advice/recording.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "backends/base/text.h"
#include "suites/language/draft.h"
#include "suites/tuning/calibrate_links.h"

namespace hopbench {
namespace {

constexpr std::int64_t kFewestSteps = 50, kMostSteps = 400;  // in which a rate is measured
constexpr int kRepeats = 20;
constexpr double kSmallModel = 4e6;  // bytes: up to this size TCP's segments are simulated, which takes time
constexpr double kPayload = 0.956;   // of links, for the segments' model: 1448 of 1514 bytes

/// Returns a line of the file; nothing if the value is the default.
template <class Value>
std::string unless(const Value& value, const Value& usual, const char* key, const std::string& text) {
  return value == usual ? "" : fmt::format("{} = {}\n", key, text);
}

std::string edges_text(const std::vector<Edge>& edges) {
  std::vector<std::string> pairs;
  for (const Edge& edge : edges) pairs.push_back(fmt::format("[{}, {}]", edge.first, edge.second));
  return "[" + join(pairs, ", ") + "]";
}

std::string model_text(const Recording& recording) {
  const WorkloadSpec& w = recording.spec.workload;
  std::string text =
      fmt::format("\n[model]  # {:.4g} MB\nname = {}\n", recording.model_bytes / 1e6, toml_text(w.model));
  text += unless(w.dataset, std::string(), "dataset.name", toml_text(w.dataset));
  text += unless(w.dataset_path, std::string(), "dataset.path", toml_text(w.dataset_path));
  text += fmt::format("batch = {}\n", w.batch);
  return text + unless(w.size, std::size_t{0}, "size", fmt::format("{}", w.size));
}

std::string compute_text(const Recording& recording, const Decomposition& steps) {
  const WorkloadSpec& w = recording.spec.workload;
  const Duration median = seconds_to_duration(steps.median);
  std::string text = fmt::format("\n[compute]\nbackend = {}\n", toml_text(w.backend));
  text += unless(w.threads, 1, "threads", fmt::format("{}", w.threads));
  text += fmt::format("pace = \"{}\"  # the median of the trace, which replaces it\n",
                      duration_text(std::max<std::int64_t>(median.count() / 1000 * 1000, 1000)));
  return text + fmt::format("vector_rate = \"{:.2f}GB/s\"\nnoise = 0  # the trace has it\n",
                            recording.costs.vector_bytes_per_s / 1e9);
}

std::string network_text(const Recording& recording) {
  std::string text = fmt::format("\n[network]  # over {}, each pair of ranks alone\n", recording.spec.transport);
  const std::set<int> machines(recording.machine_of.begin(), recording.machine_of.end());
  if (machines.size() > 1)
    text += fmt::format("hosts = [{}]\nservers_apart = false\n", fmt::join(recording.machine_of, ", "));
  const NetworkSpec& network = recording.network;
  if (network.overhead > Duration{})
    text += fmt::format("overhead = \"{}\"\noverhead_rate = {}\nprocessors = {}\n",
                        duration_text(network.overhead.count() / 1000 * 1000), rate_toml(network.overhead_rate),
                        network.processors);
  NetworkSpec links = network;
  if (machines.size() > 1 && recording.model_bytes <= kSmallModel) {
    text += fmt::format("queue = \"fifo\"\ngoodput = {}\n", kPayload);
    links.bandwidth /= kPayload;
    for (NetworkSpec::Link& link : links.links) link.bandwidth /= kPayload;
  }
  return text + links_toml(links);
}

std::string protocol_text(const TrialSpec& spec) {
  std::string text =
      fmt::format("\n[[protocol]]  # that the job was recorded with\nname = {}\n", toml_text(spec.protocol));
  text += unless(spec.label, spec.protocol, "label", toml_text(spec.label));
  for (const auto& [name, value] : spec.knobs.all()) {
    if (spec.knobs.given(name)) text += fmt::format("{} = {}\n", toml_key(name), knob_toml(value));
  }
  return text;
}

}  // namespace

TraceRows steps_of(const Recording& recording) {
  TraceRows rows;
  for (const RankRecord& rank : recording.record.ranks) {
    if (rank.server || rank.rank >= recording.spec.workers()) continue;
    for (const IterationMark& mark : rank.marks) {
      if (mark.samples <= 0 || mark.compute <= Duration{}) continue;
      const double share = double(recording.spec.workload.batch) / mark.samples;
      rows.push_back({rank.rank, std::int32_t(mark.iter), share * to_seconds(mark.compute)});
    }
  }
  return rows;
}

std::string cluster_toml(const Recording& recording, const Decomposition& steps, const std::string& trace,
                         const std::string& title) {
  const TrialSpec& spec = recording.spec;
  const std::int64_t measured = std::clamp<std::int64_t>(steps.steps, kFewestSteps, kMostSteps);
  std::string text = fmt::format("# {}\nschema = 1\nname = \"cluster\"\n", title);
  text += fmt::format("\n[run]\nworld_size = {}\niterations = {}\nrepeats = {}\nwarmup_time = \"0s\"\nseed = {}\n",
                      spec.workers(), measured, kRepeats, spec.seed);
  text += model_text(recording) + compute_text(recording, steps) + network_text(recording);
  text += "\n[transport]\nname = \"sim\"\n\n[topology]\n";
  text += spec.topology == "edges" ? fmt::format("edges = {}\n", edges_text(spec.edges))
                                   : fmt::format("name = {}\n", toml_text(spec.topology));
  text += "\n[[scenario]]\nname = \"recorded\"\ncompute = [\n";
  for (const std::string& rule : fit_trace(steps, trace).rules) text += "  " + rule + ",\n";
  text += "]\n" + protocol_text(spec) + "\n# What this recording does not tell:\n";
  for (const std::string& line : unknown_after(recording, steps)) text += "# - " + line + "\n";
  return text;
}

std::vector<std::string> unknown_after(const Recording& recording, const Decomposition& steps) {
  const double length = steps.median * double(steps.steps);
  std::vector<std::string> lines;
  lines.push_back(
      fmt::format("slowness that lasts or returns after more than {:.3g} s, the length of the recording", length));
  lines.emplace_back(
      "how gradients of smaller or larger batches take: seconds are taken to be in proportion to samples");
  lines.emplace_back("when the parts of a gradient are ready: they are taken to be by the layers' arithmetic");
  lines.emplace_back("what several messages at once do to links: each pair was measured alone");
  const std::set<int> machines(recording.machine_of.begin(), recording.machine_of.end());
  if (machines.size() == recording.machine_of.size() && machines.size() > 1)
    lines.emplace_back("whether a worker or its machine is slow: each machine has one worker");
  if (recording.network.bandwidth <= 0 && recording.pairs > 0)
    lines.emplace_back("the bandwidth: messages took no longer with more bytes");
  if (recording.contended > 0)
    lines.push_back(fmt::format("{} of {} pairs were measured while other programs took the cores", recording.contended,
                                recording.pairs));
  return lines;
}

}  // namespace hopbench
