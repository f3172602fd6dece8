#include "backends/compute/host.h"

#include <fmt/format.h>

#include <cmath>

#include "backends/base/error.h"

namespace hopbench {

NetworkPlan::NetworkPlan(std::span<const LayerSpec> specs, const Shape& input_shape, int largest)
    : input(input_shape), output(input_shape), largest_batch(largest) {
  if (specs.empty()) throw usage_error("cannot compile a network: it has no layers: give it at least one");
  if (largest < 1)
    throw usage_error(fmt::format("cannot compile a network: its batch is {}: take at least 1", largest));
  std::size_t at = 0;
  for (std::size_t i = 0; i < specs.size(); ++i) try {
      Layer layer{specs[i], output, output_shape(specs[i], output), 0, at, 0};
      const std::size_t parameters = parameter_count(specs[i], output);
      layer.weights = parameters == 0 ? 0 : parameters - std::size_t(specs[i].outputs);
      layer.bias_at = at + layer.weights;
      at += parameters;
      output = layer.output;
      layers.push_back(layer);
    } catch (const Error& error) {
      throw error.in(fmt::format("layer {}", i));
    }
}

namespace {

/// e^x for x <= 0 or NaN, to about 1e-15: x = k ln 2 + r with |r| <= ln 2 / 2, then the series of e^r.
double exponential(double x) {
  if (std::isnan(x)) return x;  // of a run that diverged; the loss says so
  if (x < -700) return 0;       // far below what a float can add to a sum that is at least 1
  constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;
  const double k = std::nearbyint(x * 1.44269504088896340736);
  const double r = (x - k * kLn2High) - k * kLn2Low;
  double sum = 1;
  for (int i = 13; i >= 1; --i) sum = 1 + sum * r / i;
  return std::ldexp(sum, int(k));
}

/// ln x for x >= 1: x = m 2^k with m near 1, then ln m = 2 artanh((m - 1) / (m + 1)).
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

float softmax_cross_entropy_on_host(const float* logits, const std::int32_t* labels, float* dlogits, int batch,
                                    std::size_t classes, int* correct) {
  double loss = 0;
  int right = 0;
  for (std::size_t n = 0; n < std::size_t(batch); ++n) {
    const float* row = logits + n * classes;
    const std::int32_t label = labels[n];
    if (label < 0 || std::size_t(label) >= classes) {
      throw usage_error(
          fmt::format("cannot compute the loss: sample {} has label {}, but the network has {} outputs: "
                      "take a data set that fits the model",
                      n, label, classes));
    }
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
