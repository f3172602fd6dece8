// The oracle: every layer as its definition reads, one loop an index, sums in double in a fixed order. Its bits depend
// on nothing but its input (no contraction, no reassociation, one thread).
#include <algorithm>
#include <vector>

#include "backends/base/error.h"
#include "backends/compute/host.h"

namespace hopbench {
namespace {

using Type = LayerSpec::Type;
using Layer = NetworkPlan::Layer;

/// a[n][c][i][j] of a batch of samples in one shape.
template <class T>
class Grid {
 public:
  Grid(T* data, const Shape& shape) : data_(data), shape_(shape) {}
  T& operator()(int n, int c, int i, int j) const {
    return data_[((std::size_t(n) * std::size_t(shape_.channels) + std::size_t(c)) * std::size_t(shape_.height) +
                  std::size_t(i)) *
                     std::size_t(shape_.width) +
                 std::size_t(j)];
  }

 private:
  T* data_;
  Shape shape_;
};

template <class F>
void for_each(const Shape& shape, int batch, const F& f) {
  for (int n = 0; n < batch; ++n)
    for (int c = 0; c < shape.channels; ++c)
      for (int i = 0; i < shape.height; ++i)
        for (int j = 0; j < shape.width; ++j) f(n, c, i, j);
}

/// The cells of the window behind output (i, j) that lie in the input: f(ky, kx, y, x), row by row.
template <class F>
void for_window(const Layer& layer, int i, int j, const F& f) {
  const int top = i * layer.spec.stride - layer.spec.padding, left = j * layer.spec.stride - layer.spec.padding;
  for (int ky = 0; ky < layer.spec.kernel; ++ky) {
    if (top + ky < 0 || top + ky >= layer.input.height) continue;
    for (int kx = 0; kx < layer.spec.kernel; ++kx) {
      if (left + kx < 0 || left + kx >= layer.input.width) continue;
      f(ky, kx, top + ky, left + kx);
    }
  }
}

void conv_forward(const Layer& layer, const float* params, const float* x, float* y, int batch) {
  const Grid in(x, layer.input), weights(params, {layer.input.channels, layer.spec.kernel, layer.spec.kernel});
  const Grid out(y, layer.output);
  for_each(layer.output, batch, [&](int n, int o, int i, int j) {
    double sum = params[layer.weights + std::size_t(o)];
    for (int c = 0; c < layer.input.channels; ++c) {
      for_window(layer, i, j, [&](int ky, int kx, int row, int column) {
        sum += double(weights(o, c, ky, kx)) * double(in(n, c, row, column));
      });
    }
    out(n, o, i, j) = float(sum);
  });
}

void conv_backward(const Layer& layer, const float* params, const float* x, const float* dy, float* dparams, float* dx,
                   int batch) {
  const Shape window{layer.input.channels, layer.spec.kernel, layer.spec.kernel};
  const Grid in(x, layer.input), weights(params, window), dout(dy, layer.output);
  std::vector<double> weight_sums(layer.weights), bias_sums(std::size_t(layer.spec.outputs));
  std::vector<double> input_sums(dx == nullptr ? 0 : layer.input.size() * std::size_t(batch));
  const Grid dweights(weight_sums.data(), window), din(input_sums.data(), layer.input);
  for_each(layer.output, batch, [&](int n, int o, int i, int j) {
    const double d = dout(n, o, i, j);
    bias_sums[std::size_t(o)] += d;
    for (int c = 0; c < layer.input.channels; ++c) {
      for_window(layer, i, j, [&](int ky, int kx, int row, int column) {
        dweights(o, c, ky, kx) += d * double(in(n, c, row, column));
        if (dx != nullptr) din(n, c, row, column) += d * double(weights(o, c, ky, kx));
      });
    }
  });
  std::copy(weight_sums.begin(), weight_sums.end(), dparams);
  std::copy(bias_sums.begin(), bias_sums.end(), dparams + layer.weights);
  if (dx != nullptr) std::copy(input_sums.begin(), input_sums.end(), dx);
}

void dense_forward(const Layer& layer, const float* params, const float* x, float* y, int batch) {
  const std::size_t inputs = layer.input.size(), outputs = layer.output.size();
  for (std::size_t n = 0; n < std::size_t(batch); ++n) {
    for (std::size_t o = 0; o < outputs; ++o) {
      double sum = params[layer.weights + o];
      for (std::size_t k = 0; k < inputs; ++k) sum += double(params[o * inputs + k]) * double(x[n * inputs + k]);
      y[n * outputs + o] = float(sum);
    }
  }
}

void dense_backward(const Layer& layer, const float* params, const float* x, const float* dy, float* dparams, float* dx,
                    int batch) {
  const std::size_t inputs = layer.input.size(), outputs = layer.output.size(), samples = std::size_t(batch);
  std::vector<double> sums(inputs);
  for (std::size_t o = 0; o < outputs; ++o) {
    double bias_sum = 0;
    std::fill(sums.begin(), sums.end(), 0.0);
    for (std::size_t n = 0; n < samples; ++n) {
      const double d = dy[n * outputs + o];
      bias_sum += d;
      for (std::size_t k = 0; k < inputs; ++k) sums[k] += d * double(x[n * inputs + k]);
    }
    std::copy(sums.begin(), sums.end(), dparams + o * inputs);
    dparams[layer.weights + o] = float(bias_sum);
  }
  if (dx == nullptr) return;
  for (std::size_t n = 0; n < samples; ++n) {
    std::fill(sums.begin(), sums.end(), 0.0);
    for (std::size_t o = 0; o < outputs; ++o) {
      const double d = dy[n * outputs + o];
      for (std::size_t k = 0; k < inputs; ++k) sums[k] += d * double(params[o * inputs + k]);
    }
    std::copy(sums.begin(), sums.end(), dx + n * inputs);
  }
}

struct Cell {
  int row = -1, column = -1;
};

/// The largest number of a window, the first of equals.
Cell largest(const Layer& layer, const Grid<const float>& in, int n, int c, int i, int j) {
  Cell best;
  for_window(layer, i, j, [&](int, int, int row, int column) {
    if (best.row < 0 || in(n, c, row, column) > in(n, c, best.row, best.column)) best = {row, column};
  });
  return best;
}

void pool_forward(const Layer& layer, const float* x, float* y, int batch) {
  const Grid in(x, layer.input);
  const Grid out(y, layer.output);
  const double cells = double(layer.spec.kernel) * layer.spec.kernel;
  for_each(layer.output, batch, [&](int n, int c, int i, int j) {
    if (layer.spec.type == Type::kMaxPool) {
      const Cell best = largest(layer, in, n, c, i, j);
      out(n, c, i, j) = in(n, c, best.row, best.column);
    } else {
      double sum = 0;
      for_window(layer, i, j, [&](int, int, int row, int column) { sum += double(in(n, c, row, column)); });
      out(n, c, i, j) = float(sum / cells);
    }
  });
}

void pool_backward(const Layer& layer, const float* x, const float* dy, float* dx, int batch) {
  std::vector<double> sums(layer.input.size() * std::size_t(batch));
  const Grid in(x, layer.input), dout(dy, layer.output);
  const Grid din(sums.data(), layer.input);
  const double cells = double(layer.spec.kernel) * layer.spec.kernel;
  for_each(layer.output, batch, [&](int n, int c, int i, int j) {
    const double d = dout(n, c, i, j);
    if (layer.spec.type == Type::kMaxPool) {
      const Cell best = largest(layer, in, n, c, i, j);
      din(n, c, best.row, best.column) += d;
    } else {
      for_window(layer, i, j, [&](int, int, int row, int column) { din(n, c, row, column) += d / cells; });
    }
  });
  std::copy(sums.begin(), sums.end(), dx);
}

class ReferenceNetwork final : public CompiledNetwork {
 public:
  explicit ReferenceNetwork(NetworkPlan plan) : plan_(std::move(plan)) {
    for (const Layer& layer : plan_.layers) {
      outputs_.emplace_back(layer.output.size() * std::size_t(plan_.largest_batch));
    }
  }

  void forward(const float* params, const float* x, float* y, int batch) override {
    HB_ASSERT(batch >= 1 && batch <= plan_.largest_batch);
    for (std::size_t i = 0; i < plan_.layers.size(); ++i) {
      const Layer& layer = plan_.layers[i];
      const float* in = i == 0 ? x : outputs_[i - 1].data();
      const float* mine = params + layer.weights_at;
      float* out = outputs_[i].data();
      if (layer.spec.type == Type::kConv) {
        conv_forward(layer, mine, in, out, batch);
      } else if (layer.spec.type == Type::kDense) {
        dense_forward(layer, mine, in, out, batch);
      } else if (layer.spec.type == Type::kRelu) {
        std::transform(in, in + layer.input.size() * std::size_t(batch), out, [](float v) { return v > 0 ? v : 0; });
      } else {
        pool_forward(layer, in, out, batch);
      }
    }
    std::copy_n(outputs_.back().data(), plan_.output.size() * std::size_t(batch), y);
  }

  void backward(const float* params, const float* x, const float* dy, float* dparams, float* dx, int batch,
                const std::function<void(int)>& layer_done) override {
    HB_ASSERT(batch >= 1 && batch <= plan_.largest_batch);
    std::vector<float> from_behind(dy, dy + plan_.output.size() * std::size_t(batch));
    for (int i = int(plan_.layers.size()) - 1; i >= 0; --i) {
      const Layer& layer = plan_.layers[std::size_t(i)];
      const float* in = i == 0 ? x : outputs_[std::size_t(i) - 1].data();
      std::vector<float> to_front(i > 0 || dx != nullptr ? layer.input.size() * std::size_t(batch) : 0);
      layer_backward(layer, params + layer.weights_at, in, from_behind, dparams + layer.weights_at, to_front, batch);
      if (layer_done) layer_done(i);
      from_behind = std::move(to_front);
    }
    if (dx != nullptr) std::copy(from_behind.begin(), from_behind.end(), dx);
  }

  float softmax_cross_entropy(const float* logits, const std::int32_t* labels, float* dlogits, int batch,
                              int* correct) override {
    return softmax_cross_entropy_on_host(logits, labels, dlogits, batch, plan_.output.size(), correct);
  }

 private:
  /// `din` is empty where nobody asked for it.
  static void layer_backward(const Layer& layer, const float* params, const float* in, const std::vector<float>& dout,
                             float* dparams, std::vector<float>& din, int batch) {
    float* to = din.empty() ? nullptr : din.data();
    if (layer.spec.type == Type::kConv) {
      conv_backward(layer, params, in, dout.data(), dparams, to, batch);
    } else if (layer.spec.type == Type::kDense) {
      dense_backward(layer, params, in, dout.data(), dparams, to, batch);
    } else if (to == nullptr) {
      return;
    } else if (layer.spec.type == Type::kRelu) {
      for (std::size_t k = 0; k < din.size(); ++k) to[k] = in[k] > 0 ? dout[k] : 0;
    } else {
      pool_backward(layer, in, dout.data(), to, batch);
    }
  }

  const NetworkPlan plan_;
  std::vector<std::vector<float>> outputs_;  // of each layer, for the largest batch
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

std::unique_ptr<Backend> create_reference_backend(int) { return std::make_unique<ReferenceBackend>(); }

}  // namespace hopbench
