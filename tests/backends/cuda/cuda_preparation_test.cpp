// Batches that change during a trial on a GPU, an emulated one: they are compiled before it begins.
#include <gtest/gtest.h>

#include <cstdlib>

#include "backends/base/error.h"
#include "backends/cuda/device.h"
#include "suites/trial/preparation.h"
#include "tests/emulated_cuda/runtime_api.h"

namespace hopbench {
namespace {

std::unique_ptr<Workload> on_emulated_gpu(const std::string& model, int batch = 8) {
  return make_workload({.model = model, .dataset = "synthetic", .batch = batch, .backend = "cuda", .workers = 2});
}

constexpr Duration kLong = std::chrono::hours(1);

/// Counts what compiling a program costs.
struct Compiled {
  int advice = emulated_cuda::advice_asked(), graphs = emulated_cuda::graphs_recorded();
  bool operator==(const Compiled&) const = default;
};

float loss_of(Workload& workload, int batch) {
  Vec g = Vec::uninitialised(workload.size(), workload.space());
  return workload.gradient(workload.initial().share(), 0, 0, batch, g, {});
}

TEST(CudaPreparation, CompilesAllBatchSizesBeforeTheClock) {
  for (const char* model : {"lenet", "softmax"}) {
    SCOPED_TRACE(model);
    const auto workload = on_emulated_gpu(model);
    const Compiled none;
    EXPECT_EQ(prepare(*workload, 0, {8, 24, 8}, kLong).computed, 3);
    const Compiled all;
    EXPECT_EQ(all.graphs - none.graphs, 3);
    for (const int batch : {16, 24, 8, 24}) EXPECT_GT(loss_of(*workload, batch), 0);
    EXPECT_EQ(Compiled(), all) << "a batch was compiled when it was needed";
    loss_of(*workload, 12);
    loss_of(*workload, 12);
    EXPECT_EQ(Compiled().graphs, all.graphs + 1) << "a size that was not announced is seen by this test";
  }
}

TEST(CudaPreparation, EndsInTimeWithTheLargestAndTheFirst) {
  const auto workload = on_emulated_gpu("softmax");
  const Compiled none;
  const Prepared prepared = prepare(*workload, 0, {1, 64, 1}, Duration(0));
  EXPECT_EQ(prepared.sizes, 64);
  EXPECT_EQ(prepared.computed, 2);
  const Compiled two;
  EXPECT_EQ(two.graphs - none.graphs, 2);
  for (const int batch : {8, 64}) loss_of(*workload, batch);
  EXPECT_EQ(Compiled(), two);
  for (const int batch : {5, 5, 8, 64}) loss_of(*workload, batch);
  EXPECT_EQ(Compiled().graphs, two.graphs + 1) << "the network has not grown";
}

TEST(CudaPreparation, MakesRoomForTheLargestAndNoMore) {
  const auto used = [](int batch) {
    const std::size_t before = cuda::Device::mine().free_memory();
    const auto workload = on_emulated_gpu("lenet", batch);
    prepare(*workload, 0, {4, 12, 4}, Duration(0));
    return before - cuda::Device::mine().free_memory();
  };
  for (const int batch : {8, 12}) used(batch);  // vectors keep their memory for the next
  EXPECT_EQ(used(8), used(12));
}

TEST(CudaPreparation, TakesTheLargestThatTheMemoryAllows) {
  setenv("HB_EMULATED_GPU", "little-memory", 1);
  const auto workload = on_emulated_gpu("lenet");
  const Compiled none;
  const Prepared prepared = prepare(*workload, 0, {8, 1024, 8}, kLong);
  EXPECT_EQ(prepared.sizes, 128);
  EXPECT_LT(prepared.computed, 16);
  const Compiled some;
  EXPECT_GT(some.graphs - none.graphs, 1);
  EXPECT_LT(some.graphs - none.graphs, 16);
  loss_of(*workload, 16);
  EXPECT_EQ(Compiled(), some);
  EXPECT_THROW(loss_of(*workload, 1024), Error);
  EXPECT_GT(loss_of(*workload, 8), 0) << "goes on with a smaller network";
  unsetenv("HB_EMULATED_GPU");
}

}  // namespace
}  // namespace hopbench
