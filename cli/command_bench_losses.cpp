#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

#include "backends/base/error.h"
#include "cli/bench.h"
#include "models/workload.h"
#include "protocols/lazy_sgd.h"
#include "results/context.h"

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

/// One worker's batches, in its order; of sparse rows where the model takes these.
class Batches {
 public:
  Batches(const Dataset& train, const WorkloadSpec& spec, bool sparse)
      : inputs(sparse ? 0 : std::size_t(spec.batch) * train.shape().size()),
        labels(std::size_t(spec.batch)),
        train_(train),
        sparse_(sparse),
        order_(split(train, spec.split, 1, spec.seed, 0).front(), spec.seed, 0, 0) {}

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
  std::vector<float> inputs;  // of sparse rows: their values
  std::vector<std::int32_t> labels;
  std::vector<std::uint32_t> lengths, columns;  // of sparse rows: how many values each has, and where

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

/// SGD on one model: lazy where its gradients are sparse.
class Training {
 public:
  Training(Learner& learner, std::uint64_t seed, const Space::SgdStep& how)
      : learner_(learner), how_(how), x_(learner.initial(seed, 0)) {
    if (learner.sparse()) {
      lazy_ = std::make_shared<LazySgd>(x_.size(), Vec());
      x_.defer(lazy_);
    } else {
      momentum_ = Vec(x_.size(), x_.space());
      g_ = Vec(x_.size(), x_.space());
    }
  }
  const Vec& x() const { return x_; }
  /// Returns the loss before it. `columns`: those of a sparse batch.
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

/// Error(kUsage) if something would be written over.
void refuse_overwriting(const std::filesystem::path& folder) {
  for (const char* name : {kSettings, kInitial, kInputs, kLabels, kLosses, kLengths, kColumns}) {
    if (std::filesystem::exists(folder / name))
      throw usage_error(fmt::format("{} is there already: choose another folder with -o", (folder / name).string()));
  }
}

DatasetPair load_data(const std::string& name, const std::string& path) {
  const DatasetEntry& entry = find_dataset(name);
  if (entry.get.empty() && !path.empty())
    throw usage_error(fmt::format("--path {}: data set '{}' is drawn, not read: leave --path out", path, name));
  return entry.load({.path = path});
}

/// The number as it was given: 0.1 for the float nearest to it, not 0.10000000149.
nlohmann::json as_given(float number) { return nlohmann::json::parse(fmt::format("{}", number)); }

nlohmann::json settings_json(const BenchLossesOptions& options, const std::string& dataset, const WorkloadSpec& spec,
                             const Shape& shape, std::size_t parameters) {
  return {{"schema_version", "1.0"},
          {"context", nlohmann::json::parse(context_json({"bench", "losses", options.model}))},
          {"model", options.model},
          {"parameters", parameters},
          {"dataset", dataset},
          {"path", options.path},
          {"shape", {shape.channels, shape.height, shape.width}},
          {"seed", spec.seed},
          {"backend", options.backend},
          {"threads", options.threads},
          {"batch", options.batch},
          {"steps", options.steps},
          {"lr", as_given(options.lr)},
          {"momentum", as_given(options.momentum)},
          {"weight_decay", as_given(options.weight_decay)}};
}

}  // namespace

int command_bench_losses(const BenchLossesOptions& options) {
  const ModelEntry& model = find_model(options.model);
  if (model.create == nullptr) throw usage_error("model " + options.model + " computes no losses: take another one");
  const std::filesystem::path folder = options.output;
  refuse_overwriting(folder);
  const std::string dataset = options.dataset.empty() ? model.default_dataset : options.dataset;
  const DatasetPair data = load_data(dataset, options.path);
  const WorkloadSpec spec{
      .model = options.model, .dataset = dataset, .batch = options.batch, .statistics = Statistics::kPrecise};
  const auto backend = create_backend(options.backend, {.threads = options.threads});
  const auto learner = model.create(*backend, spec, data.train->shape(), data.train->classes(), options.batch);

  const bool sparse = learner->sparse();
  if (sparse && data.train->rows() == nullptr)
    throw usage_error(fmt::format("model {} takes sparse rows, and data set {} has none: leave --dataset out",
                                  options.model, dataset));
  const Space::SgdStep how{
      .lr = options.lr, .momentum = options.momentum, .weight_decay = options.weight_decay, .nesterov = false};
  Training training(*learner, spec.seed, how);
  Batches batches(*data.train, spec, sparse);
  std::error_code ignored;  // where there is no folder, writing into it says so
  std::filesystem::create_directories(folder, ignored);
  const std::vector<float> initial = training.x().to_host();
  const std::string settings =
      settings_json(options, dataset, spec, data.train->shape(), initial.size()).dump(1) + "\n";
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
