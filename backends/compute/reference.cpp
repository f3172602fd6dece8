// The oracle: naive layers, one after the other. Its bits depend on nothing but its input (no contraction, no
// reassociation, one thread).
#include <algorithm>
#include <functional>
#include <vector>

#include "backends/base/error.h"
#include "backends/compute/reference_layers.h"

namespace hopbench {
namespace {

using namespace reference;
using Type = LayerSpec::Type;

class ReferenceNetwork final : public CompiledNetwork {
 public:
  explicit ReferenceNetwork(NetworkPlan plan) : plan_(std::move(plan)), moments_(plan_.layers.size()) {
    for (const Layer& layer : plan_.layers) {
      outputs_.emplace_back(layer.output.size() * std::size_t(plan_.largest_batch));
    }
  }

  void forward(const float* params, const float* x, float* y, int batch) override {
    last_batch_ = batch;
    pass(params, nullptr, x, y, batch);
  }

  void statistics(float* to) const override {
    for (std::size_t i = 0; i < plan_.layers.size(); ++i) {
      const std::size_t channels = moments_[i].mean.size();
      if (channels == 0) continue;
      const std::size_t count = plan_.layers[i].input.size() / channels * std::size_t(last_batch_);
      float* mine = to + plan_.layers[i].means_at;
      for (std::size_t c = 0; c < channels; ++c) {
        mine[c] = float(moments_[i].mean[c]);
        mine[channels + c] = population_variance(moments_[i].variance[c], count);
      }
    }
  }

  void infer(const float* params, const float* statistics, const float* x, float* y, int batch) override {
    pass(params, statistics, x, y, batch);
  }

  void backward(const float* params, const float* x, const float* dy, float* dparams, float* dx, int batch,
                const std::function<void(int)>& layer_done) override {
    HB_ASSERT(batch >= 1 && batch <= plan_.largest_batch);
    std::vector<std::vector<float>> douts(plan_.layers.size());  // sums from all layers behind
    douts.back().assign(dy, dy + plan_.output.size() * std::size_t(batch));
    for (std::size_t i = plan_.layers.size(); i-- > 0;) {
      const Layer& layer = plan_.layers[i];
      std::vector<float> din(i > 0 || dx != nullptr ? layer.input.size() * std::size_t(batch) : 0);
      layer_backward(i, params + layer.weights_at, input_of(i, x), douts[i], dparams + layer.weights_at, din, batch);
      if (layer.spec.type == Type::kAdd) {
        const Shape& from = plan_.layers[std::size_t(layer.spec.from)].output;
        std::vector<float>& there = douts[std::size_t(layer.spec.from)];
        there.resize(from.size() * std::size_t(batch));
        add_backward(layer, from, douts[i].data(), there.data(), batch);
      }
      if (layer_done) layer_done(int(i));
      if (i > 0) {
        add_up(douts[i - 1], din);
      } else if (dx != nullptr) {
        std::copy(din.begin(), din.end(), dx);
      }
    }
  }

  float softmax_cross_entropy(const float* logits, const std::int32_t* labels, float* dlogits, int batch,
                              int* correct) override {
    return softmax_cross_entropy_on_host(logits, labels, dlogits, batch, plan_.output.size(), correct);
  }

 private:
  const float* input_of(std::size_t i, const float* x) const { return i == 0 ? x : outputs_[i - 1].data(); }

  /// `statistics`: those of the batch norms; nullptr: each takes those of its inputs.
  void pass(const float* params, const float* statistics, const float* x, float* y, int batch) {
    HB_ASSERT(batch >= 1 && batch <= plan_.largest_batch);
    for (std::size_t i = 0; i < plan_.layers.size(); ++i) {
      const Layer& layer = plan_.layers[i];
      if (layer.spec.type == Type::kBatchNorm && statistics == nullptr) {
        moments_[i] = moments_of(layer, input_of(i, x), batch);
      } else if (layer.spec.type == Type::kBatchNorm) {
        const float* const means = statistics + layer.means_at;
        const float* const variances = means + layer.input.channels;
        moments_[i] = {{means, variances}, {variances, variances + layer.input.channels}};
      }
      layer_forward(i, params + layer.weights_at, input_of(i, x), outputs_[i].data(), batch);
    }
    std::copy_n(outputs_.back().data(), plan_.output.size() * std::size_t(batch), y);
  }

  void layer_forward(std::size_t index, const float* params, const float* in, float* out, int batch) const {
    const Layer& layer = plan_.layers[index];
    if (layer.spec.type == Type::kConv) {
      conv_forward(layer, params, in, out, batch);
    } else if (layer.spec.type == Type::kDense) {
      dense_forward(layer, params, in, out, batch);
    } else if (layer.spec.type == Type::kRelu) {
      std::transform(in, in + layer.input.size() * std::size_t(batch), out, [](float v) { return v > 0 ? v : 0; });
    } else if (layer.spec.type == Type::kBatchNorm) {
      norm_forward(layer, params, moments_[index], in, out, batch);
    } else if (layer.spec.type == Type::kAdd) {
      const auto from = std::size_t(layer.spec.from);
      add_forward(layer, plan_.layers[from].output, in, outputs_[from].data(), out, batch);
    } else {
      pool_forward(layer, in, out, batch);
    }
  }

  /// `din` is empty if it is not needed.
  void layer_backward(std::size_t index, const float* params, const float* in, const std::vector<float>& dout,
                      float* dparams, std::vector<float>& din, int batch) const {
    const Layer& layer = plan_.layers[index];
    float* to = din.empty() ? nullptr : din.data();
    if (layer.spec.type == Type::kConv) {
      conv_backward(layer, params, in, dout.data(), dparams, to, batch);
    } else if (layer.spec.type == Type::kDense) {
      dense_backward(layer, params, in, dout.data(), dparams, to, batch);
    } else if (layer.spec.type == Type::kBatchNorm) {
      norm_backward(layer, params, moments_[index], in, dout.data(), dparams, to, batch);
    } else if (to == nullptr) {
      return;
    } else if (layer.spec.type == Type::kRelu) {
      for (std::size_t k = 0; k < din.size(); ++k) to[k] = in[k] > 0 ? dout[k] : 0;
    } else if (layer.spec.type == Type::kAdd) {
      din = dout;
    } else {
      pool_backward(layer, in, dout.data(), to, batch);
    }
  }

  static void add_up(std::vector<float>& sum, const std::vector<float>& more) {
    sum.resize(more.size());
    std::transform(sum.begin(), sum.end(), more.begin(), sum.begin(), std::plus<>());
  }

  const NetworkPlan plan_;
  std::vector<std::vector<float>> outputs_;  // of each layer, for the largest batch
  std::vector<Moments> moments_;             // of the batch norms' inputs
  int last_batch_ = 0;
};

class ReferenceBackend final : public Backend {
 public:
  const char* name() const override { return "reference"; }
  std::string version() const override { return "plain loops, sums in double"; }
  Space& space() override { return host_space(); }
  std::unique_ptr<CompiledNetwork> compile(std::span<const LayerSpec> layers, const Shape& input,
                                           int largest_batch) override {
    return std::make_unique<ReferenceNetwork>(NetworkPlan(layers, input, largest_batch));
  }
};

}  // namespace

std::unique_ptr<Backend> create_reference_backend(const BackendOptions&) {
  return std::make_unique<ReferenceBackend>();
}

}  // namespace hopbench
