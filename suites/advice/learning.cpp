// How long variants take to a target loss, with a small model that learns in place of the job's.
#include "suites/advice/candidate.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "backends/base/process/tell.h"
#include "backends/base/record/kinds.h"
#include "results/arithmetic/curve.h"
#include "results/tables/sensitivity.h"
#include "suites/advice/variations.h"
#include "suites/campaign/preflight.h"
#include "suites/tuning/tune.h"

namespace hopbench {
namespace {

constexpr int kRates = 6;                   // learning rates that each variant tries
constexpr double kBelow = 32, kAbove = 16;  // of the file's learning rate
constexpr int kEvaluations = 40;
constexpr std::uint32_t kLearningRepeats = 3;

/// Returns the trial with the model that learns.
TrialSpec learning_trial(const TrialSpec& spec, const LearningQuestion& question) {
  TrialSpec trial = spec;
  trial.what = MeasureKind::kConvergence;
  trial.measure = "learning";
  trial.evaluations = kEvaluations;
  trial.target_loss = question.target_loss;
  trial.target_hold = 1;
  trial.stop = {StopSpec::Kind::kSamples, question.samples};
  WorkloadSpec& work = trial.workload;
  work.numbers = true;
  work.evaluation_samples = WorkloadSpec{}.evaluation_samples;
  if (question.model == spec.workload.model) return trial;
  work.model = question.model;
  work.dataset = find_model(question.model).default_dataset;
  work.dataset_path.clear();
  work.size = 0;
  work.profile.clear();
  trial.costs.wire_bytes = std::int64_t(question.model_bytes);
  return trial;
}

/// Returns the trial in which a learning rate is tried: nobody is slow, and the draws are others than those of the
/// answer.
TrialSpec tuning_trial(const TrialSpec& trial, double lr) {
  TrialSpec tried = only_as_recorded(trial, {});
  tried.optimizer.lr = lr;
  tried.measure = fmt::format("tuning lr={:.3g}", lr);
  tried.seed = tried.workload.seed = tuning_seed(trial.seed);
  return tried;
}

/// The settings of a variant that were tried, and the trial that they are about.
struct Tuned {
  TrialSpec trial;
  std::vector<Tried> tried;
};

std::vector<Tuned> tune_all(const std::vector<TrialSpec>& firsts, const LearningQuestion& question,
                            AnswerTrials& trials) {
  std::vector<Tuned> all;
  std::vector<TrialSpec> specs;
  for (const TrialSpec& first : firsts) {
    Tuned tuned{learning_trial(first, question), {}};
    const double lr = tuned.trial.optimizer.lr;
    for (const double rate : log_grid(lr / kBelow, lr * kAbove, kRates)) {
      tuned.tried.emplace_back();
      tuned.tried.back().lr = rate;
      specs.push_back(tuning_trial(tuned.trial, rate));
    }
    all.push_back(std::move(tuned));
  }
  tell(fmt::format("tuning {} with equal workers: {} trials\n", question.model, specs.size()));
  const std::vector<TrialRow> rows = trials.rows_of(specs);
  for (std::size_t i = 0; i < rows.size(); ++i) all[i / kRates].tried[i % kRates].add(rows[i]);
  return all;
}

Learning learning_of(const Tuned& tuned) {
  const auto best = std::min_element(tuned.tried.begin(), tuned.tried.end(), better);
  Learning learning;
  learning.label = tuned.trial.label;
  learning.lr = best->lr;
  learning.edge = best == tuned.tried.begin() || best + 1 == tuned.tried.end();
  if (best->failed > 0) learning.failure = what_happened(best->failure);
  return learning;
}

void add_repeat(const TrialRow& row, Learning& learning) {
  if (row.record.status != TrialStatus::kOk) learning.failure = what_happened(row.record.failure);
  const TargetReached reached = target_reached(row);
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const bool ok = row.record.status == TrialStatus::kOk;
  learning.times.push_back(ok ? reached.time_s.fitted.value_or(kNever) : kNever);
  learning.samples.push_back(ok ? reached.samples.fitted.value_or(kNever) : kNever);
}

}  // namespace

std::string stand_in_of(const std::string& chosen, const TrialSpec& spec) {
  const ModelEntry& model = find_model(chosen.empty() ? spec.workload.model : chosen);
  if (model.create == nullptr)
    throw usage_error(
        fmt::format("--target-loss: model {} does not learn: name one that does, such as --stand-in mlp", model.name));
  if (model.sparse_rows)
    throw usage_error(fmt::format(
        "--stand-in {}: its gradients are sparse, so it cannot stand in for another model: take mlp", model.name));
  return model.name;
}

std::vector<Learning> learn(const ClusterFile& cluster, const LearningQuestion& question, AnswerTrials& trials) {
  std::vector<TrialSpec> firsts;
  for (const TrialSpec& spec : cluster.suite.trials) {
    if (spec.repeat == 0) firsts.push_back(spec);
  }
  check_available({learning_trial(firsts.front(), question)});
  const std::vector<Tuned> tuned = tune_all(firsts, question, trials);
  std::vector<Learning> all;
  std::vector<TrialSpec> specs;
  for (const Tuned& one : tuned) {
    all.push_back(learning_of(one));
    for (const TrialSpec& spec : cluster.trials_of(one.trial.label)) {
      if (spec.repeat >= kLearningRepeats) continue;
      specs.push_back(learning_trial(spec, question));
      specs.back().optimizer.lr = all.back().lr;
    }
  }
  std::map<std::string, Learning*> by_label;
  for (Learning& one : all) by_label[one.label] = &one;
  for (const TrialRow& row : trials.rows_of(specs)) add_repeat(row, *by_label.at(row.labels.variant));
  return all;
}

}  // namespace hopbench
