// Kernels of vectors, layouts, the loss and sparse rows, each against a plain loop.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/base/space.h"
#include "backends/base/sparse.h"
#include "tests/backends/cuda/cuda_arrays.h"

namespace hopbench::cuda {
namespace {

using Floats = std::vector<float>;
constexpr std::size_t kSizes[] = {1, 3, 7, 255, 257, 4099, 70001};

std::string at(std::size_t n, std::size_t skew) { return "n " + std::to_string(n) + ", skew " + std::to_string(skew); }

/// Returns numbers of very different sizes, with zeros of both signs and some too small for a normal float.
Floats mixed(std::size_t n, std::int64_t draw) {
  Floats values = normals_of(n, draw);
  for (std::size_t i = 0; i < n; ++i) {
    if (i % 7 == 3) values[i] *= 1e20f;
    if (i % 11 == 5) values[i] *= 1e-40f;
    if (i % 13 == 2) values[i] = i % 2 == 0 ? 0.0f : -0.0f;
  }
  return values;
}

template <class F>
void for_sizes(const F& f) {
  for (const std::size_t n : kSizes) {
    for (const std::size_t skew : {0, 1, 2}) f(n, skew);
  }
}

using CudaVectors = OnGpu;

TEST_F(CudaVectors, FillAndScaleAndAxpyGiveTheHostsBits) {
  for_sizes([](std::size_t n, std::size_t skew) {
    const auto filled = poisoned(n, skew);
    fill(stream(), filled, 1.5f, n);
    expect_same_bits(filled.get(), Floats(n, 1.5f), at(n, skew));

    Floats expected = mixed(n, 1);
    const auto scaled = put(expected, skew);
    scale(stream(), scaled, -0.3f, n);
    host_space().scale(expected.data(), -0.3f, n);
    expect_same_bits(scaled.get(), expected, at(n, skew));

    const Floats x = mixed(n, 2);
    for (const std::size_t other : {std::size_t{0}, skew}) {
      expected = mixed(n, 3);
      const auto y = put(expected, skew), on = put(x, other);
      axpy(stream(), y, 0.7f, on, n);
      host_space().axpy(expected.data(), 0.7f, x.data(), n);
      expect_same_bits(y.get(), expected, at(n, skew));
    }
    axpy(stream(), scaled, 0.7f, scaled, n);  // onto itself
    Floats twice = mixed(n, 1);
    host_space().scale(twice.data(), -0.3f, n);
    host_space().axpy(twice.data(), 0.7f, twice.data(), n);
    expect_same_bits(scaled.get(), twice, at(n, skew));
  });
}

TEST_F(CudaVectors, NothingIsLaunchedForNoNumbers) {
  fill(stream(), nullptr, 1, 0);
  axpy(stream(), nullptr, 1, nullptr, 0);
  scale(stream(), nullptr, 1, 0);
  sgd(stream(), nullptr, nullptr, nullptr, 1, 0, 0, false, 0);
  compensate(stream(), nullptr, nullptr, nullptr, nullptr, 1, 0, 0, 0);
  scatter_add(stream(), nullptr, 1, nullptr, 0);
  const auto partial = put(std::vector<double>(kDotPartials, 7)), result = put(std::vector<double>{7});
  dot(stream(), nullptr, nullptr, 0, partial, result);
  EXPECT_EQ(result.get()[0], 0);
}

void expect_weighted_sum(std::size_t terms, std::size_t n, std::size_t skew, std::ptrdiff_t out_is) {
  std::vector<Floats> in;
  std::vector<Held<float>> held;
  Floats weights;
  for (std::size_t t = 0; t < terms; ++t) {
    in.push_back(normals_of(n, std::int64_t(t)));
    held.push_back(put(in.back(), t % 3 == 1 ? skew : 0));
    weights.push_back(t % 5 == 4 ? -0.0f : 0.1f * float(t % 17) - 0.4f);
  }
  std::vector<const float*> on_host, on_device;
  for (const Floats& term : in) on_host.push_back(term.data());
  for (const Held<float>& term : held) on_device.push_back(term.data());
  Floats expected(n);
  host_space().weighted_sum(expected.data(), on_host, weights, n);
  const auto apart = poisoned(n, skew);
  const Held<float>& out = out_is < 0 ? apart : held[std::size_t(out_is)];
  weighted_sum(stream(), out, on_device, weights, n);
  expect_same_bits(out.get(), expected,
                   std::to_string(terms) + " terms, out is " + std::to_string(out_is) + ", " + at(n, skew));
  for (std::size_t t = 0; t < terms; ++t) {
    if (std::ptrdiff_t(t) != out_is) expect_same_bits(held[t].get(), in[t], "an input");
  }
}

TEST_F(CudaVectors, WeightedSumsGiveTheHostsBitsWhicheverTermOutIs) {
  for (const std::size_t n : kSizes) expect_weighted_sum(3, n, n % 2, -1);
  for (const std::size_t terms : {1, 2, 7, 8, 9, 16, 17, 256, 257, 300, 513}) {
    for (const std::size_t skew : {0, 1}) {
      expect_weighted_sum(terms, 41, skew, -1);
      for (const std::size_t out_is : {std::size_t{0}, std::size_t{6}, std::size_t{8}, std::size_t{270}, terms - 1}) {
        if (out_is < terms) expect_weighted_sum(terms, 41, skew, std::ptrdiff_t(out_is));
      }
    }
  }
}

TEST_F(CudaVectors, WeightedSumTakesATermTwice) {
  const Floats x = normals_of(100, 1);
  const auto held = put(x);
  std::vector<const float*> on_host(300, x.data()), on_device(300, held.data());
  const Floats weights = normals_of(300, 2);
  Floats expected(100);
  host_space().weighted_sum(expected.data(), on_host, weights, 100);
  weighted_sum(stream(), held, on_device, weights, 100);
  expect_same_bits(held.get(), expected, "one vector, three hundred times");
}

TEST_F(CudaVectors, DotIsExactToTheLastDigitsAndFollowsFromTheNumbersAlone) {
  for (const std::size_t n : {1, 3, 7, 255, 257, 4099, 1200003}) {
    const Floats x = normals_of(n, 1), y = normals_of(n, 2);
    double expected = 0, size = 0;
    for (std::size_t i = 0; i < n; ++i) {
      expected += double(x[i]) * double(y[i]);
      size += std::abs(double(x[i]) * double(y[i]));
    }
    double first = 0;
    for (const std::size_t skew : {0, 0, 1, 3}) {
      const auto a = put(x, skew), b = put(y, skew / 2);
      const auto partial = put(std::vector<double>(kDotPartials, std::nan(""))), result = put(std::vector<double>{-1});
      dot(stream(), a, b, n, partial, result);
      const double got = result.get()[0];
      EXPECT_NEAR(got, expected, 1e-13 * size) << n;
      if (skew == 0) first = got;
      EXPECT_EQ(got, first) << "another address, another sum";
      partial.get();
      const auto same = put(x, skew);
      dot(stream(), same, same, n, partial, result);
      EXPECT_GT(result.get()[0], 0);
    }
  }
}

TEST_F(CudaVectors, SgdGivesTheHostsBits) {
  for_sizes([](std::size_t n, std::size_t skew) {
    for (const float decay : {0.0f, 0.01f}) {
      for (const bool nesterov : {false, true}) {
        for (const float momentum : {-1.0f, 0.0f, 0.9f}) {  // below 0: without a vector of momenta
          Floats x = mixed(n, 1), m = normals_of(n, 2);
          const Floats g = mixed(n, 3);
          const Space::SgdStep step{0.1f, std::max(momentum, 0.0f), decay, nesterov};
          const auto on_x = put(x, skew), on_m = put(m), on_g = put(g, skew);
          float* const moving = momentum < 0 ? nullptr : on_m.data();
          sgd(stream(), on_x, moving, on_g, step.lr, step.momentum, decay, nesterov, n);
          host_space().sgd(x.data(), momentum < 0 ? nullptr : m.data(), g.data(), step, n);
          expect_same_bits(on_x.get(), x, at(n, skew));
          expect_same_bits(on_m.get(), m, at(n, skew));
          expect_same_bits(on_g.get(), g, at(n, skew));
        }
      }
    }
  });
}

TEST_F(CudaVectors, AdamWGivesTheHostsBits) {
  for_sizes([](std::size_t n, std::size_t skew) {
    for (const float decay : {0.0f, 0.01f}) {
      Floats x = mixed(n, 1), m = normals_of(n, 2), v(n, 0.5f);
      const Floats g = mixed(n, 3);
      const Space::AdamStep by{0.1f, 0.9f, 0.999f, 1e-8f, 1.5f, 20.0f, decay};
      const auto on_x = put(x, skew), on_m = put(m), on_v = put(v, skew), on_g = put(g, skew);
      adamw(stream(), on_x, on_m, on_v, on_g,
            {by.lr, by.beta1, by.beta2, by.epsilon, by.correction1, by.correction2, by.weight_decay}, n);
      host_space().adamw(x.data(), m.data(), v.data(), g.data(), by, n);
      expect_same_bits(on_x.get(), x, at(n, skew));
      expect_same_bits(on_m.get(), m, at(n, skew));
      expect_same_bits(on_v.get(), v, at(n, skew));
      expect_same_bits(on_g.get(), g, at(n, skew));
    }
  });
}

TEST_F(CudaVectors, CompensationGivesTheHostsBits) {
  for_sizes([](std::size_t n, std::size_t skew) {
    for (const bool adaptive : {false, true}) {
      Floats g = mixed(n, 1), square(n, 0.5f);
      const Floats w = mixed(n, 2), sent = normals_of(n, 3);
      const auto on_g = put(g, skew), on_square = put(square), on_w = put(w, skew), on_sent = put(sent);
      const Space::Compensation by{.lambda = 0.3f, .decay = 0.95f};
      compensate(stream(), on_g, on_w, on_sent, adaptive ? on_square.data() : nullptr, by.lambda, by.decay,
                 Space::kSmallSquare, n);
      host_space().compensate(g.data(), w.data(), sent.data(), adaptive ? square.data() : nullptr, by, n);
      expect_same_bits(on_g.get(), g, at(n, skew));
      expect_same_bits(on_square.get(), square, at(n, skew));
      expect_same_bits(on_w.get(), w, at(n, skew));
      expect_same_bits(on_sent.get(), sent, at(n, skew));
    }
  });
}

using CudaLayouts = OnGpu;

struct Matrices {
  int n, c, hw;
};
const Matrices kMatrices[] = {{1, 1, 1},     {2, 3, 1},   {2, 1, 7},   {3, 3, 25},   {2, 20, 9},  {2, 33, 35},
                              {1, 64, 1025}, {5, 2, 700}, {4, 700, 2}, {1, 1500, 3}, {2, 32, 32}, {3, 17, 257}};

Floats turned(const Floats& x, int n, int rows, int columns) {
  Floats y(x.size());
  for (std::size_t i = 0, a = 0; a < std::size_t(n); ++a) {
    for (std::size_t r = 0; r < std::size_t(rows); ++r) {
      for (std::size_t c = 0; c < std::size_t(columns); ++c, ++i)
        y[a * std::size_t(rows * columns) + c * std::size_t(rows) + r] = x[i];
    }
  }
  return y;
}

TEST_F(CudaLayouts, ChannelsGoLastAndComeFirstAgain) {
  for (const Number number : kNumbers) {
    for (const auto& [n, c, hw] : kMatrices) {
      const std::string what = std::to_string(n) + "x" + std::to_string(c) + "x" + std::to_string(hw);
      const Floats x = normals_of(std::size_t(n * c * hw), 1), inside = rounded(number, x);
      for (const std::size_t skew : {0, 1}) {
        const auto from = put(x, skew);
        const auto where = put(std::vector<const float*>{from});
        const auto last = Activations::poisoned(number, x.size(), skew);
        to_channels_last(stream(), number, {where}, last, n, c, hw);
        expect_same_bits(last.get(), turned(inside, n, c, hw), what);

        const auto back = poisoned(x.size(), skew);
        const auto target = put(std::vector<float*>{back});
        to_channels_first(stream(), number, last, {target}, n, c, hw);
        expect_same_bits(back.get(), inside, what);

        const auto first = Activations::poisoned(number, x.size(), skew),
                   again = Activations::poisoned(number, x.size());
        transpose_inside(stream(), number, last, first, n, hw, c);
        expect_same_bits(first.get(), inside, what);
        transpose_inside(stream(), number, first, again, n, c, hw);
        expect_same_bits(again.get(), last.get(), what);
      }
    }
  }
}

TEST_F(CudaLayouts, NumbersAreRoundedToTheNearestEven) {
  for (const Number number : kNumbers) {
    for_sizes([&](std::size_t n, std::size_t skew) {
      Floats x = normals_of(n, 1);
      for (std::size_t i = 0; i < n; i += 3) {  // halfway, and next to it
        x[i] =
            std::bit_cast<float>((std::bit_cast<std::uint32_t>(x[i]) & 0xffff0000u) + 0x7fffu + std::uint32_t(i % 4));
      }
      if (n > 6) {
        x[4] = std::numeric_limits<float>::max();
        x[5] = -std::numeric_limits<float>::infinity();
        x[6] = 1e-41f;
      }
      const auto from = put(x, skew);
      const auto where = put(std::vector<const float*>{from});
      const auto inside = Activations::poisoned(number, n, skew);
      to_inside(stream(), number, {where}, inside, n);
      expect_same_bits(inside.get(), rounded(number, x), at(n, skew));
      const auto back = poisoned(n);
      const auto target = put(std::vector<float*>{back});
      to_border(stream(), number, inside, {target}, n);
      expect_same_bits(back.get(), rounded(number, x), at(n, skew));
    });
  }
}

TEST_F(CudaLayouts, AnIndirectPointerIsReadWhenTheKernelRuns) {
  const auto one = put(Floats{1, 2}), two = put(Floats{3, 4});
  const auto where = put(std::vector<const float*>{one});
  const auto to = poisoned(2);
  for (const auto* held : {&one, &two, &one}) {
    const float* const from = *held;
    copy(stream(), where.data(), &from, sizeof from);
    to_inside(stream(), Number::kFloat, {where}, to, 2);
    expect_same_bits(to.get(), held->get(), "what it pointed to");
  }
}

using CudaSparse = OnGpu;

TEST_F(CudaSparse, MarginsOfRowsOfAnyLength) {
  const std::size_t lengths[] = {0, 1, 2, 31, 32, 33, 255, 257, 0, 4099};
  std::vector<std::uint32_t> columns;
  std::vector<std::uint64_t> begin{0};
  const Floats x = normals_of(5001, 1);
  for (const std::size_t length : lengths) {
    for (std::size_t i = 0; i < length; ++i) columns.push_back(std::uint32_t(i * 5000 / length));
    begin.push_back(columns.size());
  }
  const Floats values = normals_of(columns.size(), 2);
  std::vector<double> expected;
  for (std::size_t r = 0; r + 1 < begin.size(); ++r) {
    expected.push_back(x[5000]);
    for (std::uint64_t e = begin[r]; e < begin[r + 1]; ++e) expected[r] += double(values[e]) * double(x[columns[e]]);
  }
  const auto on_columns = put(columns);
  const auto on_values = put(values), on_x = put(x), to = poisoned(expected.size());
  const auto on_begin = put(begin);
  margins(stream(), {on_columns, on_values, on_begin, int(expected.size())}, on_x, 5000, to);
  expect_close(to.get(), expected, 1e-6, 30, "margins");
}

TEST_F(CudaSparse, ScatterAddGivesTheHostsBits) {
  for (const std::size_t n : kSizes) {
    std::vector<SparseEntry> entries(n);
    const Floats values = mixed(n, 1);
    for (std::size_t i = 0; i < n; ++i) entries[i] = {std::uint32_t(3 * i + 1), values[i]};
    Floats y = mixed(3 * n, 2);
    const auto on = put(entries);
    const auto to = put(y, 1);
    scatter_add(stream(), to, -0.7f, on, n);
    hopbench::scatter_add(y.data(), -0.7f, entries);
    expect_same_bits(to.get(), y, std::to_string(n) + " entries");
  }
}

}  // namespace
}  // namespace hopbench::cuda
