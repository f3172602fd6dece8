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

  void forward(const float* params, const float* x, float* y) override {
    built_.place(kParams, params);
    built_.place(kX, x);
    built_.place(kY, y);
    built_.run(built_.forward);
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
      if (layer.index >= 0 && layer_done) layer_done(layer.index);
      if (layer.wanted_before || dx != nullptr) built_.run(layer.data);
    }
  }

 private:
  Builder built_;
};

}  // namespace

std::unique_ptr<OneDnnProgram> make_onednn_program(const NetworkPlan& plan, int batch) {
  return std::make_unique<Program>(plan, batch);
}

}  // namespace hopbench
