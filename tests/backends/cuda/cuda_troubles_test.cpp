// A GPU and libraries that do not do what they should: emulated ones only, as a real one cannot be told to fail.
#include <dlfcn.h>
#include <gmock/gmock.h>

#include <cstdlib>

#include "backends/base/vec.h"
#include "backends/cuda/backend.h"
#include "backends/cuda/convolution.h"
#include "backends/cuda/device.h"
#include "backends/cuda/shared_library.h"
#include "tests/backends/compute/compute_cases.h"
#include "tests/backends/cuda/cuda_memory.h"
#include "tests/emulated_cuda/runtime_api.h"
#include "tests/paths.h"
#include "tests/said.h"

namespace hopbench::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// The emulated GPU has this trouble for as long as this lives.
class Trouble {
 public:
  explicit Trouble(const char* word) { setenv("HB_EMULATED_GPU", word, 1); }
  ~Trouble() { unsetenv("HB_EMULATED_GPU"); }
  Trouble(const Trouble&) = delete;
  Trouble& operator=(const Trouble&) = delete;
};

/// Gradients of some steps of training.
std::vector<Floats> gradients_of(const Case& c, int steps) {
  constexpr int kBatch = 4;
  const auto backend = create_backend({});
  const auto network = backend->compile(c.layers, c.input, kBatch);
  Space& space = backend->space();
  std::vector<std::int32_t> labels(kBatch, 1);
  const Vec there = Vec::from_host({reinterpret_cast<const float*>(labels.data()), labels.size()}, space);
  std::vector<Floats> gradients;
  for (int k = 0; k < steps; ++k) {
    const Sample sample(c, kBatch, k);
    const Vec params = Vec::from_host(sample.params, space), x = Vec::from_host(sample.x, space);
    Vec g = Vec::uninitialised(sample.params.size(), space);
    network->train(params.data(), x.data(), reinterpret_cast<const std::int32_t*>(there.data()), g.mutable_data(),
                   nullptr, kBatch, {});
    gradients.push_back(g.to_host());
  }
  return gradients;
}

TEST(CudaTroubles, StepsThatCannotBeRecordedGoWithoutAGraph) {
  const Case c{kSmallVgg, {3, 16, 16}};
  const auto expected = gradients_of(c, 8);
  EXPECT_THAT(remarks(), HasSubstr("graph of batch 4: yes, "));
  {
    const Trouble trouble("no-graphs");
    EXPECT_EQ(gradients_of(c, 8), expected);
    EXPECT_THAT(remarks(), HasSubstr("graph of batch 4: no, because cuda: recording a graph: operation failed"));
  }
  EXPECT_EQ(gradients_of(c, 8), expected);
  EXPECT_THAT(remarks(), HasSubstr("graph of batch 4: yes, "));
}

TEST(CudaTroubles, TrainingNeedsNoGradientOfTheInput) {
  const Trouble trouble("no-first-dgrad");
  const Case c{{conv(8, 3, 1, 1), hopbench::relu(), dense(5)}, {3, 11, 13}};
  EXPECT_EQ(gradients_of(c, 3).size(), 3u);
  const auto backend = create_backend({});
  const auto network = backend->compile(c.layers, c.input, 2);
  const Sample s(c, 2, 1);
  Space& space = backend->space();
  const Vec params = Vec::from_host(s.params, space), x = Vec::from_host(s.x, space), dy = Vec::from_host(s.dy, space);
  Vec y(s.dy.size(), space), g(s.params.size(), space), dx(s.x.size(), space);
  network->forward(params.data(), x.data(), y.mutable_data(), 2);
  const auto backward = [&](float* to) {
    network->backward(params.data(), x.data(), dy.data(), g.mutable_data(), to, 2, {});
  };
  backward(nullptr);
  EXPECT_THAT(said_by([&] { backward(dx.mutable_data()); }, ExitCode::kEnvironment),
              HasSubstr("the input's gradient of a convolution"));
}

TEST(CudaTroubles, TensorCoresComeBeforeTheSameAlgorithmWithout) {
  const Trouble trouble("fma-first");
  const Convolution::Shape shape{{2, 16, 9, 10}, {2, 16, 9, 10}, 3, 1, 1};
  EXPECT_NE(convolved(shape, Precision::kFp32), convolved(shape, Precision::kTf32));
}

TEST(CudaTroubles, ABatchSizeTakesWhatWasChosenForTheNextMultipleOfEight) {
  const StreamOwner stream;
  ConvolutionLibrary library(stream);
  const auto make = [&](int batch) {
    const Cells cells{batch, 7, 6, 5};
    const Convolution convolution(library, {cells, cells, 3, 1, 1}, Precision::kFp32, true, true);
    return emulated_cuda::advice_asked();
  };
  const int asked = make(11);
  for (int batch = 9; batch <= 16; ++batch) EXPECT_EQ(make(batch), asked) << batch;
  EXPECT_EQ(make(17), asked + 3);
}

TEST(CudaTroubles, AnotherNetworkOfThatSizeRunsNothingToChoose) {
  const StreamOwner stream;
  ConvolutionLibrary library(stream);
  const auto make = [&](int batch) {
    const Cells cells{batch, 4, 5, 6};
    const Convolution convolution(library, {cells, cells, 3, 1, 1}, Precision::kFp32, true, true);
    return emulated_cuda::convolutions_run();
  };
  for (const int batch : {11, 16}) {
    const int run = make(batch);
    EXPECT_EQ(make(batch), run) << batch;
  }
  const int run = make(16);
  EXPECT_EQ(make(13), run + 3) << "what is for 16 is tried at 13, once";
  EXPECT_EQ(make(13), run + 3);
}

TEST(CudaTroubles, AGpuThatIsTooOldIsNamedByTheRanksThatGetIt) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process chooses its GPU once
  const auto said_of_rank = [](int rank) {
    const Trouble trouble("old-second");
    Device::choose(rank);
    return said_by([] { Device::mine(); }, ExitCode::kEnvironment);
  };
  EXPECT_EXIT(std::exit(said_of_rank(3).find("cuda: GPU 1 (Emulated GPU) is too old") == 0 ? 0 : 1),
              testing::ExitedWithCode(0), "");
  EXPECT_EXIT(std::exit(said_of_rank(2).empty() ? 0 : 1), testing::ExitedWithCode(0), "");
}

TEST(CudaTroubles, WhatWasNeverComputedIsNotLent) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // the first lasting error is kept for as long as a process lives
  const auto right = [] {
    space().allow_loans();
    float* const x = space().allocate(kSharedFloats);
    const Trouble trouble("fault");
    return said_by([&] { space().lend(x); }, ExitCode::kEnvironment) ==
           "cuda: computing: an illegal memory access was encountered";
  };
  EXPECT_EXIT(std::exit(right() ? 0 : 1), testing::ExitedWithCode(0), "");
}

// --- Libraries of one name

SharedLibrary::Search search_of(const std::vector<std::string>& places) { return {"Fake", places, "", true}; }

std::string fake(int cuda) { return build_dir() + "/tests/fake" + std::to_string(cuda) + "/libfake.so.9"; }

std::string refusal(const SharedLibrary& library) {
  int (*cuda)() = nullptr;
  if (!library.find(cuda, "fake_cuda")) return "it has no fake_cuda";
  return cuda() == 13 ? "" : "it is for CUDA " + std::to_string(cuda());
}

TEST(SharedLibraries, TheFirstThatSuitsIsTaken) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto right = [] {
    return SharedLibrary(search_of({"/none/libfake.so.9", fake(12), fake(13)}), refusal).path() == fake(13);
  };
  EXPECT_EXIT(std::exit(right() ? 0 : 1), testing::ExitedWithCode(0), "");
}

// The C library has room for some 15 copies.
TEST(SharedLibraries, AreAskedThemselvesWhereThereIsNoRoomForACopy) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // what was loaded stays
  const auto right = [] {
    while (dlmopen(LM_ID_NEWLM, fake(13).c_str(), RTLD_LAZY | RTLD_LOCAL) != nullptr) {
    }
    return SharedLibrary(search_of({fake(13)}), refusal).path() == fake(13);
  };
  EXPECT_EXIT(std::exit(right() ? 0 : 1), testing::ExitedWithCode(0), "");
}

TEST(SharedLibraries, AllThatDoNotSuitAreNamed) {
  const auto said = [&](const std::vector<std::string>& places) {
    return said_by([&] { const SharedLibrary library(search_of(places), refusal); }, ExitCode::kEnvironment);
  };
  EXPECT_EQ(
      said({"/none/libfake.so.9", fake(12)}),
      "Fake cannot be loaded: " + fake(12) + ": it is for CUDA 12: set LD_LIBRARY_PATH to the folder of libfake.so.9");
  EXPECT_THAT(said({"/none/libfake.so.9"}),
              AllOf(StartsWith("Fake cannot be loaded: "), HasSubstr("/none/libfake.so.9"),
                    HasSubstr("cannot open shared object file")));
}

}  // namespace
}  // namespace hopbench::cuda
