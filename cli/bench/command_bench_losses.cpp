#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <regex>
#include <span>
#include <utility>
#include <vector>

#include "backends/base/error.h"
#include "cli/bench/bench.h"
#include "models/workload.h"
#include "protocols/node/lazy_sgd.h"
#include "results/files/context.h"
#include "suites/campaign/filter.h"
#include "suites/campaign/labels.h"
#include "suites/language/suite.h"
#include "suites/trial/plan.h"

namespace hopbench {
namespace {

void write(const std::filesystem::path& path, const void* data, std::size_t bytes, std::ios::openmode mode = {}) {
  std::ofstream file(path, std::ios::binary | mode);
  file.write(static_cast<const char*>(data), std::streamsize(bytes));
  if (!file.flush())
    throw environment_error(fmt::format("cannot write {}: does its folder exist, with room in it?", path.string()));
}

template <class T>
void append(const std::filesystem::path& path, const std::vector<T>& values) {
  write(path, values.data(), values.size() * sizeof(T), std::ios::app);
}

/// One worker's batches, in its order; of sparse rows if the model takes these.
class Batches {
 public:
  Batches(const Dataset& train, const WorkloadSpec& spec, int worker, bool sparse)
      : inputs(sparse ? 0 : std::size_t(spec.batch) * train.shape().size()),
        labels(std::size_t(spec.batch)),
        train_(train),
        sparse_(sparse),
        order_(split(train, spec.split, spec.everybody(), spec.seed, spec.repeat).at(std::size_t(worker)), spec.seed,
               spec.repeat, worker) {}

  Batch next() {
    std::vector<std::uint32_t> samples(labels.size());
    order_.fill(std::exchange(position_, position_ + samples.size()), samples);
    for (std::size_t i = 0; i < samples.size(); ++i) labels[i] = train_.label(samples[i]);
    Batch batch{.size = int(samples.size()), .labels = labels.data()};
    if (sparse_) {
      gather_rows(samples);
      batch.rows = rows_.data();
    } else {
      const std::size_t features = train_.shape().size();
      for (std::size_t i = 0; i < samples.size(); ++i) train_.copy_sample(samples[i], inputs.data() + i * features);
      batch.inputs = inputs.data();
    }
    return batch;
  }
  std::vector<float> inputs;  // for sparse rows: their values
  std::vector<std::int32_t> labels;
  std::vector<std::uint32_t> lengths, columns;  // for sparse rows: the number of values of each, and their columns

 private:
  void gather_rows(std::span<const std::uint32_t> samples) {
    inputs.clear();
    lengths.clear();
    columns.clear();
    rows_.clear();
    for (const std::uint32_t sample : samples) {
      const SparseDataset::Row& row = rows_.emplace_back(train_.rows()->row(sample));
      lengths.push_back(std::uint32_t(row.columns.size()));
      columns.insert(columns.end(), row.columns.begin(), row.columns.end());
      inputs.insert(inputs.end(), row.values.begin(), row.values.end());
    }
  }
  const Dataset& train_;
  bool sparse_;
  SampleOrder order_;
  std::uint64_t position_ = 0;
  std::vector<SparseDataset::Row> rows_;
};

/// SGD on one model; lazy if its gradients are sparse.
class Training {
 public:
  Training(Learner& learner, const WorkloadSpec& spec, const Space::SgdStep& how)
      : learner_(learner), how_(how), x_(learner.initial(spec.seed, spec.repeat)) {
    if (learner.sparse()) {
      lazy_ = std::make_shared<LazySgd>(x_.size(), Vec());
      x_.defer(lazy_);
    } else {
      momentum_ = Vec(x_.size(), x_.space());
      g_ = Vec(x_.size(), x_.space());
    }
  }
  const Vec& x() const { return x_; }
  /// Does a step. Returns the loss before it. `columns`: those of a sparse batch.
  float step(const Batch& batch, std::vector<std::uint32_t> columns) {
    if (!lazy_) {
      const float loss = learner_.gradient(x_.data(), batch, g_.mutable_data(), {});
      x_.space().sgd(x_.mutable_data(), momentum_.mutable_data(), g_.data(), how_, x_.size());
      return loss;
    }
    columns.push_back(std::uint32_t(x_.size() - 1));  // the bias
    const float loss = learner_.sparse_gradient(x_.share_at(columns).data(), batch, g_);
    lazy_->step(x_, g_.share().entries(), how_);
    return loss;
  }

 private:
  Learner& learner_;
  Space::SgdStep how_;
  Vec x_, momentum_, g_;
  std::shared_ptr<LazySgd> lazy_;
};

constexpr const char *kSettings = "settings.json", *kInitial = "initial.f32", *kInputs = "inputs.f32",
                     *kLabels = "labels.i32", *kLosses = "losses.txt", *kLengths = "lengths.u32",
                     *kColumns = "columns.u32";

/// Throws Error(kUsage) if the folder holds anything, or is not a folder.
void refuse_overwriting(const std::filesystem::path& folder) {
  if (folder.empty()) throw usage_error("-o wants a folder, not an empty name");
  std::error_code unreadable;  // creating the folder reports it
  const auto status = std::filesystem::status(folder, unreadable);
  if (!std::filesystem::exists(status)) return;
  if (!std::filesystem::is_directory(status))
    throw usage_error(fmt::format("{} is not a folder: choose a new or empty one with -o", folder.string()));
  if (!std::filesystem::is_empty(folder, unreadable))
    throw usage_error(fmt::format("{} is not empty: choose a new or empty folder with -o", folder.string()));
}

DatasetPair load_data(const std::string& name, const WorkloadSpec& spec) {
  const std::string& path = spec.dataset_path;
  const DatasetEntry& entry = find_dataset(name);
  if (entry.get.empty() && !path.empty())
    throw usage_error(fmt::format("--path {}: data set '{}' is drawn, not read: leave --path out", path, name));
  return entry.load({.path = path, .size = spec.size, .seed = spec.seed});
}

/// Returns the number as it was given: 0.1 for the float nearest to it, not 0.10000000149.
nlohmann::json as_given(float number) { return nlohmann::json::parse(fmt::format("{}", number)); }

/// The training to repeat. It comes from the flags, or from one worker of a suite's trial.
struct Task {
  WorkloadSpec spec;
  int worker = 0;
  Space::SgdStep how;
  std::string trial = {};  // of a suite
};

/// Throws Error(kUsage) if the trial does more than plain SGD on unchanged samples.
void refuse_others(const TrialSpec& trial) {
  const OptimizerSpec& o = trial.optimizer;
  std::vector<std::string> others;
  if (o.kind != OptimizerKind::kSgd) others.emplace_back("optimizer.name = \"adamw\"");
  if (!o.steps.empty()) others.emplace_back("optimizer.lr_steps");
  if (o.cosine > 0) others.emplace_back("optimizer.cosine");
  if (o.warmup > 0) others.emplace_back("optimizer.lr_warmup");
  if (o.lr_batch > 0) others.emplace_back("optimizer.lr_batch");
  if (o.clip > 0) others.emplace_back("optimizer.clip");
  if (trial.workload.augment != Augment::kNone) others.emplace_back("model.augment");
  if (!others.empty())
    throw usage_error(fmt::format("{} has {}, and steps are plain SGD here: change it with --set", trial.id(),
                                  fmt::join(others, ", ")));
}

/// Returns the factor of the learning rate, as in Optimizer.
double factor_of(const TrialSpec& trial) {
  const auto [gradients, of] =
      step_factor(find_protocol(trial.protocol),
                  {trial.knobs, make_plan(trial).graph, trial.workers(), {}, 0, trial.workload.batch});
  return trial.optimizer.per_sample ? double(gradients) / of : 1;
}

/// Returns the worker that was asked for, or the first that trains. Error(kUsage) if the trial has no such worker.
int worker_of(const BenchLossesOptions& options, const TrialSpec& trial) {
  const WorkloadSpec& spec = trial.workload;
  const int worker = options.worker.value_or(spec.number_of(0));
  if (worker >= spec.everybody())
    throw usage_error(
        fmt::format("--worker {}: the workers of {} are 0 to {}", worker, trial.id(), spec.everybody() - 1));
  if (std::find(spec.without.begin(), spec.without.end(), worker) != spec.without.end())
    throw usage_error(fmt::format("--worker {}: {} trains without it: take another", worker, trial.id()));
  return worker;
}

Task task_of_suite(const BenchLossesOptions& options) {
  if (!options.own.empty())
    throw usage_error(fmt::format("{} says what is trained: leave {} out, or use --set", options.model,
                                  fmt::join(options.own, ", ")));
  SuiteOptions suite_options;
  suite_options.sets = options.sets;
  const Suite suite = load_suite(options.model, suite_options);
  const std::regex wanted = regular_expression(options.filter, "--filter");
  for (const TrialSpec& trial : suite.trials) {
    if (!std::regex_search(trial.id(), wanted)) continue;
    refuse_others(trial);
    const OptimizerSpec& o = trial.optimizer;
    WorkloadSpec spec = trial.workload;
    spec.statistics = Statistics::kPrecise;  // training does not use it
    return {spec,
            worker_of(options, trial),
            {.lr = o.lr * float(factor_of(trial)),
             .momentum = o.momentum,
             .weight_decay = o.weight_decay,
             .nesterov = o.nesterov},
            trial.id()};
  }
  throw usage_error("--filter " + options.filter + " leaves no trial of " + options.model);
}

Task task_of(const BenchLossesOptions& options) {
  if (options.model.ends_with(".toml")) return task_of_suite(options);
  if (!options.sets.empty() || !options.filter.empty() || options.worker)
    throw usage_error("--set, --filter and --worker are of a suite: name one in the place of " + options.model);
  WorkloadSpec spec{.model = options.model,
                    .dataset = options.dataset,
                    .dataset_path = options.path,
                    .batch = options.batch,
                    .backend = options.backend,
                    .threads = options.threads,
                    .statistics = Statistics::kPrecise};
  return {spec,
          0,
          {.lr = options.lr, .momentum = options.momentum, .weight_decay = options.weight_decay, .nesterov = false}};
}

nlohmann::json settings_json(const BenchLossesOptions& options, const Task& task, const std::string& dataset,
                             const Shape& shape, std::size_t parameters) {
  const WorkloadSpec& spec = task.spec;
  return {{"schema_version", "1.1"},
          {"context", nlohmann::json::parse(context_json({"bench", "losses", options.model}))},
          {"model", spec.model},
          {"trial", task.trial},
          {"parameters", parameters},
          {"dataset", dataset},
          {"path", spec.dataset_path},
          {"shape", {shape.channels, shape.height, shape.width}},
          {"seed", spec.seed},
          {"repeat", spec.repeat},
          {"workers", spec.everybody()},
          {"worker", task.worker},
          {"split", split_text(spec.split)},
          {"backend", spec.backend},
          {"threads", spec.threads},
          {"batch", spec.batch},
          {"steps", options.steps},
          {"lr", as_given(task.how.lr)},
          {"momentum", as_given(task.how.momentum)},
          {"weight_decay", as_given(task.how.weight_decay)},
          {"nesterov", task.how.nesterov}};
}

}  // namespace

int command_bench_losses(const BenchLossesOptions& options) {
  const Task task = task_of(options);
  const WorkloadSpec& spec = task.spec;
  const ModelEntry& model = find_model(spec.model);
  if (model.create == nullptr) throw usage_error("model " + spec.model + " computes no losses: take another one");
  const std::filesystem::path folder = options.output;
  refuse_overwriting(folder);
  const std::string dataset = spec.dataset.empty() ? model.default_dataset : spec.dataset;
  const DatasetPair data = load_data(dataset, spec);
  const auto backend = create_backend(
      spec.backend, {.threads = spec.threads, .precision = spec.precision, .deterministic = spec.deterministic});
  const auto learner = model.create(*backend, spec, data.train->shape(), data.train->classes(), spec.batch);

  const bool sparse = learner->sparse();
  if (sparse && data.train->rows() == nullptr)
    throw usage_error(
        fmt::format("model {} takes sparse rows, and data set {} has none: leave --dataset out", spec.model, dataset));
  Training training(*learner, spec, task.how);
  Batches batches(*data.train, spec, task.worker, sparse);
  std::error_code ignored;  // if there is no folder, writing into it says so
  std::filesystem::create_directories(folder, ignored);
  const std::vector<float> initial = training.x().to_host();
  const std::string settings =
      settings_json(options, task, dataset, data.train->shape(), initial.size()).dump(1) + "\n";
  write(folder / kSettings, settings.data(), settings.size());
  append(folder / kInitial, initial);
  std::string losses;
  for (int k = 0; k < options.steps; ++k) {
    const Batch batch = batches.next();
    losses += fmt::format("{:.9g}\n", training.step(batch, batches.columns));
    append(folder / kInputs, batches.inputs);
    append(folder / kLabels, batches.labels);
    if (!sparse) continue;
    append(folder / kLengths, batches.lengths);
    append(folder / kColumns, batches.columns);
  }
  write(folder / kLosses, losses.data(), losses.size());
  fmt::print("{}", losses);
  return 0;
}

}  // namespace hopbench
