#include "suites/advice/answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "backends/base/printable.h"
#include "backends/base/process/tell.h"
#include "backends/base/text.h"
#include "models/workload.h"
#include "suites/advice/candidate.h"
#include "suites/advice/replayed.h"
#include "suites/advice/variations.h"
#include "suites/language/document.h"
#include "suites/language/profile.h"
#include "suites/trial/plan.h"

namespace hopbench {
namespace {

constexpr std::size_t kVaried = 3;           // candidates besides the present one whose rates are tried with changes
constexpr std::size_t kFewestRepeats = 5;    // that show chance
constexpr std::uint32_t kRepeatsVaried = 5;  // of them
constexpr std::size_t kMeasurementsShown = 2;
constexpr std::int64_t kLearningIterations = 200;  // of each worker

/// Returns the labels of a suite's variants, in its order.
std::vector<std::string> labels_in(const std::vector<TrialSpec>& trials) {
  std::vector<std::string> labels;
  for (const TrialSpec& spec : trials) {
    if (std::find(labels.begin(), labels.end(), spec.label) == labels.end()) labels.push_back(spec.label);
  }
  return labels;
}

std::vector<const TrialRow*> rows_of(const std::vector<TrialRow>& rows, const std::string& label) {
  std::vector<const TrialRow*> found;
  for (const TrialRow& row : rows) {
    if (row.labels.variant == label) found.push_back(&row);
  }
  return found;
}

std::vector<Candidate> candidates_of(const ClusterFile& cluster, const std::vector<TrialRow>& rows,
                                     const JobFacts& facts, const ModelErrors& errors) {
  std::vector<Candidate> candidates;
  for (const std::string& label : labels_in(cluster.suite.trials))
    candidates.push_back(candidate_of(cluster.trials_of(label), rows_of(rows, label), errors, facts));
  return candidates;
}

/// Returns the labels whose rates are tried with changes: the nearest, the present one and those that come first.
std::vector<std::string> varied_labels(const Advice& advice) {
  std::vector<std::string> labels{advice.present, advice.nearest().of.label};
  for (const Ranked& one : advice.ranking) {
    if (labels.size() >= kVaried + 2) break;
    if (one.changes < 3) labels.push_back(one.of.label);
  }
  std::sort(labels.begin(), labels.end());
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  return labels;
}

/// Returns the trials of some variants with a change, named after it.
std::vector<TrialSpec> varied_trials(const ClusterFile& cluster, const std::vector<std::string>& labels,
                                     const Variation& variation) {
  std::vector<TrialSpec> trials;
  for (const std::string& label : labels) {
    for (TrialSpec& spec : cluster.trials_of(label)) {
      if (spec.repeat >= kRepeatsVaried) continue;
      variation.apply(spec);
      spec.measure = variation.name;
      trials.push_back(std::move(spec));
    }
  }
  return trials;
}

/// Returns true if some rank of the changed trials is on another host than in the cluster's own.
bool moves_a_rank(const ClusterFile& cluster, const std::vector<TrialSpec>& changed) {
  return std::any_of(changed.begin(), changed.end(), [&](const TrialSpec& spec) {
    return make_plan(spec).host_of != make_plan(cluster.trials_of(spec.label).front()).host_of;
  });
}

/// Returns the mean log rate of each variant under one measure, over the repeats that are tried with changes. Variants
/// with a failed trial are left out.
std::map<std::string, double> mean_logs(const std::vector<TrialRow>& rows, const std::string& measure) {
  std::map<std::string, std::vector<double>> logs;
  std::set<std::string> failed;
  for (const TrialRow& row : rows) {
    if (row.labels.measure != measure || row.labels.repeat >= kRepeatsVaried) continue;
    const bool ok = row.record.status == TrialStatus::kOk && row.record.samples_heard_per_s > 0;
    if (ok) logs[row.labels.variant].push_back(std::log(row.record.samples_heard_per_s));
    if (!ok) failed.insert(row.labels.variant);
  }
  std::map<std::string, double> means;
  for (const auto& [label, values] : logs) {
    if (!failed.contains(label)) means[label] = mean_of(values);
  }
  return means;
}

/// Returns the gains with each change. A change is compared with the same repeats without it, so that it does not show
/// which repeats were drawn.
std::vector<Dependence> dependences(const std::vector<TrialRow>& unchanged, const std::vector<TrialRow>& rows,
                                    const std::vector<Variation>& variations, const Advice& advice) {
  const std::map<std::string, double> before = mean_logs(unchanged, unchanged.front().labels.measure);
  const double gain_before = before.at(advice.nearest().of.label) - before.at(advice.present);
  std::vector<Dependence> found;
  for (const Variation& variation : variations) {
    const std::map<std::string, double> logs = mean_logs(rows, variation.name);
    const auto own = logs.find(advice.nearest().of.label), present = logs.find(advice.present);
    if (own == logs.end() || present == logs.end()) continue;
    const auto leader =
        std::max_element(logs.begin(), logs.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    const double moved = own->second - present->second - gain_before;
    found.push_back({variation.name, advice.nearest().gain * std::exp(moved), leader->first});
  }
  const double gain = advice.nearest().gain;
  const auto shown = [](double value) { return fmt::format("{:.3g}", value); };
  if (!advice.best && !advice.beside)  // a gain that nothing moves is no news where the present protocol stays
    std::erase_if(found, [&](const Dependence& one) { return shown(one.gain) == shown(gain); });
  std::stable_sort(found.begin(), found.end(), [gain](const Dependence& a, const Dependence& b) {
    return std::abs(std::log(a.gain / gain)) > std::abs(std::log(b.gain / gain));
  });
  return found;
}

/// Returns by how much a change moves the gain, as a share of it; 0 if it was not tried.
double moved_by(const std::vector<Dependence>& depends, const std::string& what, double gain) {
  for (const Dependence& one : depends) {
    if (one.what == what) return std::abs(one.gain / gain - 1);
  }
  return 0;
}

std::vector<Measurement> measurements(const AdviceReport& report, const ClusterFile& cluster, const JobFacts& facts) {
  const Advice& advice = report.advice;
  const Ranked* const about = &advice.nearest();
  std::vector<Measurement> all;
  const double of_recording = facts.sampling() > 1 ? about->chance * std::sqrt(1 - 1 / facts.sampling()) : 0;
  all.push_back({"record more steps of the job", std::expm1(of_recording)});
  all.push_back(
      {fmt::format("run {} and {} on the machines", about->of.label, advice.present), std::expm1(about->error)});
  const double gain = advice.nearest().gain;
  if (!cluster.knows_network)
    all.push_back({"measure the links: hopbench record, or hopbench calibrate --links",
                   moved_by(report.depends, "network at half the rate", gain)});
  if (cluster.suite.trials.front().default_vector_rate)
    all.push_back({"measure vector operations: hopbench record, or hopbench calibrate",
                   moved_by(report.depends, "vector operations at half the rate", gain)});
  std::stable_sort(all.begin(), all.end(),
                   [](const Measurement& a, const Measurement& b) { return a.worth > b.worth; });
  std::erase_if(all, [](const Measurement& one) { return one.worth < 0.0005; });
  if (all.size() > kMeasurementsShown) all.resize(kMeasurementsShown);
  return all;
}

std::vector<std::string> facts_text(const ClusterFile& cluster, const JobFacts& facts) {
  const TrialSpec& spec = cluster.suite.trials.front();
  std::uint32_t repeats = 0;
  for (const TrialSpec& each : cluster.suite.trials) repeats = std::max(repeats, each.repeat + 1);
  std::vector<std::string> lines;
  lines.push_back(fmt::format(
      "{} workers, {} of {:.4g} MB, batch {}; a gradient takes {:.4g} s on average, the model over the narrowest link "
      "{:.3g} of that",
      spec.workers(), spec.workload.model, facts.model_bytes / 1e6, spec.workload.batch, facts.gradient_s,
      facts.ratio()));
  lines.push_back(
      fmt::format("virtual time, {} repeat{}, rates over {:.0f} iterations or more{}", repeats, repeats == 1 ? "" : "s",
                  facts.measured_steps,
                  facts.recorded_steps > 0 ? fmt::format("; {:.0f} recorded steps", facts.recorded_steps) : ""));
  return lines;
}

std::vector<std::string> unknown_of(const ClusterFile& cluster, const JobFacts& facts) {
  const TrialSpec& spec = cluster.suite.trials.front();
  std::vector<std::string> lines;
  if (!cluster.knows_network) lines.emplace_back("the network: the defaults of [network] are taken (1 Gbit/s, 100us)");
  if (spec.default_vector_rate) lines.emplace_back("the rate of vector operations: a CPU's is taken (10 GB/s)");
  if (spec.scenario.compute.empty()) lines.emplace_back("who is slow: all workers are taken to be equally fast");
  const bool traced = std::any_of(spec.scenario.compute.begin(), spec.scenario.compute.end(),
                                  [](const ComputeRule& rule) { return rule.what == SlowdownKind::kTrace; });
  const bool all_alike = traced && facts.recorded_steps == 0;
  const std::size_t repeats = cluster.trials_of(cluster.present).size();
  if (!all_alike && repeats < kFewestRepeats)
    lines.push_back(fmt::format("chance: {} repeat{} of it; take {} at least (-r)", repeats,
                                repeats == 1 ? " shows nothing" : "s show little", kFewestRepeats));
  if (all_alike)
    lines.emplace_back(
        "chance: the trace is replayed as it is (map = \"fixed\"), so all repeats are alike, and intervals hold "
        "errors of virtual time alone; map = \"block_bootstrap\" draws its steps anew");
  for (std::string& line : missed_of_recordings(spec, facts.measured_steps)) lines.push_back(std::move(line));
  if (const std::int64_t bytes = spec.costs.wire_bytes;
      bytes > 0 && spec.workload.profile == ddp_profile(bytes).buckets)
    lines.push_back(fmt::format(
        "when the parts of a gradient are ready: the {} buckets of PyTorch's DDP, by their bytes, are taken "
        "(model.profile describes others)",
        spec.workload.profile.size()));
  else if (spec.workload.model == "timing_only" && spec.workload.profile.empty())
    lines.emplace_back(
        "when the parts of a gradient are ready: equal parts are taken (model.profile describes others)");
  lines.emplace_back("what a protocol does to the learning of this model");
  return lines;
}

/// Returns a line on the variants whose workers may run further ahead than trials are long; "" if there are none.
std::string running_ahead(const Advice& advice) {
  std::vector<std::string> labels;
  std::int64_t most = 0;
  for (const Ranked& one : advice.ranking) {
    if (!one.of.leads) continue;
    labels.push_back(one.of.label);
    most = std::max(most, one.of.gap_bound);
  }
  if (labels.empty()) return "";
  return fmt::format(
      "rates of a long job with {}, where workers may run further ahead (ahead at most) than these trials show: take "
      "run.iterations = {}",
      join(labels, ", "), most * kIterationsPerLead);
}

/// Returns a label as part of a regular expression.
std::string escaped(const std::string& label) {
  std::string text;
  for (const char c : label) {
    if (std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos) text += '\\';
    text += c;
  }
  return text;
}

/// Returns the command that runs the present and the nearest protocol on the machines.
std::string test_command(const AdviceReport& report, const ClusterFile& cluster, const std::string& folder) {
  const TrialSpec& spec = cluster.suite.trials.front();
  if (find_model(spec.workload.model).create == nullptr)
    return "in your framework: the model has sizes only, which hopbench cannot send in real processes";
  std::string labels = escaped(report.advice.present);
  const std::string& nearest = report.advice.nearest().of.label;
  if (nearest != report.advice.present) labels += "|" + escaped(nearest);
  if (spec.scenario_name.find_first_of("\"\\") != std::string::npos)
    return "give the scenario a name without quotes and backslashes, for a command that names it";
  return fmt::format("hopbench run {} --filter {} --runs 3 --set transport.name=auto --set compute.pace=off --set {}",
                     shell_word(folder + "/suite.toml"), shell_word("/(" + labels + ")/"),
                     shell_word("scenario." + toml_key(spec.scenario_name) + ".compute=[]"));
}

void add_learning(const AdviceRequest& request, const ClusterFile& cluster, const JobFacts& facts, AnswerTrials& trials,
                  AdviceReport& report) {
  const TrialSpec& spec = cluster.suite.trials.front();
  LearningQuestion question{request.target_loss, stand_in_of(request.stand_in, spec), request.samples,
                            facts.model_bytes};
  if (question.samples == 0) question.samples = kLearningIterations * spec.workload.batch * spec.workers();
  report.target_loss = request.target_loss;
  report.stand_in = question.model;
  report.learning = learn(cluster, question, trials);
}

}  // namespace

AdviceReport answer(const AdviceRequest& request, const ClusterFile& cluster, const ModelErrors& errors,
                    AnswerTrials& trials) {
  tell(fmt::format("{} candidates, {} trials in virtual time\n", labels_in(cluster.suite.trials).size(),
                   cluster.suite.trials.size()));
  const JobFacts facts = facts_of(cluster.suite.trials.front());
  const std::vector<TrialRow> rows = trials.rows_of(cluster.suite.trials);
  AdviceReport report;
  report.advice = advise(candidates_of(cluster, rows, facts, errors), {cluster.present, facts.sampling()});
  const std::vector<std::string> labels = varied_labels(report.advice);
  const bool alone = report.advice.nearest().of.label == cluster.present;  // its gain is 1, whatever changes
  const std::vector<Variation> variations =
      alone ? std::vector<Variation>{} : variations_of(cluster.suite.trials.front());
  std::vector<TrialSpec> varied;
  for (const Variation& variation : variations) {
    const std::vector<TrialSpec> changed = varied_trials(cluster, labels, variation);
    if (variation.places && !moves_a_rank(cluster, changed)) continue;
    varied.insert(varied.end(), changed.begin(), changed.end());
  }
  const std::vector<TrialRow> varied_rows = trials.rows_of(varied);
  report.depends = dependences(rows, varied_rows, variations, report.advice);
  report.title =
      fmt::format("{}, scenario {}", printable(cluster.suite.file), cluster.suite.trials.front().scenario_name);
  report.facts = facts_text(cluster, facts);
  for (const LeftOut& one : cluster.left_out) report.left_out.push_back(one.label + ": " + one.why);
  report.unknown = unknown_of(cluster, facts);
  if (std::string ahead = running_ahead(report.advice); !ahead.empty()) report.unknown.push_back(std::move(ahead));
  report.to_measure = measurements(report, cluster, facts);
  if (request.target_loss > 0) add_learning(request, cluster, facts, trials, report);
  report.test = test_command(report, cluster, request.folder);
  return report;
}

}  // namespace hopbench
