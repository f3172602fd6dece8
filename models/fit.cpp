#include "models/fit.h"

#include <map>

#include <fmt/format.h>

#include "backends/base/error.h"

namespace hopbench {
namespace {

/// A backend that compiles nothing. Layers are checked against their inputs before a backend sees them.
class NoBackend final : public Backend {
 public:
  const char* name() const override { return "none"; }
  std::string version() const override { return ""; }
  Space& space() override { return host_space(); }
  std::unique_ptr<CompiledNetwork> compile(std::span<const LayerSpec>, const Shape&, int) override { return nullptr; }
};

}  // namespace

std::optional<Inputs> inputs_of(const std::string& dataset, const DatasetRequest& request) {
  static const std::map<std::string, Inputs> kKnown = {
      {"fashion_mnist", {{1, 28, 28}, 10}}, {"mnist", {{1, 28, 28}, 10}},     {"cifar10", {{3, 32, 32}, 10}},
      {"cifar100", {{3, 32, 32}, 100}},     {"synthetic", {{1, 28, 28}, 10}}, {"synthetic_cifar", {{3, 32, 32}, 10}}};
  const auto known = kKnown.find(dataset);
  // Other files than the usual ones may hold samples of another shape.
  if (known != kKnown.end() && request.path.empty()) return known->second;
  try {
    const DatasetPair data = find_dataset(dataset).load(request);
    return Inputs{data.train->shape(), data.train->classes()};
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::unique_ptr<Learner> sketch(const WorkloadSpec& spec, const Inputs& inputs) {
  static NoBackend none;
  const ModelEntry& model = find_model(spec.model);
  HB_ASSERT(model.create != nullptr);
  return model.create(none, spec, inputs.shape, inputs.classes, 1);
}

std::string why_unfit(const WorkloadSpec& spec, const Inputs& inputs) {
  try {
    sketch(spec, inputs);
    return "";
  } catch (const Error& error) {
    std::string why = fmt::format("model '{}' does not fit data set '{}', whose samples are {}: {}", spec.model,
                                  spec.dataset, to_string(inputs.shape), error.what());
    const std::string usual = find_model(spec.model).default_dataset;
    if (usual == spec.dataset) return why;
    const std::optional<Inputs> made_for = inputs_of(usual, {.size = spec.size});
    return why + (made_for ? fmt::format("; it is made for {}, as in '{}'", to_string(made_for->shape), usual) : "");
  }
}

}  // namespace hopbench
