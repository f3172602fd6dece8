#include "backends/compute/host.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backends/base/error.h"

namespace hopbench {

NetworkPlan::NetworkPlan(std::span<const LayerSpec> specs, const Shape& input_shape, int largest)
    : input(input_shape), output(input_shape), largest_batch(largest) {
  if (specs.empty()) throw usage_error("cannot compile a network: it has no layers: give it at least one");
  if (largest < 1)
    throw usage_error(fmt::format("cannot compile a network: its batch is {}: take at least 1", largest));
  for (std::size_t i = 0; i < specs.size(); ++i) try {
      add_layer(specs[i]);
    } catch (const Error& error) {
      throw error.in(fmt::format("layer {}", i));
    }
}

namespace {

/// Throws unless stride and channels of zeros bring the shortcut to the shape of the add's input.
void check_shortcut(const LayerSpec& add, const Shape& input, const Shape& from) {
  const auto subsampled = [&](int extent) { return (extent + add.stride - 1) / add.stride; };
  const int zeros = input.channels - from.channels;
  if (subsampled(from.height) != input.height || subsampled(from.width) != input.width || zeros < 0 || zeros % 2 != 0)
    throw usage_error(
        fmt::format("{} cannot add {} to {}: extents divided by the stride must agree, and channels "
                    "grow by an even number",
                    to_string(add), to_string(from), to_string(input)));
}

}  // namespace

void NetworkPlan::add_layer(const LayerSpec& spec) {
  Layer layer{.spec = spec, .input = output, .output = output_shape(spec, output)};
  const std::size_t count = parameter_count(spec, output);
  if (spec.type == LayerSpec::Type::kBatchNorm) {
    layer.biases = count / 2;
  } else if (count > 0 && spec.bias) {
    layer.biases = std::size_t(spec.outputs);
  } else if (spec.type == LayerSpec::Type::kAdd) {
    if (spec.from < 0 || std::size_t(spec.from) + 1 >= layers.size())
      throw usage_error(fmt::format("{} must name a layer at least two before it", to_string(spec)));
    Layer& from = layers[std::size_t(spec.from)];
    check_shortcut(spec, layer.input, from.output);
    from.kept = true;
  }
  layer.weights = count - layer.biases;
  layer.weights_at = parameters, layer.bias_at = parameters + layer.weights;
  layer.means_at = statistics;
  parameters += count;
  statistics += statistic_count(spec, output);
  output = layer.output;
  layers.push_back(layer);
}

/// Uses four sums, so that loads of weights that wait for memory overlap.
void Backend::margins(const float* x, std::size_t bias_at, std::span<const SparseRow> rows, float* to) {
  for (const SparseRow& row : rows) {
    const std::uint32_t* const c = row.columns.data();
    const float* const v = row.values.data();
    const std::size_t n = row.columns.size();
    float sums[4] = {};
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4) {
      for (std::size_t j = 0; j < 4; ++j) sums[j] += v[i + j] * x[c[i + j]];
    }
    for (; i < n; ++i) sums[0] += v[i] * x[c[i]];
    *to++ = (sums[0] + sums[1]) + (sums[2] + sums[3]) + x[bias_at];
  }
}

float population_variance(double variance, std::size_t count) {
  return count > 1 ? float(variance * double(count) / double(count - 1)) : float(variance);
}

namespace {

/// Returns e^x for x <= 0 or NaN, to about 1e-15: x = k ln 2 + r with |r| <= ln 2 / 2, then the series of e^r.
double exponential(double x) {
  if (std::isnan(x)) return x;  // the run diverged; the loss shows it
  if (x < -700) return 0;       // far below what a float can add to a sum that is at least 1
  constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;
  const double k = std::nearbyint(x * 1.44269504088896340736);
  const double r = (x - k * kLn2High) - k * kLn2Low;
  double sum = 1;
  for (int i = 13; i >= 1; --i) sum = 1 + sum * r / i;
  return std::ldexp(sum, int(k));
}

/// Returns ln x for x >= 1: x = m 2^k with m near 1, then ln m = 2 artanh((m - 1) / (m + 1)).
double logarithm(double x) {
  int k = 0;
  double m = std::frexp(x, &k);
  if (m < 0.70710678118654752440) {
    m *= 2;
    --k;
  }
  const double t = (m - 1) / (m + 1), t2 = t * t;
  double sum = 0;
  for (int i = 23; i >= 1; i -= 2) sum = sum * t2 + 1.0 / i;
  return 2 * t * sum + k * 0.69314718055994530942;
}

}  // namespace

void check_labels(const std::int32_t* labels, int batch, std::size_t classes) {
  for (int n = 0; n < batch; ++n) {
    if (labels[n] >= 0 && std::size_t(labels[n]) < classes) continue;
    throw usage_error(
        fmt::format("cannot compute the loss: sample {} has label {}, but the network has {} outputs: "
                    "take a data set that fits the model",
                    n, labels[n], classes));
  }
}

float softmax_cross_entropy_on_host(const float* logits, const std::int32_t* labels, float* dlogits, int batch,
                                    std::size_t classes, int* correct) {
  check_labels(labels, batch, classes);
  double loss = 0;
  int right = 0;
  for (std::size_t n = 0; n < std::size_t(batch); ++n) {
    const float* row = logits + n * classes;
    const std::int32_t label = labels[n];
    std::size_t best = 0;
    for (std::size_t c = 1; c < classes; ++c) {
      if (row[c] > row[best]) best = c;
    }
    right += best == std::size_t(label);
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += exponential(double(row[c]) - double(row[best]));
    loss += logarithm(sum) - (double(row[label]) - double(row[best]));
    if (dlogits == nullptr) continue;
    for (std::size_t c = 0; c < classes; ++c) {
      const double probability = exponential(double(row[c]) - double(row[best])) / sum;
      dlogits[n * classes + c] = float((probability - (c == std::size_t(label) ? 1.0 : 0.0)) / batch);
    }
  }
  if (correct != nullptr) *correct = right;
  return float(loss / batch);
}

}  // namespace hopbench
