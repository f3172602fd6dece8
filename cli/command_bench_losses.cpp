#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "backends/base/error.h"
#include "cli/bench.h"
#include "models/workload.h"
#include "results/context.h"

namespace hopbench {
namespace {

void write(const std::filesystem::path& path, const void* data, std::size_t bytes, std::ios::openmode mode = {}) {
  std::ofstream file(path, std::ios::binary | mode);
  file.write(static_cast<const char*>(data), std::streamsize(bytes));
  if (!file.flush())
    throw environment_error(fmt::format("cannot write {}: does its folder exist, with room in it?", path.string()));
}

/// One worker's batches, in its order.
class Batches {
 public:
  Batches(const Dataset& train, const WorkloadSpec& spec)
      : inputs(std::size_t(spec.batch) * train.shape().size()),
        labels(std::size_t(spec.batch)),
        train_(train),
        order_(split(train, spec.split, 1, spec.seed, 0).front(), spec.seed, 0, 0) {}

  Batch next() {
    const std::size_t features = train_.shape().size(), count = labels.size();
    std::vector<std::uint32_t> samples(count);
    order_.fill(std::exchange(position_, position_ + count), samples);
    for (std::size_t i = 0; i < count; ++i) {
      train_.copy_sample(samples[i], inputs.data() + i * features);
      labels[i] = train_.label(samples[i]);
    }
    return {int(count), inputs.data(), labels.data()};
  }
  std::vector<float> inputs;
  std::vector<std::int32_t> labels;

 private:
  const Dataset& train_;
  SampleOrder order_;
  std::uint64_t position_ = 0;
};

constexpr const char *kSettings = "settings.json", *kInitial = "initial.f32", *kInputs = "inputs.f32",
                     *kLabels = "labels.i32", *kLosses = "losses.txt";

/// Error(kUsage) if something would be written over.
void refuse_overwriting(const std::filesystem::path& folder) {
  for (const char* name : {kSettings, kInitial, kInputs, kLabels, kLosses}) {
    if (std::filesystem::exists(folder / name))
      throw usage_error(fmt::format("{} is there already: choose another folder with -o", (folder / name).string()));
  }
}

DatasetPair load_data(const std::string& name, const std::string& path) {
  const DatasetEntry& entry = find_dataset(name);
  if (entry.default_path.empty() && !path.empty())
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
  const WorkloadSpec spec{.model = options.model, .batch = options.batch, .statistics = Statistics::kPrecise};
  const auto backend = create_backend(options.backend, options.threads);
  const auto learner = model.create(*backend, spec, data.train->shape(), data.train->classes(), options.batch);

  Vec x = learner->initial(spec.seed, 0), momentum(x.size(), x.space()), g(x.size(), x.space());
  Batches batches(*data.train, spec);
  const Space::SgdStep step{
      .lr = options.lr, .momentum = options.momentum, .weight_decay = options.weight_decay, .nesterov = false};
  std::error_code ignored;  // where there is no folder, writing into it says so
  std::filesystem::create_directories(folder, ignored);
  const std::string settings = settings_json(options, dataset, spec, data.train->shape(), x.size()).dump(1) + "\n";
  write(folder / kSettings, settings.data(), settings.size());
  const std::vector<float> initial = x.to_host();
  write(folder / kInitial, initial.data(), initial.size() * sizeof(float));
  std::string losses;
  for (int k = 0; k < options.steps; ++k) {
    const Batch batch = batches.next();
    losses += fmt::format("{:.9g}\n", learner->gradient(x.data(), batch, g.mutable_data(), {}));
    x.space().sgd(x.mutable_data(), momentum.mutable_data(), g.data(), step, x.size());
    write(folder / kInputs, batches.inputs.data(), batches.inputs.size() * sizeof(float), std::ios::app);
    write(folder / kLabels, batches.labels.data(), batches.labels.size() * sizeof(std::int32_t), std::ios::app);
  }
  write(folder / kLosses, losses.data(), losses.size());
  fmt::print("{}", losses);
  return 0;
}

}  // namespace hopbench
