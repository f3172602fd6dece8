// Once all is warm a gradient allocates nothing, as far as it is this project's code that asks. oneDNN allocates
// a little in every primitive; those calls come from its own library and are counted apart.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "backends/base/random.h"
#include "models/workload.h"

extern "C" char __executable_start, etext;  // of this program's code, into which hopbench is linked

namespace {

std::atomic<bool> counting{false};
std::atomic<int> ours{0}, of_libraries{0};

void* counted(std::size_t size, std::size_t alignment, const void* caller) {
  if (counting) {
    const bool here =
        caller >= static_cast<const void*>(&__executable_start) && caller < static_cast<const void*>(&etext);
    ++(here ? ours : of_libraries);
  }
  const std::size_t rounded = (std::max<std::size_t>(size, 1) + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// All other forms come down to these.
void* operator new(std::size_t size) { return counted(size, alignof(std::max_align_t), __builtin_return_address(0)); }
void* operator new[](std::size_t size) { return counted(size, alignof(std::max_align_t), __builtin_return_address(0)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, std::size_t(alignment), __builtin_return_address(0));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace hopbench {
namespace {

struct Counts {
  int ours = 0, of_libraries = 0;
};

template <class F>
Counts allocations(const F& f) {
  ::ours = 0;
  ::of_libraries = 0;
  counting = true;
  f();
  counting = false;
  return {::ours, ::of_libraries};
}

TEST(Steady, TheCountersCount) {
  std::vector<int> kept;
  EXPECT_EQ(allocations([&] { kept.reserve(100); }).ours, 1);
  EXPECT_EQ(allocations([] {}).ours, 0);
  std::string text(100, 'a');
  const Counts counts = allocations([&] { text.append(1000, 'b'); });
  EXPECT_EQ(counts.ours + counts.of_libraries, 1);
}

void expect_nothing(const std::string& model, const std::string& dataset, const char* backend) {
  SCOPED_TRACE(model);
  WorkloadSpec spec;
  spec.model = model;
  spec.dataset = dataset;
  spec.backend = backend;
  spec.batch = 2;
  spec.evaluation_samples = 0;
  const auto workload = make_workload(spec);
  const Vec x = workload->initial();
  const Payload at = x.share();
  Vec g(workload->size());
  const auto step = [&](std::uint64_t first) { workload->gradient(at, 0, first, 2, g, {}); };
  const Counts cold = allocations([&] { step(0); });
  EXPECT_GT(cold.ours, 0);
  step(2);
  for (std::uint64_t first = 4; first < 12; first += 2) EXPECT_EQ(allocations([&] { step(first); }).ours, 0);
}

TEST(Steady, AGradientAllocatesNothing) {
  for (const BackendEntry& entry : backends()) {
    if (entry.name != std::string("onednn") || !entry.unavailable().empty()) continue;
    expect_nothing("lenet", "synthetic", entry.name);
    expect_nothing("mlp", "synthetic", entry.name);
    expect_nothing("vgg11", "synthetic_cifar", entry.name);
    expect_nothing("resnet20", "synthetic_cifar", entry.name);
    return;
  }
  GTEST_SKIP() << "no oneDNN";
}

}  // namespace
}  // namespace hopbench
