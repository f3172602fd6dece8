// Matrix products and convolutions on the GPU against plain loops.
#include <iostream>

#include "backends/cuda/convolution.h"
#include "tests/backends/cuda/cuda_memory.h"
#include "tests/backends/cuda/on_gpu.h"

namespace hopbench::cuda {
namespace {

constexpr Precision kPrecisions[] = {Precision::kFp32, Precision::kTf32, Precision::kBf16};

/// Returns the allowed error against exact sums of what a precision keeps. TF32 rounds factors to 10 bits, bf16 to 7.
double tolerance(Precision precision, Number out) {
  if (precision == Precision::kTf32) return 2e-3;
  return out == Number::kBf16 ? 6e-3 : 2e-5;
}

using CudaPrecision = cuda::OnGpu;
using CudaGemm = cuda::OnGpu;
using CudaConvolution = cuda::OnGpu;

TEST_F(CudaPrecision, IsNamed) {
  EXPECT_EQ(precision_of("fp32"), Precision::kFp32);
  EXPECT_EQ(precision_of("tf32"), Precision::kTf32);
  EXPECT_EQ(precision_of("bf16"), Precision::kBf16);
  try {
    precision_of("fp23");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    EXPECT_STREQ(error.what(), "unknown precision 'fp23': known are fp32, tf32, bf16. Did you mean 'fp32'?");
  }
}

struct Product {
  bool transpose_a, transpose_b;
  int m, n, k;
};

Floats expected(const Product& p, const Floats& a, const Floats& b) {
  const auto m = std::size_t(p.m), n = std::size_t(p.n), k = std::size_t(p.k);
  Floats c(m * n);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t l = 0; l < k; ++l) {
        sum +=
            double(p.transpose_a ? a[l * m + i] : a[i * k + l]) * double(p.transpose_b ? b[j * k + l] : b[l * n + j]);
      }
      c[i * n + j] = float(sum);
    }
  }
  return c;
}

void expect_product(Precision precision, const Product& p, Number out) {
  const StreamOwner stream;
  Gemm gemm(stream, precision);
  const Number in = number_of(precision);
  const Floats a = kept(normals(std::size_t(p.m) * std::size_t(p.k), 1), in);
  const Floats b = kept(normals(std::size_t(p.k) * std::size_t(p.n), 2), in);
  const Buffer at_a = to_device(a, in), at_b = to_device(b, in);
  const Buffer at_c = poisoned(std::size_t(p.m) * std::size_t(p.n), out);
  gemm.run(p.transpose_a, p.transpose_b, p.m, p.n, p.k, at_a.data(), at_b.data(), at_c.data(), out);
  EXPECT_LT(distance(from_device(stream, at_c, out), expected(p, a, b)), tolerance(precision, out))
      << int(precision) << ": " << p.transpose_a << p.transpose_b << " " << p.m << "x" << p.n << "x" << p.k;
  EXPECT_EQ(from_device(stream, at_a, in), a);
}

TEST_F(CudaGemm, AgreesWithLoopsInEveryTransposeAndPrecision) {
  for (Precision precision : kPrecisions) {
    for (bool transpose_a : {false, true}) {
      for (bool transpose_b : {false, true}) {
        for (const auto& [m, n, k] : {std::array{1, 1, 1}, {5, 3, 7}, {64, 10, 500}, {33, 128, 20}, {2, 1, 300}}) {
          const Product product{transpose_a, transpose_b, m, n, k};
          expect_product(precision, product, Number::kFloat);
          if (precision == Precision::kBf16) expect_product(precision, product, Number::kBf16);
        }
      }
    }
  }
}

TEST_F(CudaGemm, GivesTheSameBitsInAGraph) {
  const Product p{false, true, 48, 40, 1000};
  for (Precision precision : kPrecisions) {
    const StreamOwner stream;
    Gemm gemm(stream, precision);
    const Number in = number_of(precision);
    const Buffer a = to_device(normals(48 * 1000, 1), in), b = to_device(normals(40 * 1000, 2), in);
    const Buffer c = poisoned(48 * 40);
    const auto run = [&] { gemm.run(false, true, p.m, p.n, p.k, a.data(), b.data(), c.data(), Number::kFloat); };
    run();
    const Floats once = from_device(stream, c);
    Graph graph(stream);
    run();
    graph.finish();
    copy(stream, c.data(), poison(48 * 40).data(), c.bytes());
    graph.launch();
    EXPECT_EQ(from_device(stream, c), once);
  }
}

struct Layer {
  int batch, in, height, width, out, kernel, stride, padding;

  Convolution::Shape shape() const {
    const auto size = [this](int n) { return (n + 2 * padding - kernel) / stride + 1; };
    return {{batch, in, height, width}, {batch, out, size(height), size(width)}, kernel, stride, padding};
  }
  std::size_t weights() const { return std::size_t(in) * std::size_t(out) * std::size_t(kernel) * std::size_t(kernel); }
};

std::size_t place(const Cells& c, int n, int y, int x) {
  return ((std::size_t(n) * std::size_t(c.height) + std::size_t(y)) * std::size_t(c.width) + std::size_t(x)) *
         std::size_t(c.channels);
}

/// y, dx and dw of one pass.
struct Results {
  Floats y, dx, dw;
};

Results by_loops(const Layer& layer, const Floats& x, const Floats& w, const Floats& dy) {
  const Convolution::Shape s = layer.shape();
  std::vector<double> y(dy.size()), dx(x.size()), dw(w.size());
  const auto cell = [&](int n, int oy, int ox, int ky, int kx) {
    const int iy = oy * s.stride + ky - s.padding, ix = ox * s.stride + kx - s.padding;
    if (iy < 0 || ix < 0 || iy >= s.in.height || ix >= s.in.width) return;
    for (int o = 0; o < s.out.channels; ++o) {
      const std::size_t to = place(s.out, n, oy, ox) + std::size_t(o);
      for (int i = 0; i < s.in.channels; ++i) {
        const std::size_t from = place(s.in, n, iy, ix) + std::size_t(i);
        const std::size_t weight =
            place({s.out.channels, s.in.channels, s.kernel, s.kernel}, o, ky, kx) + std::size_t(i);
        y[to] += double(x[from]) * double(w[weight]);
        dx[from] += double(dy[to]) * double(w[weight]);
        dw[weight] += double(dy[to]) * double(x[from]);
      }
    }
  };
  for (int n = 0; n < s.in.batch; ++n) {
    for (int oy = 0; oy < s.out.height; ++oy) {
      for (int ox = 0; ox < s.out.width; ++ox) {
        for (int k = 0; k < s.kernel * s.kernel; ++k) cell(n, oy, ox, k / s.kernel, k % s.kernel);
      }
    }
  }
  return {{y.begin(), y.end()}, {dx.begin(), dx.end()}, {dw.begin(), dw.end()}};
}

/// True if a model has such a layer. cuDNN need not compute others in bf16.
bool is_of_a_model(const Layer& layer) {
  return (layer.in == 1 || layer.in == 3 || layer.in % 16 == 0) && layer.out % 8 == 0;
}

void expect_convolution(const Layer& layer, Precision precision, bool deterministic) {
  SCOPED_TRACE("precision " + std::to_string(int(precision)) + ", " + std::to_string(layer.in) + " -> " +
               std::to_string(layer.out) + ", kernel " + std::to_string(layer.kernel) + ", stride " +
               std::to_string(layer.stride));
  const Convolution::Shape shape = layer.shape();
  const Number number = number_of(precision);
  const StreamOwner stream;
  ConvolutionLibrary library(stream);
  const bool may_be_refused = precision == Precision::kBf16 && !is_of_a_model(layer);
  try {
    const Convolution tried(library, shape, precision, deterministic, true);
  } catch (const Error& error) {
    ASSERT_TRUE(may_be_refused && Device::mine().name() != "Emulated GPU") << error.what();
    std::cout << "not computed: " << error.what() << '\n';
    return;
  }
  Convolution convolution(library, shape, precision, deterministic, true);
  const Floats x = kept(normals(shape.in.size(), 1), number), w = kept(normals(layer.weights(), 2), number);
  const Floats dy = kept(normals(shape.out.size(), 3), number);
  const Buffer at_x = to_device(x, number), at_w = to_device(w, number), at_dy = to_device(dy, number);
  const Buffer y = poisoned(shape.out.size(), number), dx = poisoned(shape.in.size(), number);
  const Buffer dw = poisoned(layer.weights(), number), work(convolution.work_bytes());
  convolution.forward(at_x.data(), at_w.data(), y.data(), work.data());
  convolution.backward_weights(at_x.data(), at_dy.data(), dw.data(), work.data());
  convolution.backward_data(at_dy.data(), at_w.data(), dx.data(), work.data());
  const Results exact = by_loops(layer, x, w, dy);
  EXPECT_LT(distance(from_device(stream, y, number), exact.y), tolerance(precision, number));
  EXPECT_LT(distance(from_device(stream, dx, number), exact.dx), tolerance(precision, number));
  EXPECT_LT(distance(from_device(stream, dw, number), exact.dw), tolerance(precision, number));
  EXPECT_EQ(convolution.algorithms().rfind("forward ", 0), 0u) << convolution.algorithms();
}

const std::vector<Layer> kLayers = {{2, 3, 9, 8, 4, 3, 1, 1},   {3, 4, 8, 8, 8, 3, 2, 1},   {2, 5, 7, 6, 6, 1, 1, 0},
                                    {1, 2, 11, 11, 3, 5, 1, 0}, {2, 4, 12, 10, 8, 5, 2, 2}, {2, 8, 6, 6, 8, 1, 2, 0},
                                    {4, 16, 8, 8, 32, 3, 1, 1}, {1, 1, 5, 5, 1, 5, 1, 0}};

TEST_F(CudaConvolution, AgreesWithLoopsInEveryPrecision) {
  for (Precision precision : kPrecisions) {
    for (const Layer& layer : kLayers) expect_convolution(layer, precision, true);
  }
}

TEST_F(CudaConvolution, AgreesWithLoopsByMeasuredAlgorithms) {
  for (Precision precision : kPrecisions) {
    for (std::size_t i : {std::size_t(0), std::size_t(6)}) expect_convolution(kLayers[i], precision, false);
  }
}

TEST_F(CudaConvolution, TakesNeitherWhatIsRefusedNorWhatDiffersFromRunToRun) {
  if (Device::mine().name() != "Emulated GPU") GTEST_SKIP() << "what a real cuDNN proposes is not known beforehand";
  const StreamOwner stream;
  ConvolutionLibrary library(stream);
  for (Precision precision : kPrecisions) {
    const Convolution::Shape shape = kLayers[0].shape();
    EXPECT_EQ(Convolution(library, shape, precision, true, true).algorithms(), "forward 1, data 1, weights 1");
    EXPECT_EQ(Convolution(library, shape, precision, false, true).algorithms(), "forward 1, data 0, weights 0");
    EXPECT_EQ(Convolution(library, shape, precision, true, false).algorithms(), "forward 1, weights 1");
  }
}

TEST_F(CudaConvolution, Of16ChannelsIsRoundedInTf32) {
  EXPECT_NE(convolved(kLayers[6].shape(), Precision::kFp32), convolved(kLayers[6].shape(), Precision::kTf32))
      << "computed without tensor cores";
}

TEST_F(CudaConvolution, GivesTheSameBitsInEveryInstanceAndInAGraph) {
  const Layer layer = kLayers[6];
  const Convolution::Shape shape = layer.shape();
  const StreamOwner stream;
  ConvolutionLibrary library(stream);
  for (Precision precision : kPrecisions) {
    const Number number = number_of(precision);
    const Buffer x = to_device(normals(shape.in.size(), 1), number),
                 dy = to_device(normals(shape.out.size(), 2), number);
    Floats first;
    for (int instance = 0; instance < 3; ++instance) {
      Convolution convolution(library, shape, precision, true, false);
      const Buffer work(convolution.work_bytes()), dw = poisoned(layer.weights(), number);
      const auto run = [&] { convolution.backward_weights(x.data(), dy.data(), dw.data(), work.data()); };
      if (instance == 2) {
        Graph graph(stream);
        run();
        graph.finish();
        graph.launch();
      } else {
        run();
      }
      const Floats got = from_device(stream, dw, number);
      if (instance == 0) first = got;
      EXPECT_EQ(got, first);
      EXPECT_EQ(convolution.algorithms().find("data"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace hopbench::cuda
