#include "backends/compute/onednn_program.h"

#include <algorithm>

#include "backends/compute/onednn_builder.h"

namespace hopbench {
namespace {

using namespace onednn;

class Program final : public OneDnnProgram {
 public:
  Program(const NetworkPlan& plan, int batch, bool training) : built_(plan, batch, training) { built_.build(); }

  std::size_t working_floats() const override { return built_.working_bytes() / sizeof(float); }

  void bind(float* memory) override { built_.bind(reinterpret_cast<std::byte*>(memory)); }

  void watch(Watch done) override { watch_ = std::move(done); }

  void forward(const float* params, const float* statistics, const float* x, float* y) override {
    built_.place(kParams, params);
    built_.place(kStatistics, statistics);
    built_.place(kX, x);
    built_.place(kY, y);
    std::size_t done = 0;
    for (const auto& [layer, end] : built_.forward_ends) {
      built_.run(std::span(built_.forward).subspan(done, end - done));
      done = end;
      tell(layer, Direction::kForward);
    }
  }

  void statistics(float* to) const override {
    for (const Builder::Moments& seen : built_.moments) {
      const auto channels = std::size_t(seen.layer->input.channels);
      const std::size_t count = seen.layer->input.size() / channels * std::size_t(built_.batch);
      float* mine = to + seen.layer->means_at;
      std::copy_n(static_cast<const float*>(seen.means.get_data_handle()), channels, mine);
      const auto* variances = static_cast<const float*>(seen.variances.get_data_handle());
      for (std::size_t c = 0; c < channels; ++c) mine[channels + c] = population_variance(variances[c], count);
    }
  }

  void backward(const float* params, const float* x, const float* dy, float* dparams, float* dx,
                const std::function<void(int)>& layer_done) override {
    built_.place(kParams, params);
    built_.place(kX, x);
    built_.place(kDy, dy);
    built_.place(kDparams, dparams);
    built_.place(kDx, dx);
    for (Builder::BackwardLayer& layer : built_.backward) {
      built_.run(layer.weights);
      if (!layer.weights.empty()) tell(layer.index, Direction::kBackwardWeights);
      if (layer.index >= 0 && layer_done) layer_done(layer.index);
      if (!layer.wanted_before && dx == nullptr) continue;
      built_.run(layer.data);
      if (!layer.data.empty()) tell(layer.index, Direction::kBackwardData);
    }
  }

 private:
  using Direction = CompiledNetwork::Direction;
  void tell(int layer, Direction direction) const {
    if (watch_) watch_(layer, direction);
  }

  Builder built_;
  Watch watch_;
};

}  // namespace

std::unique_ptr<OneDnnProgram> make_onednn_program(const NetworkPlan& plan, int batch, bool training) {
  return std::make_unique<Program>(plan, batch, training);
}

}  // namespace hopbench
