// Kernels of layers and the loss, each against a plain loop, in double where it adds up.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/backends/cuda/cuda_arrays.h"

namespace hopbench::cuda {
namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

struct Rows {
  std::size_t rows;
  int channels;
};
/// Few channels and many rows, many channels and few rows, no multiple of a pack, one and several chunks.
constexpr Rows kRows[] = {{1, 1},      {3, 7},     {255, 3},    {257, 16},  {4099, 20}, {8192, 16}, {7, 4096},
                          {128, 1000}, {500, 130}, {1000, 256}, {4501, 64}, {70, 4096}, {70001, 1}, {2, 33}};

template <class F>
void for_rows(const F& f) {
  for (const Number number : kNumbers) {
    for (const auto& [rows, channels] : kRows) {
      for (const std::size_t skew : {0, 1}) {
        const std::string what = std::string(number == Number::kFloat ? "float " : "bf16 ") + std::to_string(rows) +
                                 " rows of " + std::to_string(channels) + ", skew " + std::to_string(skew);
        f(number, rows, channels, skew, what);
      }
    }
  }
}
Held<float> work_for(std::size_t rows, int channels) { return poisoned(column_work(rows, channels), 3); }

using CudaLayers = OnGpu;

TEST_F(CudaLayers, ReluAndItsGradient) {
  for (const Number number : kNumbers) {
    for (const std::size_t n : {1, 3, 7, 255, 257, 4099}) {
      for (const std::size_t skew : {0, 1}) {
        Floats x = rounded(number, normals_of(n, 1)), y = x;
        if (n > 4) x[1] = 0, x[2] = -0.0f, x[3] = 1e-40f, y = x;
        const Floats dy = rounded(number, normals_of(n, 2));
        Floats dx = dy;
        x = y = rounded(number, x);
        for (std::size_t i = 0; i < n; ++i) {
          y[i] = x[i] > 0 ? x[i] : 0;
          dx[i] = x[i] > 0 ? dy[i] : 0;
        }
        const Activations on_x(number, x, skew), on_dy(number, dy);
        const auto to = Activations::poisoned(number, n, skew), slope = Activations::poisoned(number, n);
        relu(stream(), number, on_x, to, n);
        expect_same_bits(to.get(), y, "relu");
        relu_backward(stream(), number, on_dy, to, slope, n);
        expect_same_bits(slope.get(), dx, "relu backward");
        relu(stream(), number, on_x, on_x, n);
        expect_same_bits(on_x.get(), y, "relu in place");
        relu_backward(stream(), number, on_dy, to, on_dy, n);
        expect_same_bits(on_dy.get(), dx, "relu backward in place");
        add_to(stream(), number, to, on_dy, n);
        for (std::size_t i = 0; i < n; ++i) y[i] = rounded(number, y[i] + dx[i]);
        expect_same_bits(to.get(), y, "add_to");
      }
    }
  }
}

TEST_F(CudaLayers, BiasAndRelu) {
  for_rows([](Number number, std::size_t rows, int channels, std::size_t skew, const std::string& what) {
    const auto c = std::size_t(channels);
    const Floats y = rounded(number, normals_of(rows * c, 1)), bias = normals_of(c, 2);
    const auto on_bias = put(bias, 1);
    for (const bool relu : {false, true}) {
      for (const bool biased : {false, true}) {
        Floats expected = y;
        for (std::size_t i = 0; i < y.size(); ++i) {
          if (biased) expected[i] += bias[i % c];
          if (relu) expected[i] = expected[i] > 0 ? expected[i] : 0;
        }
        const Activations on_y(number, y, skew);
        bias_relu(stream(), number, on_y, biased ? on_bias.data() : nullptr, relu, rows, channels);
        expect_same_bits(on_y.get(), rounded(number, expected), what);
      }
    }
  });
}

TEST_F(CudaLayers, BiasAndReluBackward) {
  for_rows([](Number number, std::size_t rows, int channels, std::size_t skew, const std::string& what) {
    const auto c = std::size_t(channels);
    const Floats y = rounded(number, normals_of(rows * c, 1)), dy = rounded(number, normals_of(rows * c, 2));
    for (const bool relu : {false, true}) {
      Floats masked = dy;
      Doubles sums(c), sizes(c);
      for (std::size_t i = 0; i < y.size(); ++i) {
        if (relu && !(y[i] > 0)) masked[i] = 0;
        sums[i % c] += double(masked[i]);
        sizes[i % c] += std::abs(double(masked[i]));
      }
      Floats first;
      for (const std::size_t other : {skew, std::size_t{0}}) {
        const Activations on_y(number, y), on_dy(number, dy, other);
        const auto dbias = poisoned(c, 1), work = work_for(rows, channels);
        bias_relu_backward(stream(), number, on_dy, on_y, dbias, relu, rows, channels, work);
        expect_close(dbias.get(), sums, 1e-6, largest_of(sizes), what);
        expect_same_bits(on_dy.get(), masked, what);
        if (first.empty()) first = dbias.get();
        expect_same_bits(dbias.get(), first, what + ": another address, another sum");
        work.get();
      }
      const Activations on_y(number, y, skew), on_dy(number, dy);
      bias_relu_backward(stream(), number, on_dy, on_y, nullptr, relu, rows, channels, nullptr);
      expect_same_bits(on_dy.get(), masked, what + ", without a bias");
    }
  });
}

/// Channels have deviations of 1 to 2, and means as large as several times `far`.
Floats scattered(std::size_t rows, std::size_t channels, float far) {
  Floats x = normals_of(rows * channels, 1);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = i % channels;
    x[i] = x[i] * (1 + 0.1f * float(c % 10)) + far * (float(c % 7) - 1.5f);
  }
  return x;
}

struct Statistics {
  Doubles mean, variance;
};
Statistics statistics_of(const Floats& x, std::size_t channels) {
  Statistics s{Doubles(channels), Doubles(channels)};
  const double rows = double(x.size() / channels);
  for (std::size_t i = 0; i < x.size(); ++i) s.mean[i % channels] += double(x[i]) / rows;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double apart = double(x[i]) - s.mean[i % channels];
    s.variance[i % channels] += apart * apart / rows;
  }
  return s;
}
/// The two halves of [0, 2c).
Floats half_of(const Floats& both, int which) {
  const auto c = std::ptrdiff_t(both.size() / 2);
  return {both.begin() + which * c, both.begin() + (which + 1) * c};
}
Doubles inverses_of(const Doubles& variances) {
  Doubles inverses;
  for (const double variance : variances) inverses.push_back(1 / std::sqrt(variance + 1e-5));
  return inverses;
}

TEST_F(CudaLayers, StatisticsOfChannels) {
  for (const float far : {0.0f, 3.0f, 1000.0f}) {
    for_rows([&](Number number, std::size_t rows, int channels, std::size_t skew, const std::string& what) {
      const auto c = std::size_t(channels);
      const Floats x = rounded(number, scattered(rows, c, far));
      const Statistics s = statistics_of(x, c);
      const Activations on_x(number, x, skew);
      const auto saved = poisoned(2 * c), seen = poisoned(2 * c, 1), work = work_for(rows, channels);
      norm_statistics(stream(), number, on_x, saved, seen, rows, channels, work);
      Doubles population = s.variance;
      for (double& variance : population) variance *= rows > 1 ? double(rows) / double(rows - 1) : 1.0;
      expect_close(half_of(saved.get(), 0), s.mean, 1e-6, 2, what + ": means");
      expect_close(half_of(saved.get(), 1), inverses_of(s.variance), 2e-6, 0, what + ": inverse deviations");
      expect_close(half_of(seen.get(), 0), s.mean, 1e-6, 2, what + ": means seen");
      expect_close(half_of(seen.get(), 1), population, 4e-6, 1e-6, what + ": variances seen");
      work.get();

      const auto given = poisoned(2 * c);
      norm_from_statistics(stream(), seen, given, channels);
      expect_same_bits(half_of(given.get(), 0), half_of(seen.get(), 0), what);
      expect_close(half_of(given.get(), 1), inverses_of(population), 3e-6, 0, what + ": of given statistics");
    });
  }
}

TEST_F(CudaLayers, AnOutlierInTheFirstRowSpoilsNoVariance) {
  Floats x = normals_of(20000, 1);
  x[0] = 1e5f;
  const Statistics s = statistics_of(x, 4);
  const Activations on_x(Number::kFloat, x);
  const auto saved = poisoned(8), seen = poisoned(8), work = work_for(5000, 4);
  norm_statistics(stream(), Number::kFloat, on_x, saved, seen, 5000, 4, work);
  expect_close(half_of(saved.get(), 1), inverses_of(s.variance), 2e-6, 0, "with an outlier");
}

TEST_F(CudaLayers, NumbersThatAreNoneAreNotHidden) {
  Floats x = normals_of(400, 1);
  x[7] = std::numeric_limits<float>::quiet_NaN();
  const Activations on_x(Number::kFloat, x);
  const auto saved = put(Floats(8)), seen = put(Floats(8)), work = work_for(100, 4);
  norm_statistics(stream(), Number::kFloat, on_x, saved, seen, 100, 4, work);
  for (std::size_t c = 0; c < 8; ++c) EXPECT_EQ(std::isnan(saved.get()[c]), c % 4 == 3);
}

TEST_F(CudaLayers, NormalisedAndItsGradient) {
  for_rows([](Number number, std::size_t rows, int channels, std::size_t skew, const std::string& what) {
    const auto c = std::size_t(channels);
    const Floats x = rounded(number, scattered(rows, c, 1)), dy = rounded(number, normals_of(x.size(), 2));
    const Floats scale = normals_of(c, 3), shift = normals_of(c, 4);
    const Statistics s = statistics_of(x, c);
    Floats saved(s.mean.begin(), s.mean.end());
    for (const double inverse : inverses_of(s.variance)) saved.push_back(float(inverse));
    const auto on_saved = put(saved), on_scale = put(scale, 1), on_shift = put(shift, 2);
    const auto inverse = [&](std::size_t i) { return double(saved[c + i % c]); };
    const auto normal = [&](std::size_t i) { return (double(x[i]) - double(saved[i % c])) * inverse(i); };
    for (const bool relu : {false, true}) {
      Doubles y(x.size()), dscale(c), dshift(c), sizes(c), dx(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) {
        y[i] = double(scale[i % c]) * normal(i) + double(shift[i % c]);
        if (relu) y[i] = std::max(y[i], 0.0);
      }
      const Activations on_x(number, x, skew);
      const auto to = Activations::poisoned(number, x.size(), skew);
      norm_forward(stream(), number, on_x, to, on_saved, on_scale, on_shift, relu, rows, channels);
      expect_close(to.get(), y, precision_of(number), 10, what);
      const Floats outputs = to.get();  // what ReLU's gradient goes by
      const auto slope = [&](std::size_t i) { return relu && !(outputs[i] > 0) ? 0.0 : double(dy[i]); };
      for (std::size_t i = 0; i < x.size(); ++i) {
        dscale[i % c] += slope(i) * normal(i);
        dshift[i % c] += slope(i);
        sizes[i % c] += std::abs(slope(i)) * std::max(1.0, std::abs(normal(i)));
      }
      double steepest = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        steepest = std::max(steepest, std::abs(double(scale[i % c]) * inverse(i) * double(dy[i])));
        dx[i] = double(scale[i % c]) * inverse(i) *
                (slope(i) - dshift[i % c] / double(rows) - normal(i) * dscale[i % c] / double(rows));
      }
      const Activations on_dy(number, dy, skew);
      const auto on_dx = Activations::poisoned(number, x.size());
      const auto on_dscale = poisoned(c, 1), on_dshift = poisoned(c), work = work_for(rows, channels);
      for (const bool in_place : {false, true}) {
        norm_backward(stream(), number, on_x, relu ? to.data() : nullptr, on_dy, in_place ? on_dy.data() : on_dx.data(),
                      on_saved, on_scale, on_dscale, on_dshift, relu, rows, channels, work);
        expect_close(on_dscale.get(), dscale, 2e-6, largest_of(sizes), what + ": dscale");
        expect_close(on_dshift.get(), dshift, 2e-6, largest_of(sizes), what + ": dshift");
        expect_close((in_place ? on_dy : on_dx).get(), dx, 2 * precision_of(number), steepest, what + ": dx");
      }
      work.get();
    }
  });
}

using CudaLoss = OnGpu;

struct Expected {
  double sum = 0;
  int correct = 0, foreign = 0;
  Doubles dlogits;
};
Expected loss_of(const Floats& logits, const std::vector<std::int32_t>& labels, std::size_t classes) {
  Expected e;
  for (std::size_t n = 0; n < labels.size(); ++n) {
    const float* const row = logits.data() + n * classes;
    const auto label = std::size_t(labels[n]);
    std::size_t best = 0;
    for (std::size_t c = 1; c < classes; ++c) best = row[c] > row[best] ? c : best;
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += std::exp(double(row[c]) - double(row[best]));
    for (std::size_t c = 0; c < classes; ++c) {
      const double p = std::exp(double(row[c]) - double(row[best])) / sum;
      e.dlogits.push_back((p - (c == label ? 1 : 0)) / double(labels.size()));
    }
    if (labels[n] < 0 || label >= classes) {
      e.foreign += 1;
      continue;
    }
    e.correct += best == label ? 1 : 0;
    e.sum += std::log(sum) - (double(row[label]) - double(row[best]));
  }
  return e;
}

void expect_loss(const Floats& logits, const std::vector<std::int32_t>& labels, std::size_t classes) {
  const std::string what = std::to_string(labels.size()) + " samples, " + std::to_string(classes) + " classes";
  const Expected expected = loss_of(logits, labels, classes);
  const auto on_logits = put(logits, 1), dlogits = poisoned(logits.size(), 1);
  const auto on_labels = put(labels, 1);
  for (const bool with_gradient : {true, false}) {
    const auto loss = put(std::vector<Loss>{Loss{std::nan(""), -7, -7, {}}});
    softmax_cross_entropy(stream(), on_logits, on_labels, with_gradient ? dlogits.data() : nullptr, loss,
                          int(labels.size()), int(classes));
    const Loss got = loss.get()[0];
    if (std::isnan(expected.sum)) {
      EXPECT_TRUE(std::isnan(got.sum)) << what;
    } else if (std::isinf(expected.sum)) {
      EXPECT_EQ(got.sum, expected.sum) << what;
    } else {
      EXPECT_NEAR(got.sum, expected.sum, 1e-12 * std::max(1.0, expected.sum)) << what;
    }
    EXPECT_EQ(got.correct, expected.correct) << what;
    EXPECT_EQ(got.foreign, expected.foreign) << what;
  }
  const Floats slopes = dlogits.get();
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    if (std::isnan(expected.dlogits[i])) {
      ASSERT_TRUE(std::isnan(slopes[i])) << what;
    } else {
      ASSERT_NEAR(slopes[i], expected.dlogits[i], 1e-7 * std::abs(expected.dlogits[i]) + 1e-38) << what;
    }
  }
}

std::vector<std::int32_t> labels_of(std::size_t batch, std::size_t classes) {
  std::vector<std::int32_t> labels;
  for (std::size_t n = 0; n < batch; ++n) labels.push_back(std::int32_t(n * 7 % classes));
  return labels;
}

TEST_F(CudaLoss, OfAnyBatchAndAnyNumberOfClasses) {
  for (const std::size_t batch : {1, 3, 7, 255, 1025, 2500}) {
    for (const std::size_t classes : {1, 2, 10, 31, 33, 257}) {
      expect_loss(normals_of(batch * classes, 1), labels_of(batch, classes), classes);
      expect_loss(levels_of(batch * classes, 2), labels_of(batch, classes), classes);  // with ties
    }
  }
  expect_loss(normals_of(70000, 1), labels_of(7, 10000), 10000);
}

TEST_F(CudaLoss, OfHugeLogitsAndThoseThatAreNone) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinite = std::numeric_limits<float>::infinity();
  expect_loss({3e38f, -3e38f, 0, -3e38f, -3e38f, -3e38f}, {0, 1}, 3);
  expect_loss({3e38f, -3e38f, 0}, {1}, 3);
  expect_loss({-kInfinite, 1, 2}, {2}, 3);
  for (const std::size_t place : {0, 1, 2}) {
    for (const float none : {kNan, kInfinite, -kInfinite}) {
      Floats logits = {1, 2, 3, 1, 2, 3};
      logits[place] = none;
      for (const std::int32_t label : {0, 1, 2}) expect_loss(logits, {label, 2}, 3);
    }
  }
  expect_loss({kNan, kNan, kNan}, {0}, 3);
  expect_loss({-kInfinite, -kInfinite, -kInfinite}, {0}, 3);
  Floats wide(600, -kInfinite);
  wide[77] = kNan;
  expect_loss(wide, {0}, 600);
}

TEST_F(CudaLoss, ForeignLabelsAreCountedAndReadNothing) {
  expect_loss(normals_of(70, 1), {0, -1, 9, 10, 5, std::numeric_limits<std::int32_t>::max(), 1}, 10);
  expect_loss(normals_of(4, 1), {4, -3}, 2);
}

}  // namespace
}  // namespace hopbench::cuda
