#include "suites/advice/cluster.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "backends/base/printable.h"
#include "backends/base/text.h"
#include "models/workload.h"
#include "suites/campaign/install_paths.h"
#include "suites/language/draft.h"
#include "suites/trial/plan.h"
#include "suites/trial/ties.h"

namespace hopbench {
namespace {

/// A [[protocol]] as text, with the name that it has in tables.
struct Block {
  std::string label, name, text;
};

std::string text_of(const Value& table, const std::string& key) {
  const Entry* entry = table.find(key);
  return entry == nullptr ? "" : entry->value.text;
}

std::vector<Block> blocks_of(const std::string& text, const std::string& file) {
  Mistakes mistakes;
  const std::optional<Value> root = parse_document(text, file, mistakes);
  mistakes.throw_if_any();
  std::vector<Block> blocks;
  const Entry* list = root->find("protocol");
  if (list == nullptr || !list->value.is(Value::Type::kArray)) return blocks;
  for (const Value& table : list->value.items) {
    Block block{text_of(table, "label"), text_of(table, "name"), "\n[[protocol]]\n"};
    if (block.label.empty()) block.label = block.name;
    for (const Entry& entry : table.entries)
      block.text += fmt::format("{} = {}\n", toml_key(entry.key), to_toml(entry.value));
    blocks.push_back(std::move(block));
  }
  return blocks;
}

/// The cluster file's text, and its protocols.
struct File {
  std::string text, name;
  std::vector<Block> protocols;
};

File read_cluster_text(const std::string& path) {
  if (path != "-" && access(path.c_str(), R_OK) != 0) {
    throw usage_error(
        fmt::format("cluster file {}: cannot be read ({}): docs/advice.md shows how to write one, and "
                    "hopbench record makes one",
                    quotable(path), std::strerror(errno)));
  }
  File file{read_suite_file(path), path == "-" ? "(standard input)" : path, {}};
  Mistakes mistakes;
  const std::optional<Value> root = parse_document(file.text, file.name, mistakes);
  mistakes.throw_if_any();
  for (const char* key : {"measure", "matrix"}) {
    if (const Entry* entry = root->find(key))
      mistakes.add(entry->place, fmt::format("'{}' has no place in a cluster file, which describes machines and a job: "
                                             "take it out",
                                             key));
  }
  mistakes.throw_if_any();
  file.protocols = blocks_of(file.text, file.name);
  return file;
}

const Block* find(const std::vector<Block>& blocks, const std::string& label) {
  const auto found =
      std::find_if(blocks.begin(), blocks.end(), [&](const Block& block) { return block.label == label; });
  return found == blocks.end() ? nullptr : &*found;
}

/// Returns the label that a protocol chosen by its label or name has; Error(kUsage) if none has it, or several do.
std::string label_of(const std::string& chosen, const File& file, const std::vector<Block>& candidates) {
  std::vector<std::string> labels, of_name;
  for (const std::vector<Block>* blocks : {&file.protocols, &candidates}) {
    for (const Block& block : *blocks) {
      labels.push_back(block.label);
      if (block.name == chosen) of_name.push_back(block.label);
    }
  }
  if (candidates.empty() || std::find(labels.begin(), labels.end(), chosen) != labels.end()) return chosen;
  if (of_name.size() == 1) return of_name.front();
  if (of_name.empty()) throw usage_error(unknown("candidate", chosen, labels, "in --present"));
  throw usage_error(
      fmt::format("--present {}: several variants are of it: name one, '{}'", chosen, fmt::join(of_name, "' or '")));
}

std::string present_of(const File& file, const std::vector<Block>& candidates, const std::string& chosen) {
  if (!chosen.empty()) return label_of(chosen, file, candidates);
  if (!file.protocols.empty()) return file.protocols.front().label;
  const Block* block = find(candidates, "allreduce");
  if (block != nullptr && block->name != "allreduce")
    throw usage_error(
        fmt::format("candidate 'allreduce' is {}: choose another label for it, or name the present "
                    "protocol with --present",
                    block->name));
  return "allreduce";
}

/// Returns what has to follow the file's text so that it has the present protocol.
std::string text_of_present(const File& file, const std::vector<Block>& candidates, const std::string& present) {
  if (find(file.protocols, present) != nullptr) return "";
  if (const Block* block = find(candidates, present)) return block->text;
  return fmt::format("\n[[protocol]]\nname = {}\n", toml_text(present));
}

/// Returns the candidates. Error(kUsage) for a mistake in one whatever the cluster is, for two of the same label, and
/// if there are none.
std::vector<Block> candidates_of(const ClusterOptions& options) {
  if (options.candidates.empty()) return {};
  const std::string& file = options.candidates_name;
  std::vector<Block> candidates = blocks_of(options.candidates, file);
  if (candidates.empty()) throw usage_error(file + ": there is no [[protocol]] in it");
  std::set<std::string> labels;
  for (const Block& block : candidates) {
    if (!labels.insert(block.label).second)
      throw usage_error(fmt::format("{}: '{}' is there twice: give one a label of its own", file, block.label));
    try {
      Mistakes mistakes;
      read_suite("schema = 1\n" + block.text, file, {}, mistakes);
      mistakes.throw_if_any();
    } catch (const SuiteError& error) {
      throw usage_error(fmt::format("{}: '{}': {}", file, block.label, error.mistakes().front().message));
    }
  }
  return candidates;
}

/// Returns the text with all candidates that are possible. `text` must be right without them.
std::string with_possible(std::string text, const File& file, const std::vector<Block>& candidates,
                          const SuiteOptions& options, ClusterFile& cluster) {
  const std::string base = text;
  for (const Block& block : candidates) {
    if (block.label == cluster.present || find(file.protocols, block.label) != nullptr) continue;
    try {
      parse_suite(base + block.text, file.name, options);
      text += block.text;
    } catch (const SuiteError& error) {
      cluster.left_out.push_back({block.label, error.mistakes().front().message});
    }
  }
  return text;
}

/// Returns the suite's own keys. The text must be right.
Layer keys_of(const std::string& text, const std::string& file, const SuiteOptions& options) {
  Mistakes mistakes;
  return own_keys(read_suite(text, file, options, mistakes), nullptr, {});
}

bool says_links(const Layer& keys) {
  return keys.contains("network.bandwidth") || keys.contains("network.preset") || keys.contains("network.links");
}

void keep_scenario(Suite& suite, const std::string& chosen) {
  std::set<std::string> names;
  for (const TrialSpec& spec : suite.trials) names.insert(spec.scenario_name);
  if (!chosen.empty() && !names.contains(chosen))
    throw usage_error(fmt::format("{}: no scenario '{}': it has {}", suite.file, chosen, fmt::join(names, ", ")));
  if (chosen.empty() && names.size() > 1)
    throw usage_error(fmt::format("{}: has {} scenarios: choose one by --scenario: {}", suite.file, names.size(),
                                  fmt::join(names, ", ")));
  if (!chosen.empty()) std::erase_if(suite.trials, [&](const TrialSpec& spec) { return spec.scenario_name != chosen; });
}

/// Returns the bytes/s of the narrowest link that a message may cross; 0 if no link is limited.
double narrowest(const NetworkSpec& network) {
  double least = network.bandwidth * network.goodput;
  for (const NetworkSpec::Link& link : network.links) {
    if (link.bandwidth > 0) least = least > 0 ? std::min(least, link.bandwidth * network.goodput) : link.bandwidth;
  }
  return least;
}

double model_bytes_of(const TrialSpec& spec) {
  if (spec.costs.wire_bytes > 0) return double(spec.costs.wire_bytes);
  if (spec.workload.size > 0) return 4.0 * double(spec.workload.size);
  return 4.0 * double(make_workload(spec.workload)->size());
}

}  // namespace

std::string shipped_candidates() { return read_suite_file(shipped_file("suites/advice/candidates.toml")); }

std::vector<TrialSpec> ClusterFile::trials_of(const std::string& label) const {
  std::vector<TrialSpec> found;
  for (const TrialSpec& spec : suite.trials) {
    if (spec.label == label) found.push_back(spec);
  }
  return found;
}

namespace {

/// Returns the trial with so many iterations that a lead of some workers adds little to its rate, if that is feasible.
TrialSpec long_enough(TrialSpec spec) {
  constexpr std::int64_t kMost = 50;  // times the iterations that the file asks for
  if (spec.stop.kind != StopSpec::Kind::kIterations) return spec;
  const std::int64_t enough = kIterationsPerLead * gap_bound_of(spec, make_plan(spec));
  spec.stop.amount = std::max(spec.stop.amount, std::min(enough, kMost * spec.stop.amount));
  return spec;
}

}  // namespace

ClusterFile read_cluster(const std::string& path, const ClusterOptions& options) {
  const File file = read_cluster_text(path);
  const std::vector<Block> candidates = candidates_of(options);
  SuiteOptions changed = options.suite;
  changed.sets.emplace_back("transport.name=\"sim\"");
  ClusterFile cluster;
  cluster.present = present_of(file, candidates, options.present);
  const std::string base = file.text + text_of_present(file, candidates, cluster.present);
  SuiteOptions once = changed;
  once.repeats = 1;
  parse_suite(base, file.name, once);  // its mistakes are the cluster file's
  const Layer keys = keys_of(base, file.name, changed);
  cluster.knows_network = says_links(keys);
  if (!keys.contains("run.repeats")) changed.repeats = kClusterRepeats;
  cluster.suite =
      parse_suite(options.compares ? with_possible(base, file, candidates, once, cluster) : base, file.name, changed);
  keep_scenario(cluster.suite, options.scenario);
  for (TrialSpec& spec : cluster.suite.trials) spec = long_enough(rate_alone(spec));
  std::stable_sort(cluster.suite.trials.begin(), cluster.suite.trials.end(),
                   [](const TrialSpec& a, const TrialSpec& b) {
                     return std::pair(a.repeat, a.row_order) < std::pair(b.repeat, b.row_order);
                   });
  return cluster;
}

JobFacts facts_of(const TrialSpec& spec) {
  JobFacts facts;
  facts.model_bytes = model_bytes_of(spec);
  facts.gradient_s = to_seconds(spec.costs.gradient);
  const double rate = narrowest(spec.network);
  if (!spec.instant_network)
    facts.message_s = to_seconds(spec.network.latency) + (rate > 0 ? facts.model_bytes / rate : 0);
  facts.measured_steps = double(spec.stop.amount);
  if (spec.stop.kind == StopSpec::Kind::kSamples) facts.measured_steps /= double(spec.workload.batch) * spec.workers();
  for (const ComputeRule& rule : spec.scenario.compute) {
    if (rule.what != SlowdownKind::kTrace || rule.replay.map == TraceMap::kFixed) continue;
    const Trace& trace = *rule.replay.trace;
    facts.recorded_steps =
        trace.kind() == Trace::Kind::kSteps ? double(trace.steps()) : to_seconds(trace.length()) / facts.gradient_s;
  }
  return facts;
}

}  // namespace hopbench
