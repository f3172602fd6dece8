// Kernels of pools and shortcuts, each against a plain loop over windows.
#include <cmath>

#include "tests/backends/cuda/cuda_arrays.h"

namespace hopbench::cuda {
namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

std::size_t place(const Cells& cells, int n, int y, int x, int c) {
  return ((std::size_t(n) * std::size_t(cells.height) + std::size_t(y)) * std::size_t(cells.width) + std::size_t(x)) *
             std::size_t(cells.channels) +
         std::size_t(c);
}
template <class F>
void for_cells(const Cells& cells, const F& f) {
  for (int n = 0; n < cells.batch; ++n)
    for (int y = 0; y < cells.height; ++y)
      for (int x = 0; x < cells.width; ++x)
        for (int c = 0; c < cells.channels; ++c) f(n, y, x, c);
}
/// f(cell of the window, offset into the input) for those inside.
template <class F>
void for_window(const Cells& in, const Window& w, int n, int y, int x, int c, const F& f) {
  for (int i = 0; i < w.kernel; ++i) {
    for (int j = 0; j < w.kernel; ++j) {
      const int row = y * w.stride - w.padding + i, column = x * w.stride - w.padding + j;
      if (row >= 0 && row < in.height && column >= 0 && column < in.width)
        f(i * w.kernel + j, place(in, n, row, column, c));
    }
  }
}

struct Pool {
  Number number;
  Cells in, out;
  Window window;
  std::size_t skew;
  std::string what;
};
template <class F>
void for_pools(const F& f) {
  for (const Number number : kNumbers) {
    for (const Cells& in : {Cells{2, 1, 9, 9}, Cells{3, 3, 12, 11}, Cells{2, 8, 7, 7}, Cells{1, 20, 10, 6},
                            Cells{2, 33, 5, 5}, Cells{9, 64, 8, 8}, Cells{1, 16, 17, 16}}) {
      for (const Window& w : {Window{1, 1, 0}, Window{2, 2, 0}, Window{3, 2, 1}, Window{3, 1, 2}, Window{2, 3, 0},
                              Window{5, 5, 0}, Window{4, 3, 3}, Window{16, 1, 15}}) {
        Cells out = in;
        out.height = (in.height + 2 * w.padding - w.kernel) / w.stride + 1;
        out.width = (in.width + 2 * w.padding - w.kernel) / w.stride + 1;
        for (const std::size_t skew : {0, 1}) {
          const std::string shape = std::to_string(in.channels) + "x" + std::to_string(in.height) + "x" +
                                    std::to_string(in.width) + ", window " + std::to_string(w.kernel) + "/" +
                                    std::to_string(w.stride) + "/" + std::to_string(w.padding);
          f(Pool{number, in, out, w, skew, (number == Number::kFloat ? "float " : "bf16 ") + shape});
        }
      }
    }
  }
}

using CudaPools = OnGpu;

TEST_F(CudaPools, TheFirstOfTheLargestGetsTheGradient) {
  for_pools([](const Pool& p) {
    const Floats x = levels_of(p.in.size(), 1), dy = rounded(p.number, normals_of(p.out.size(), 2));
    Floats y(p.out.size());
    std::vector<std::uint8_t> at(p.out.size());
    Doubles dx(p.in.size());
    for_cells(p.out, [&](int n, int i, int j, int c) {
      const std::size_t to = place(p.out, n, i, j, c);
      std::size_t best = p.in.size();
      for_window(p.in, p.window, n, i, j, c, [&](int cell, std::size_t from) {
        if (best < p.in.size() && !(x[from] > x[best])) return;
        best = from;
        at[to] = std::uint8_t(cell);
      });
      y[to] = x[best];
      dx[best] += double(dy[to]);
    });
    const Activations on_x(p.number, x, p.skew), on_dy(p.number, dy, p.skew);
    const auto to = Activations::poisoned(p.number, y.size(), p.skew),
               slopes = Activations::poisoned(p.number, x.size());
    const auto on_at = put(std::vector<std::uint8_t>(y.size(), 0xff), p.skew);
    max_pool(stream(), p.number, on_x, to, on_at, p.in, p.out, p.window);
    expect_same_bits(to.get(), y, p.what);
    ASSERT_EQ(on_at.get(), at) << p.what;
    max_pool_backward(stream(), p.number, on_dy, on_at, slopes, p.in, p.out, p.window);
    expect_close(slopes.get(), dx, precision_of(p.number), p.number == Number::kFloat ? 30 : 0.1, p.what);
  });
}

TEST_F(CudaPools, ANumberThatIsNoneIsTheLargestOnlyWhereItComesFirst) {
  const float none = std::nanf("");
  const Activations x(Number::kFloat, {none, 1, 2, 3, 1, none, 2, 0});
  const auto y = Activations::poisoned(Number::kFloat, 2);
  const auto at = put(std::vector<std::uint8_t>{9, 9});
  max_pool(stream(), Number::kFloat, x, y, at, {2, 1, 2, 2}, {2, 1, 1, 1}, {2, 2, 0});
  EXPECT_TRUE(std::isnan(y.get()[0]));
  EXPECT_EQ(y.get()[1], 2);
  EXPECT_EQ(at.get(), (std::vector<std::uint8_t>{0, 2}));
}

TEST_F(CudaPools, MeansCountTheCellsAround) {
  for_pools([](const Pool& p) {
    const Floats x = rounded(p.number, normals_of(p.in.size(), 1)), dy = rounded(p.number, normals_of(p.out.size(), 2));
    Doubles y(p.out.size()), dx(p.in.size());
    const double cells = p.window.kernel * p.window.kernel;
    for_cells(p.out, [&](int n, int i, int j, int c) {
      const std::size_t to = place(p.out, n, i, j, c);
      for_window(p.in, p.window, n, i, j, c, [&](int, std::size_t from) {
        y[to] += double(x[from]) / cells;
        dx[from] += double(dy[to]) / cells;
      });
    });
    const Activations on_x(p.number, x, p.skew), on_dy(p.number, dy, p.skew);
    const auto to = Activations::poisoned(p.number, y.size(), p.skew),
               slopes = Activations::poisoned(p.number, x.size());
    avg_pool(stream(), p.number, on_x, to, p.in, p.out, p.window);
    expect_close(to.get(), y, precision_of(p.number), 1, p.what);
    avg_pool_backward(stream(), p.number, on_dy, slopes, p.in, p.out, p.window);
    expect_close(slopes.get(), dx, precision_of(p.number), 1, p.what);
  });
}

struct Way {
  Cells from, out;
  int stride;
};
const Way kWays[] = {{{2, 4, 5, 3}, {2, 4, 5, 3}, 1},      {{3, 3, 7, 9}, {3, 5, 4, 5}, 2},
                     {{2, 16, 8, 8}, {2, 32, 4, 4}, 2},    {{2, 16, 6, 6}, {2, 20, 6, 6}, 1},
                     {{1, 16, 10, 7}, {1, 48, 4, 3}, 3},   {{5, 64, 1, 1}, {5, 64, 1, 1}, 2},
                     {{1, 1, 300, 30}, {1, 1, 300, 30}, 1}};

TEST_F(CudaPools, ShortcutsAndTheirGradients) {
  for (const Number number : kNumbers) {
    for (const auto& [from_shape, out_shape, stride] : kWays) {
      const Cells from = from_shape, out = out_shape;
      const int step = stride, zeros = (out.channels - from.channels) / 2;
      for (const std::size_t skew : {0, 1}) {
        const Floats x = rounded(number, normals_of(out.size(), 1)),
                     there = rounded(number, normals_of(from.size(), 2));
        for (const bool relu : {false, true}) {
          Floats y = x;
          Floats dfrom(from.size()), added = there;
          for_cells(out, [&](int n, int i, int j, int c) {
            const std::size_t to = place(out, n, i, j, c);
            if (const int channel = c - zeros; channel >= 0 && channel < from.channels) {
              const std::size_t at = place(from, n, i * step, j * step, channel);
              y[to] += there[at];
              dfrom[at] = x[to];
              added[at] = rounded(number, there[at] + x[to]);
            }
            if (relu) y[to] = y[to] > 0 ? y[to] : 0;
          });
          const std::string what = std::to_string(from.channels) + " to " + std::to_string(out.channels);
          const Activations on_x(number, x, skew), on_from(number, there, skew);
          const auto to = Activations::poisoned(number, x.size());
          const auto slopes = Activations::poisoned(number, there.size(), skew);
          add_shortcut(stream(), number, on_x, on_from, to, out, from, step, relu);
          expect_same_bits(to.get(), rounded(number, y), what);
          add_shortcut_backward(stream(), number, on_x, slopes, out, from, step, false);
          expect_same_bits(slopes.get(), dfrom, what);
          add_shortcut_backward(stream(), number, on_x, on_from, out, from, step, true);
          expect_same_bits(on_from.get(), added, what);
          const Activations again(number, there);
          add_shortcut(stream(), number, on_x, again, on_x, out, from, step, relu);
          expect_same_bits(on_x.get(), rounded(number, y), what + ", in place");
        }
      }
    }
  }
}

}  // namespace
}  // namespace hopbench::cuda
