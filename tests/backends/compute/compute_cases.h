// Layers, networks and inputs that the tests of the compute backends share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "backends/base/error.h"
#include "backends/base/random.h"
#include "backends/compute/backend.h"

namespace hopbench {
using Type = LayerSpec::Type;
using Floats = std::vector<float>;

inline LayerSpec conv(int outputs, int kernel, int stride = 1, int padding = 0) {
  return {Type::kConv, outputs, kernel, stride, padding};
}
inline LayerSpec dense(int outputs) { return {Type::kDense, outputs}; }
inline LayerSpec relu() { return {Type::kRelu}; }
inline LayerSpec max_pool(int kernel, int stride, int padding = 0) {
  return {Type::kMaxPool, 0, kernel, stride, padding};
}
inline LayerSpec avg_pool(int kernel, int stride, int padding = 0) {
  return {Type::kAvgPool, 0, kernel, stride, padding};
}
inline LayerSpec without_bias(LayerSpec layer) {
  layer.bias = false;
  return layer;
}
inline LayerSpec batch_norm() { return {Type::kBatchNorm}; }
inline LayerSpec add(int from, int stride = 1) { return {.type = Type::kAdd, .stride = stride, .from = from}; }

inline const std::vector<LayerSpec> kLenet = {conv(20, 5), max_pool(2, 2), conv(50, 5), max_pool(2, 2),
                                              dense(500),  relu(),         dense(10)};
inline const std::vector<LayerSpec> kSmallVgg = {
    conv(12, 3, 1, 1), relu(),   max_pool(2, 2), conv(20, 3, 2, 1), relu(), relu(),
    avg_pool(2, 1),    dense(9), relu(),         dense(5)};
/// Shortcuts of equal shape, subsampled, with channels of zeros, from a layer whose ReLU stands apart, and two at once.
inline const std::vector<LayerSpec> kSmallResnet = {without_bias(conv(4, 3, 1, 1)),
                                                    batch_norm(),
                                                    relu(),  // 2
                                                    without_bias(conv(4, 3, 1, 1)),
                                                    batch_norm(),
                                                    add(2),
                                                    relu(),  // 6
                                                    conv(8, 3, 2, 1),
                                                    batch_norm(),  // 8
                                                    relu(),
                                                    without_bias(conv(8, 3, 1, 1)),
                                                    batch_norm(),
                                                    add(6, 2),  // 12
                                                    conv(8, 1),
                                                    add(8),
                                                    add(12),
                                                    relu(),
                                                    avg_pool(4, 4),
                                                    dense(5)};

/// In blocks of channels, with maps of 4x4 and 2x2, and of 1x1 whose windows meet in one cell.
inline const std::vector<LayerSpec> kWide = {conv(32, 3, 1, 1),
                                             relu(),
                                             max_pool(2, 2),
                                             conv(128, 3, 1, 1),
                                             relu(),
                                             max_pool(2, 2),
                                             conv(144, 3, 1, 1),
                                             relu(),
                                             max_pool(2, 2),
                                             conv(128, 3, 1, 1),
                                             conv(128, 5, 1, 2),
                                             relu(),
                                             max_pool(2, 2),
                                             conv(128, 5, 1, 2),
                                             dense(7)};

inline Floats normals(std::size_t n, std::int64_t draw) {
  Random random({.seed = 7, .purpose = Purpose::kTest, .iteration = draw});
  Floats values(n);
  for (float& value : values) value = float(random.normal());
  return values;
}

/// Numbers 0.05 apart in random order, none within 0.025 of zero: a small step crosses no kink of relu or max pool.
inline Floats apart(std::size_t n, std::int64_t draw) {
  Floats values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = 0.05f * (float(i) - float(n / 2)) + 0.025f;
  Random random({.seed = 7, .purpose = Purpose::kTest, .iteration = draw});
  random.shuffle(std::span<float>(values));
  return values;
}

inline Floats poison(std::size_t n) { return Floats(n, std::numeric_limits<float>::quiet_NaN()); }

struct Case {
  std::vector<LayerSpec> layers;
  Shape input;
};

inline std::string describe(const Case& c) {
  std::string text = to_string(c.input);
  for (const LayerSpec& layer : c.layers) text += ", " + to_string(layer);
  return text;
}

inline Shape output_of(const Case& c) {
  Shape shape = c.input;
  for (const LayerSpec& layer : c.layers) shape = output_shape(layer, shape);
  return shape;
}

inline std::size_t summed(const Case& c, std::size_t (*count)(const LayerSpec&, const Shape&)) {
  std::size_t sum = 0;
  Shape shape = c.input;
  for (const LayerSpec& layer : c.layers) {
    sum += count(layer, shape);
    shape = output_shape(layer, shape);
  }
  return sum;
}
inline std::size_t parameters_of(const Case& c) { return summed(c, parameter_count); }
inline std::size_t statistics_of(const Case& c) { return summed(c, statistic_count); }

/// The input of one pass, drawn anew for each `draw`.
struct Sample {
  Sample(const Case& c, int batch, std::int64_t draw)
      : params(normals(parameters_of(c), 3 * draw)),
        x(normals(c.input.size() * std::size_t(batch), 3 * draw + 1)),
        dy(normals(output_of(c).size() * std::size_t(batch), 3 * draw + 2)) {}
  Floats params, x, dy;
  bool operator==(const Sample&) const = default;
};

struct Pass {
  Floats y, dparams, dx, statistics;
  std::vector<int> done;
  bool operator==(const Pass&) const = default;
};

/// Forward and backward with all outputs poisoned first; the inputs must stay as they were.
inline Pass pass(CompiledNetwork& network, const Case& c, const Sample& s, int batch, bool with_dx = true) {
  Pass result{poison(output_of(c).size() * std::size_t(batch)),
              poison(s.params.size()),
              poison(with_dx ? s.x.size() : 0),
              poison(statistics_of(c)),
              {}};
  const Sample before = s;
  network.forward(s.params.data(), s.x.data(), result.y.data(), batch);
  network.statistics(result.statistics.data());
  network.backward(s.params.data(), s.x.data(), s.dy.data(), result.dparams.data(),
                   with_dx ? result.dx.data() : nullptr, batch, [&](int layer) { result.done.push_back(layer); });
  EXPECT_EQ(s == before, true) << "an input was written to: " << describe(c);
  return result;
}

/// The largest difference, as a share of the largest number expected. NaN wherever there is one.
inline double distance(const Floats& got, const Floats& expected) {
  EXPECT_EQ(got.size(), expected.size());
  double difference = 0, largest = 1e-30;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double d = std::abs(double(got[i]) - double(expected[i]));
    if (std::isnan(d)) return d;
    difference = std::max(difference, d);
    largest = std::max(largest, std::abs(double(expected[i])));
  }
  return difference / largest;
}

inline std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Shape& input : {Shape{1, 9, 9}, Shape{3, 12, 11}, Shape{8, 7, 7}, Shape{20, 10, 6}, Shape{33, 5, 5}}) {
    for (int outputs : {1, 8, 13}) {
      all.push_back({{conv(outputs, 1)}, input});
      all.push_back({{conv(outputs, 3, 1, 1)}, input});
      all.push_back({{conv(outputs, 5, 2, 2), relu()}, input});
      all.push_back({{conv(outputs, 5)}, input});
      all.push_back({{conv(outputs, 4, 3, 1)}, input});
      all.push_back({{dense(outputs)}, input});
      all.push_back({{dense(outputs), relu()}, input});
    }
    all.push_back({{relu()}, input});
    all.push_back({{without_bias(conv(8, 3, 1, 1)), relu()}, input});
    all.push_back({{without_bias(dense(7))}, input});
    all.push_back({{batch_norm()}, input});
    all.push_back({{batch_norm(), relu()}, input});
    all.push_back({{relu(), avg_pool(1, 1), add(0)}, input});
    all.push_back({{relu(), conv(input.channels + 4, 3, 2, 1), add(0, 2), relu()}, input});
    for (const auto& pool : {max_pool, avg_pool}) {
      all.push_back({{pool(2, 2, 0)}, input});
      all.push_back({{pool(3, 2, 1)}, input});
      all.push_back({{pool(3, 1, 2)}, input});
      all.push_back({{pool(2, 3, 0), relu()}, input});
      all.push_back({{pool(5, 5, 0)}, input});
    }
  }
  return all;
}

inline std::vector<Case> networks() {
  return {{kLenet, {1, 28, 28}},
          {kWide, {3, 16, 16}},
          {kSmallVgg, {3, 16, 16}},
          {kSmallResnet, {3, 8, 8}},
          {{relu(), avg_pool(1, 1), add(0), avg_pool(1, 1), add(2)}, {2, 5, 4}},
          {{relu(), avg_pool(1, 1), add(0), add(1)}, {4, 1, 1}},  // the caller's gradient goes through both
          {{conv(4, 3, 1, 1), batch_norm(), add(0), relu(), add(1)}, {2, 5, 5}},
          {{conv(4, 3, 1, 1), relu(), conv(4, 3, 1, 1), relu(), add(1), conv(3, 1)}, {2, 5, 5}},
          {{conv(4, 3, 1, 1), avg_pool(1, 1), relu(), conv(4, 1), add(1)}, {2, 5, 5}},
          {{max_pool(2, 2), relu(), conv(6, 3), avg_pool(2, 2), relu(), conv(5, 2)}, {7, 14, 12}},
          {{relu(), dense(6), conv(7, 1), relu(), max_pool(1, 1), dense(3), relu()}, {4, 1, 1}}};
}

template <class F>
std::string error_of(const F& f, ExitCode code = ExitCode::kUsage) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

}  // namespace hopbench
