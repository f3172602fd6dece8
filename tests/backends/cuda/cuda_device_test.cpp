// The GPU's memory, streams, graphs and vectors; and what is said when something fails.
#include <atomic>
#include <cstdlib>
#include <numeric>
#include <thread>

#include "backends/base/vec.h"
#include "backends/cuda/backend.h"
#include "tests/backends/cuda/cuda_memory.h"
#include "tests/backends/cuda/on_gpu.h"
#include "tests/folder.h"
#include "tests/said.h"

namespace hopbench::cuda {
namespace {

// Some of the runtime's error codes, which are stable.
constexpr int kInvalidValue = 1, kMemoryAllocation = 2, kNoKernelImage = 209, kIllegalAddress = 700,
              kLaunchFailure = 719, kClientTerminated = 810;

std::string error_of(const std::function<void()>& work) { return said_by(work, ExitCode::kEnvironment); }

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

constexpr const char* kLess = " free: use a smaller model or batch, or fewer ranks on this GPU";

using CudaDevice = cuda::OnGpu;
using CudaErrors = cuda::OnGpu;
using CudaBuffer = cuda::OnGpu;
using CudaCopy = cuda::OnGpu;
using CudaStream = cuda::OnGpu;
using CudaGraph = cuda::OnGpu;
using CudaSpace = cuda::OnGpu;

TEST_F(CudaDevice, IsThereAndSaysWhatItIs) {
  ASSERT_EQ(unavailable(), "");
  const Device& device = Device::mine();
  EXPECT_FALSE(device.name().empty());
  const std::string version = create_backend({})->version();
  for (const char* part : {"CUDA ", "driver ", "cuBLAS ", "cuDNN ", "sm_"})
    EXPECT_TRUE(holds(version, part)) << version;
  EXPECT_EQ(device.address().size(), std::string("0000:3b:00.0").size()) << device.address();
  EXPECT_GT(device.multiprocessors(), 0);
  EXPECT_LE(device.free_memory(), device.memory());
  EXPECT_EQ(&Device::mine(), &device);
}

TEST_F(CudaDevice, IsChosenByTheRanksPlace) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // in a new process, where none is chosen yet
  const auto chosen = [] {
    Device::choose(3);
    const int ordinal = Device::mine().ordinal();
    Device::choose(0);
    return Device::mine().ordinal() == ordinal && (Device::mine().name() != "Emulated GPU" || ordinal == 1);
  };
  EXPECT_EXIT(std::exit(chosen() ? 0 : 1), testing::ExitedWithCode(0), "");
}

// The files are those of NVIDIA's daemon: `control` is its pipe, and the other file has the number of its process.
TEST_F(CudaDevice, KnowsWhetherMpsRuns) {
  const Folder folder;
  const Variable pipes("CUDA_MPS_PIPE_DIRECTORY", folder.path());
  EXPECT_FALSE(Device::has_mps());
  folder.write("control", "");
  EXPECT_TRUE(Device::has_mps());
  folder.write("nvidia-cuda-mps-control.pid", std::to_string(getpid()) + "\n");
  EXPECT_TRUE(Device::has_mps());
  folder.write("nvidia-cuda-mps-control.pid", "4194305\n");  // above the kernel's largest number of a process
  EXPECT_FALSE(Device::has_mps());
}

TEST_F(CudaErrors, SayWhatFailedAndWhatToDo) {
  EXPECT_EQ(error_of([] { check(0, "copying"); }), "");
  EXPECT_EQ(error_of([] { check(kInvalidValue, "copying"); }), "cuda: copying: invalid argument");
  const std::string full = error_of([] { check(kMemoryAllocation, "making a graph"); });
  EXPECT_EQ(full.rfind("cuda: making a graph: out of memory: ", 0), 0u) << full;
  EXPECT_TRUE(full.ends_with(kLess)) << full;
  EXPECT_TRUE(holds(error_of([] { check(kNoKernelImage, "fill"); }), "configure it with CMAKE_CUDA_ARCHITECTURES"));
}

// In a process of its own: the first lasting error is kept for as long as a process lives.
TEST_F(CudaErrors, OfADeadDeviceKeepTheirFirstWords) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto right = [] {
    const std::string first = error_of([] { check(kIllegalAddress, "the first"); });
    return first == "cuda: the first: an illegal memory access was encountered" &&
           error_of([] { check(kLaunchFailure, "the second"); }) == first &&
           error_of([] { check(kClientTerminated, "under MPS"); }) == first &&
           error_of([] { check(kInvalidValue, "the third"); }) == "cuda: the third: invalid argument";
  };
  EXPECT_EXIT(std::exit(right() ? 0 : 1), testing::ExitedWithCode(0), "");
}

TEST_F(CudaErrors, TellHowMuchMemoryWasWanted) {
  const std::string full = error_of([] { Buffer(std::size_t(1) << 40); });
  EXPECT_EQ(full.rfind("cuda: out of memory: 1024.0 GiB wanted, ", 0), 0u) << full;
  EXPECT_TRUE(full.ends_with(kLess)) << full;
  EXPECT_NE(Buffer(100).data(), nullptr);  // and it goes on
  EXPECT_TRUE(holds(error_of([] { space().allocate(std::size_t(1) << 38); }), "1024.0 GiB wanted"));
  EXPECT_EQ(error_of([] { check_launch("nothing"); }), "");
}

TEST_F(CudaBuffer, IsAlignedAndMoves) {
  Buffer a(1000), none(0);
  void* const data = a.data();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 256, 0u);
  EXPECT_EQ(none.data(), nullptr);
  Buffer b(std::move(a)), c;
  c = std::move(b);
  EXPECT_EQ(c.data(), data);
  EXPECT_EQ(c.bytes(), 1000u);
  Pinned p(64), q;
  q = std::move(p);
  EXPECT_EQ(q.bytes(), 64u);
}

TEST_F(CudaCopy, GoesBetweenAllSides) {
  const StreamOwner stream;
  const Floats values = normals(5000, 1);
  const Buffer first(20000), second(20000);
  const Pinned pinned(20000);
  copy(stream, first.data(), values.data(), 20000);
  copy(stream, second.data(), first.data(), 20000);
  copy(stream, pinned.as<float>(), second.data(), 20000);
  wait_for(stream);
  EXPECT_EQ(Floats(pinned.as<float>(), pinned.as<float>() + 5000), values);
}

TEST_F(CudaStream, IsUsedFromAnyThread) {
  const Floats values = normals(300, 1);
  Floats got;
  std::thread([&] {
    const StreamOwner stream;
    Buffer buffer(1200);
    copy(stream, buffer.data(), values.data(), 1200);
    got = from_device(stream, buffer);
  }).join();
  EXPECT_EQ(got, values);
}

TEST_F(CudaStream, GoesOnBehindTheVectors) {
  const std::size_t n = std::size_t(1) << 22;
  float* const x = space().allocate(n);
  const StreamOwner stream;
  const Buffer seen(n * sizeof(float));
  for (float value : {1.0f, 2.0f, 3.0f}) {
    for (int i = 0; i < 10; ++i) space().fill(x, value - 1 + float(i) / 9, n);
    Device::mine().after_vectors(stream);
    copy(stream, seen.data(), x, seen.bytes());
    const Floats got = from_device(stream, seen);
    EXPECT_EQ(std::count(got.begin(), got.end(), value), std::ptrdiff_t(n));
  }
  space().release(x, n);
}

TEST_F(CudaGraph, ComputesAgainWithWhatThenLiesBehindThePointers) {
  const StreamOwner stream;
  Gemm gemm(stream, Precision::kFp32);
  const Buffer a = to_device({1, 2, 3, 4}), b = to_device({1, 0, 0, 1}), c = poisoned(4);
  const auto product = [&] { gemm.run(false, false, 2, 2, 2, a.data(), b.data(), c.data(), Number::kFloat); };
  product();  // so that all is loaded
  copy(stream, c.data(), poison(4).data(), 16);
  Graph graph(stream);
  product();
  graph.finish();
  EXPECT_TRUE(std::isnan(from_device(stream, c)[0]));  // recorded, not computed
  graph.launch();
  EXPECT_EQ(from_device(stream, c), (Floats{1, 2, 3, 4}));
  const Floats other = {5, 6, 7, 8};
  copy(stream, a.data(), other.data(), 16);
  graph.launch();
  EXPECT_EQ(from_device(stream, c), other);
}

TEST_F(CudaGraph, RecordsEventsThatTheHostWaitsFor) {
  const StreamOwner stream;
  const std::size_t bytes = std::size_t(32) << 20;
  const Buffer from(bytes), to(bytes);
  const Pinned in(bytes), out(bytes);
  EventOwner passed;
  std::fill_n(out.as<float>(), bytes / 4, 0.0f);
  Graph graph(stream);
  copy(stream, from.data(), in.as<float>(), bytes);
  copy(stream, to.data(), from.data(), bytes);
  copy(stream, out.as<float>(), to.data(), bytes);
  passed.record(stream, true);
  copy(stream, to.data(), in.as<float>(), bytes);
  graph.finish();
  for (float value : {1.0f, 2.0f, 3.0f}) {
    std::fill_n(in.as<float>(), bytes / 4, value);
    graph.launch();
    passed.wait();
    EXPECT_EQ(std::count(out.as<float>(), out.as<float>() + bytes / 4, value), std::ptrdiff_t(bytes / 4));
    wait_for(stream);
  }
}

TEST_F(CudaGraph, ThatIsGivenUpLeavesTheStreamUsable) {
  const StreamOwner stream;
  const Buffer x = to_device({1, 2}), y = to_device({3, 4});
  {
    const Graph graph(stream);
    copy(stream, x.data(), y.data(), 8);
  }
  EXPECT_EQ(from_device(stream, x), (Floats{1, 2}));
}

// --- Vectors ---------------------------------------------------------------------------------------------------------

/// The same numbers in host memory and on the GPU.
class Twin {
 public:
  explicit Twin(Floats values) : host(std::move(values)), device_(space().allocate(host.size())) {
    space().write(device_, host.data(), host.size());
  }
  ~Twin() { space().release(device_, host.size()); }
  Twin(const Twin&) = delete;
  Twin& operator=(const Twin&) = delete;

  float* data() const { return device_; }
  /// The kernels round as the host does.
  void expect_alike() const {
    Floats got = poison(host.size());
    space().read(device_, got.data(), got.size());
    EXPECT_TRUE(got == host) << "distance " << distance(got, host);
  }
  Floats host;

 private:
  float* device_;
};

/// The last does not fit into the memory that copies go through.
const std::vector<std::size_t> kSizes = {1, 7, 1000, 65537, (std::size_t(3) << 20) + 5};

TEST_F(CudaSpace, CopiesWholeVectors) {
  for (std::size_t n : kSizes) {
    Floats values(n);
    std::iota(values.begin(), values.end(), 1.0f);
    const Twin x(values), y(poison(n));
    x.expect_alike();
    space().copy(y.data(), x.data(), n);
    Floats got = poison(n);
    space().read(y.data(), got.data(), n);
    EXPECT_EQ(got, values);
    space().fill(y.data(), 2.5f, n);
    space().read(y.data(), got.data(), n);
    EXPECT_EQ(got, Floats(n, 2.5f));
  }
  EXPECT_STREQ(space().name(), "cuda");
}

TEST_F(CudaSpace, ComputesAsHostSpaceDoes) {
  for (std::size_t n : kSizes) {
    Twin x(normals(n, 1)), y(normals(n, 2));
    space().axpy(y.data(), 0.3f, x.data(), n);
    host_space().axpy(y.host.data(), 0.3f, x.host.data(), n);
    y.expect_alike();
    space().scale(y.data(), -1.7f, n);
    host_space().scale(y.host.data(), -1.7f, n);
    y.expect_alike();
    x.expect_alike();
    const double expected = host_space().dot(x.host.data(), x.host.data(), n);
    EXPECT_NEAR(space().dot(x.data(), x.data(), n) / expected, 1, 1e-12);
    EXPECT_EQ(space().dot(x.data(), y.data(), n), space().dot(x.data(), y.data(), n));
  }
  EXPECT_EQ(space().dot(nullptr, nullptr, 0), 0);
}

TEST_F(CudaSpace, SumsWithWeightsAsHostSpaceDoes) {
  constexpr std::size_t kEach = 3001;
  for (std::size_t terms : {1, 2, 8, 9, 20}) {
    std::vector<std::unique_ptr<Twin>> twins;
    std::vector<const float*> on_host, on_device;
    for (std::size_t i = 0; i < terms; ++i) {
      twins.push_back(std::make_unique<Twin>(normals(kEach, std::int64_t(i))));
      on_host.push_back(twins[i]->host.data());
      on_device.push_back(twins[i]->data());
    }
    const Floats weights = normals(terms, 99);
    Twin out(poison(kEach));
    space().weighted_sum(out.data(), on_device, weights, kEach);
    host_space().weighted_sum(out.host.data(), on_host, weights, kEach);
    out.expect_alike();
    for (const auto& twin : twins) twin->expect_alike();
    Twin& last = *twins.back();  // into one of the terms
    space().weighted_sum(last.data(), on_device, weights, kEach);
    host_space().weighted_sum(last.host.data(), on_host, weights, kEach);
    last.expect_alike();
  }
}

TEST_F(CudaSpace, DescendsAsHostSpaceDoes) {
  for (std::size_t n : kSizes) {
    for (const Space::SgdStep& step : {Space::SgdStep{0.1f, 0, 0, false}, Space::SgdStep{0.1f, 0, 0.01f, false},
                                       Space::SgdStep{0.1f, 0.9f, 0.01f, false}, Space::SgdStep{0.1f, 0.9f, 0, true}}) {
      Twin x(normals(n, 1)), m(normals(n, 2)), g(normals(n, 3));
      const bool momentum = step.momentum > 0;
      space().sgd(x.data(), momentum ? m.data() : nullptr, g.data(), step, n);
      host_space().sgd(x.host.data(), momentum ? m.host.data() : nullptr, g.host.data(), step, n);
      x.expect_alike();
      m.expect_alike();
      g.expect_alike();
    }
  }
}

TEST_F(CudaSpace, MakesAdamsStepsAsHostSpaceDoes) {
  for (std::size_t n : kSizes) {
    Twin x(normals(n, 1)), m(normals(n, 2)), v(std::vector<float>(n, 0.5f)), g(normals(n, 3));
    const Space::AdamStep step{0.1f, 0.9f, 0.999f, 1e-8f, 1.5f, 20.0f, 0.01f};
    space().adamw(x.data(), m.data(), v.data(), g.data(), step, n);
    host_space().adamw(x.host.data(), m.host.data(), v.host.data(), g.host.data(), step, n);
    for (Twin* twin : {&x, &m, &v, &g}) twin->expect_alike();
  }
}

TEST_F(CudaSpace, CompensatesAsHostSpaceDoes) {
  for (std::size_t n : kSizes) {
    for (const bool adaptive : {false, true}) {
      Twin g(normals(n, 1)), w(normals(n, 2)), sent(normals(n, 3)), square(Floats(n, 1.0f));
      const Space::Compensation by{.lambda = 0.1f, .decay = 0.9f};
      space().compensate(g.data(), w.data(), sent.data(), adaptive ? square.data() : nullptr, by, n);
      host_space().compensate(g.host.data(), w.host.data(), sent.host.data(), adaptive ? square.host.data() : nullptr,
                              by, n);
      g.expect_alike();
      square.expect_alike();
      w.expect_alike();
      sent.expect_alike();
    }
  }
}

TEST_F(CudaSpace, UsesReleasedMemoryAnew) {
  float* const first = space().allocate(12345);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0u);
  space().release(first, 12345);
  EXPECT_EQ(space().allocate(12345), first);
  space().release(first, 12345);
  EXPECT_EQ(space().allocate(0), nullptr);
}

// All requests share one copy until the owner writes. The owner writes in the same memory, as nothing else holds it.
TEST_F(CudaSpace, IsCopiedToTheHostOnceForAllWhoSendIt) {
  Vec x = Vec::from_host(Floats(5000, 1.0f), space());
  const auto copies = [&](std::size_t offset, std::size_t n, float value) {
    bool copied = false;
    const Payload there = x.slice(offset, n).on_host(&copied);
    EXPECT_EQ(Floats(there.data(), there.data() + n), Floats(n, value));
    return copied;
  };
  EXPECT_TRUE(copies(0, 5000, 1));
  EXPECT_FALSE(copies(0, 5000, 1));
  EXPECT_FALSE(copies(1000, 2000, 1)) << "a slice of it";
  const float* const before = x.data();
  x.scale(3);
  EXPECT_EQ(x.data(), before);
  EXPECT_TRUE(copies(0, 5000, 3));
  bool copied = true;
  const Payload here = Vec::from_host(Floats(100, 7.0f)).share(), there = here.on_device(space());
  EXPECT_EQ(there.on_host(&copied).data(), here.data()) << "what it came from";
  EXPECT_FALSE(copied);
  std::atomic<int> made = 0;
  x.scale(2);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back([&] { made += copies(0, 5000, 6) ? 1 : 0; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 1);
}

TEST_F(CudaSpace, IsSafeOnSeveralThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int round = 0; round < 20; ++round) {
        Vec x = Vec::from_host(Floats(100000, float(t)), space());
        const Vec y = Vec::from_host(Floats(100000, 1.0f), space());
        x.add(share(y));
        EXPECT_EQ(x.to_host(), Floats(100000, float(t + 1)));
        EXPECT_EQ(x.dot(share(y)), 100000.0 * (t + 1));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace hopbench::cuda
