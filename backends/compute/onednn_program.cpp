#include "backends/compute/onednn_program.h"

#include "backends/compute/onednn_builder.h"

namespace hopbench {
namespace {

using namespace onednn;

class Program final : public OneDnnProgram {
 public:
  Program(const NetworkPlan& plan, int batch) : built_(plan, batch) { built_.build(); }

  std::size_t working_floats() const override { return built_.working_bytes() / sizeof(float); }

  void bind(float* memory) override { built_.bind(reinterpret_cast<std::byte*>(memory)); }

  void watch(Watch done) override { watch_ = std::move(done); }

  void forward(const float* params, const float* x, float* y) override {
    built_.place(kParams, params);
    built_.place(kX, x);
    built_.place(kY, y);
    std::size_t done = 0;
    for (const auto& [layer, end] : built_.forward_ends) {
      built_.run(std::span(built_.forward).subspan(done, end - done));
      done = end;
      tell(layer, Direction::kForward);
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

std::unique_ptr<OneDnnProgram> make_onednn_program(const NetworkPlan& plan, int batch) {
  return std::make_unique<Program>(plan, batch);
}

}  // namespace hopbench
