// The oracle: naive layers, one after the other. Its bits depend on nothing but its input (no contraction, no
// reassociation, one thread).
//
// Layers are written like their definitions: one loop per index, sums in double in a fixed order. Activations are NCHW.
// Gradients are written, not added to. dx may be nullptr if it is not needed.
#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "backends/base/error.h"
#include "backends/compute/host.h"

namespace hopbench::reference {
namespace {

using Layer = NetworkPlan::Layer;
using Type = LayerSpec::Type;

/// An array a[n][c][i][j] of a batch of samples in one shape.
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

/// Calls f(ky, kx, y, x), row by row, for the cells of output (i, j)'s window that lie in the input.
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
    double sum = layer.spec.bias ? params[layer.weights + std::size_t(o)] : 0;
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
  if (layer.spec.bias) std::copy(bias_sums.begin(), bias_sums.end(), dparams + layer.weights);
  if (dx != nullptr) std::copy(input_sums.begin(), input_sums.end(), dx);
}

void dense_forward(const Layer& layer, const float* params, const float* x, float* y, int batch) {
  const std::size_t inputs = layer.input.size(), outputs = layer.output.size();
  for (std::size_t n = 0; n < std::size_t(batch); ++n) {
    for (std::size_t o = 0; o < outputs; ++o) {
      double sum = layer.spec.bias ? params[layer.weights + o] : 0;
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
    if (layer.spec.bias) dparams[layer.weights + o] = float(bias_sum);
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

/// Returns the cell with the largest number of a window, the first of equal ones.
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

/// Moments of each channel of a batch norm's inputs. The variance is divided by the count.
struct Moments {
  std::vector<double> mean, variance;
};
Moments moments_of(const Layer& layer, const float* x, int batch) {
  const auto channels = std::size_t(layer.input.channels);
  const double count = double(layer.input.height) * layer.input.width * batch;
  const Grid in(x, layer.input);
  Moments m{std::vector<double>(channels), std::vector<double>(channels)};
  for_each(layer.input, batch, [&](int n, int c, int i, int j) { m.mean[std::size_t(c)] += double(in(n, c, i, j)); });
  for (double& mean : m.mean) mean /= count;
  for_each(layer.input, batch, [&](int n, int c, int i, int j) {
    const double d = double(in(n, c, i, j)) - m.mean[std::size_t(c)];
    m.variance[std::size_t(c)] += d * d;
  });
  for (double& variance : m.variance) variance /= count;
  return m;
}

double normalised(const Moments& m, std::size_t c, float x) {
  return (double(x) - m.mean[c]) / std::sqrt(m.variance[c] + kBatchNormEpsilon);
}

void norm_forward(const Layer& layer, const float* params, const Moments& m, const float* x, float* y, int batch) {
  const Grid in(x, layer.input);
  const Grid out(y, layer.output);
  for_each(layer.output, batch, [&](int n, int channel, int i, int j) {
    const auto c = std::size_t(channel);
    const double scale = params[c], shift = params[layer.weights + c];
    out(n, channel, i, j) = float(scale * normalised(m, c, in(n, channel, i, j)) + shift);
  });
}

/// `m` must be the moments of this x.
void norm_backward(const Layer& layer, const float* params, const Moments& m, const float* x, const float* dy,
                   float* dparams, float* dx, int batch) {
  const auto channels = std::size_t(layer.input.channels);
  const double count = double(layer.input.height) * layer.input.width * batch;
  const Grid in(x, layer.input), dout(dy, layer.output);
  std::vector<double> dscale(channels), dshift(channels);
  for_each(layer.output, batch, [&](int n, int channel, int i, int j) {
    const auto c = std::size_t(channel);
    dscale[c] += double(dout(n, channel, i, j)) * normalised(m, c, in(n, channel, i, j));
    dshift[c] += double(dout(n, channel, i, j));
  });
  std::copy(dscale.begin(), dscale.end(), dparams);
  std::copy(dshift.begin(), dshift.end(), dparams + layer.weights);
  if (dx == nullptr) return;
  const Grid din(dx, layer.input);
  for_each(layer.output, batch, [&](int n, int channel, int i, int j) {
    const auto c = std::size_t(channel);
    const double moved = dshift[c] / count + normalised(m, c, in(n, channel, i, j)) * dscale[c] / count;
    const double slope = double(params[c]) / std::sqrt(m.variance[c] + kBatchNormEpsilon);
    din(n, channel, i, j) = float(slope * (double(dout(n, channel, i, j)) - moved));
  });
}

/// Calls f(n, c, i, j; channel, row, column of the earlier layer) for every output of an add with a shortcut.
template <class F>
void for_shortcut(const Layer& layer, const Shape& from, int batch, const F& f) {
  const int zeros = (layer.output.channels - from.channels) / 2;
  for_each(layer.output, batch, [&](int n, int c, int i, int j) {
    const int channel = c - zeros;
    if (channel < 0 || channel >= from.channels) return;
    f(n, c, i, j, channel, i * layer.spec.stride, j * layer.spec.stride);
  });
}

/// `other`: the outputs, of shape `from`, that the layer adds to x.
void add_forward(const Layer& layer, const Shape& from, const float* x, const float* other, float* y, int batch) {
  const Grid there(other, from);
  const Grid here(y, layer.output);
  std::copy_n(x, layer.input.size() * std::size_t(batch), y);
  for_shortcut(layer, from, batch, [&](int n, int c, int i, int j, int channel, int row, int column) {
    here(n, c, i, j) += there(n, channel, row, column);
  });
}

/// Adds to dother[batch][from]. The gradient of x is dy itself.
void add_backward(const Layer& layer, const Shape& from, const float* dy, float* dother, int batch) {
  const Grid there(dother, from);
  const Grid here(dy, layer.output);
  for_shortcut(layer, from, batch, [&](int n, int c, int i, int j, int channel, int row, int column) {
    there(n, channel, row, column) += here(n, c, i, j);
  });
}

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
}  // namespace hopbench::reference

namespace hopbench {

std::unique_ptr<Backend> create_reference_backend(const BackendOptions&) {
  return std::make_unique<reference::ReferenceBackend>();
}

}  // namespace hopbench
