#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "backends/base/error.h"
#include "cli/bench.h"
#include "models/workload.h"

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
      : train_(train), order_(split(train, spec.split, 1, spec.seed, 0).front(), spec.seed, 0, 0), size_(spec.batch) {}

  Batch next() {
    const std::size_t features = train_.shape().size(), count = std::size_t(size_);
    std::vector<std::uint32_t> samples(count);
    order_.fill(std::exchange(position_, position_ + count), samples);
    inputs.resize(count * features);
    labels.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      train_.copy_sample(samples[i], inputs.data() + i * features);
      labels[i] = train_.label(samples[i]);
    }
    return {size_, inputs.data(), labels.data()};
  }
  std::vector<float> inputs;
  std::vector<std::int32_t> labels;

 private:
  const Dataset& train_;
  SampleOrder order_;
  int size_;
  std::uint64_t position_ = 0;
};

}  // namespace

int command_bench_losses(const BenchLossesOptions& options) {
  const ModelEntry& model = find_model(options.model);
  if (model.create == nullptr) throw usage_error("model " + options.model + " computes no losses: take another one");
  const std::string dataset = options.dataset.empty() ? model.default_dataset : options.dataset;
  const DatasetPair data = find_dataset(dataset).load({.path = options.path});
  const WorkloadSpec spec{.model = options.model, .batch = options.batch, .statistics = Statistics::kPrecise};
  const auto backend = create_backend(options.backend, options.threads);
  const auto learner = model.create(*backend, spec, data.train->shape(), data.train->classes(), options.batch);

  Vec x = learner->initial(spec.seed, 0), momentum(x.size(), x.space()), g(x.size(), x.space());
  const Space::SgdStep step{
      .lr = options.lr, .momentum = options.momentum, .weight_decay = options.weight_decay, .nesterov = false};
  const std::filesystem::path folder = options.output;
  std::error_code ignored;  // where there is no folder, writing into it says so
  std::filesystem::create_directories(folder, ignored);
  const std::vector<float> initial = x.to_host();
  write(folder / "initial.f32", initial.data(), initial.size() * sizeof(float));
  write(folder / "inputs.f32", nullptr, 0);
  write(folder / "labels.i32", nullptr, 0);
  Batches batches(*data.train, spec);
  std::string losses;
  for (int k = 0; k < options.steps; ++k) {
    const Batch batch = batches.next();
    losses += fmt::format("{:.9g}\n", learner->gradient(x.data(), batch, g.mutable_data(), {}));
    x.space().sgd(x.mutable_data(), momentum.mutable_data(), g.data(), step, x.size());
    write(folder / "inputs.f32", batches.inputs.data(), batches.inputs.size() * sizeof(float), std::ios::app);
    write(folder / "labels.i32", batches.labels.data(), batches.labels.size() * sizeof(std::int32_t), std::ios::app);
  }
  write(folder / "losses.txt", losses.data(), losses.size());
  fmt::print("{}", losses);
  return 0;
}

}  // namespace hopbench
