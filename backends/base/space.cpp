#include "backends/base/space.h"

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#include "backends/base/error.h"
#include "backends/base/space_passes.h"

namespace hopbench {
namespace {

Error out_of_memory(std::size_t bytes) {
  return environment_error("out of memory: a vector of " + std::to_string(bytes) +
                           " bytes was refused: use a smaller model or batch, or fewer ranks");
}

// Freed blocks are kept by size, so that a training loop allocates from the system only in its first iterations.
std::atomic<SharedMemory*> shared_memory{nullptr};
std::atomic<DeviceSpace*> device{nullptr};

constexpr std::size_t kAlign = 64, kPage = 4096;

bool is_staggered(std::size_t bytes) { return bytes >= 16 * kPage; }

/// Returns memory of that many bytes, aligned to 64, or nullptr. Large blocks begin at different offsets within a page.
/// If all began at the same offset, a pass over several of them would meet the same few sets of the cache: an SGD step
/// with momentum then takes up to four times as long (AMD Zen 4).
std::byte* allocate_block(std::size_t bytes) {
  if (!is_staggered(bytes)) return static_cast<std::byte*>(std::aligned_alloc(kAlign, bytes));
  constexpr std::size_t kOffsets = 7, kStep = 9 * kAlign;
  static std::atomic<std::size_t> turn{0};
  auto* const pages = static_cast<std::byte*>(std::aligned_alloc(kPage, (bytes + 2 * kPage - 1) / kPage * kPage));
  return pages == nullptr ? nullptr : pages + (1 + turn++ % kOffsets) * kStep;
}

void free_block(void* data, std::size_t bytes) {
  auto* const block = static_cast<std::byte*>(data);
  std::free(is_staggered(bytes) ? block - reinterpret_cast<std::uintptr_t>(block) % kPage : block);
}

class HostSpace final : public Space {
 public:
  ~HostSpace() override {
    for (auto& [n, blocks] : free_) {
      for (float* block : blocks) free_block(block, bytes_of(n));
    }
  }
  const char* name() const override { return "host"; }

  float* allocate(std::size_t n) override {
    if (n == 0) return nullptr;
    if (SharedMemory* const shared = shared_host_memory(); shared != nullptr && n >= kSharedFloats) {
      if (void* const memory = shared->allocate(n * sizeof(float))) return static_cast<float*>(memory);
      throw out_of_memory(n * sizeof(float));
    }
    {
      const std::lock_guard lock(mutex_);
      std::vector<float*>& blocks = free_[n];
      if (!blocks.empty()) {
        float* block = blocks.back();
        blocks.pop_back();
        return block;
      }
    }
    std::byte* const memory = allocate_block(bytes_of(n));
    if (memory == nullptr) throw out_of_memory(bytes_of(n));
    return reinterpret_cast<float*>(memory);
  }

  void release(float* data, std::size_t n) noexcept override {
    if (data == nullptr) return;
    if (SharedMemory* const shared = shared_host_memory(); shared != nullptr && shared->release(data)) return;
    const std::lock_guard lock(mutex_);
    std::vector<float*>& blocks = free_[n];
    if (blocks.size() < kKept) {
      blocks.push_back(data);
    } else {
      free_block(data, bytes_of(n));
    }
  }

  void fill(float* y, float value, std::size_t n) override {
    for (std::size_t i = 0; i < n; ++i) y[i] = value;
  }
  void copy(float* to, const float* from, std::size_t n) override { copy_on_host(to, from, n); }
  void read(const float* from, float* host, std::size_t n) override { copy(host, from, n); }
  void write(float* to, const float* host, std::size_t n) override { copy(to, host, n); }
  void axpy(float* y, float a, const float* x, std::size_t n) override {
    for (std::size_t i = 0; i < n; ++i) y[i] += a * x[i];
  }
  void scale(float* y, float a, std::size_t n) override {
    for (std::size_t i = 0; i < n; ++i) y[i] *= a;
  }

  void weighted_sum(float* out, std::span<const float* const> in, std::span<const float> weights,
                    std::size_t n) override {
    weighted_sum_on_host(out, in, weights, n);
  }

  double dot(const float* x, const float* y, std::size_t n) override { return dot_on_host(x, y, n); }
  void scatter_add(float* y, float a, std::span<const SparseEntry> entries) override {
    hopbench::scatter_add(y, a, entries);
  }
  bool lent(const float* data) override {
    SharedMemory* const shared = shared_host_memory();
    return shared != nullptr && shared->lent(data);
  }

  void sgd(float* x, float* m, const float* g, const SgdStep& s, std::size_t n) override {
    if (m == nullptr) {
      for (std::size_t i = 0; i < n; ++i) x[i] -= s.lr * (g[i] + s.weight_decay * x[i]);
      return;
    }
    for (std::size_t i = 0; i < n; ++i) {
      const float slope = g[i] + s.weight_decay * x[i];
      m[i] = s.momentum * m[i] + slope;
      x[i] -= s.lr * (s.nesterov ? slope + s.momentum * m[i] : m[i]);
    }
  }

  void adamw(float* x, float* m, float* v, const float* g, const AdamStep& s, std::size_t n) override {
    for (std::size_t i = 0; i < n; ++i) {
      m[i] = s.beta1 * m[i] + (1 - s.beta1) * g[i];
      v[i] = s.beta2 * v[i] + (1 - s.beta2) * (g[i] * g[i]);
      const float length = std::sqrt(s.correction2 * v[i]) + s.epsilon;
      x[i] -= s.lr * (s.correction1 * m[i] / length + s.weight_decay * x[i]);
    }
  }

  void compensate(float* g, const float* w, const float* sent, float* square, const Compensation& by,
                  std::size_t n) override {
    for (std::size_t i = 0; i < n; ++i) {
      const float g2 = g[i] * g[i];
      float c = by.lambda;
      if (square != nullptr) {
        square[i] = by.decay * square[i] + (1 - by.decay) * g2;
        c /= std::sqrt(square[i] + kSmallSquare);
      }
      g[i] += c * g2 * (w[i] - sent[i]);
    }
  }

 private:
  static std::size_t bytes_of(std::size_t n) { return (n * sizeof(float) + kAlign - 1) / kAlign * kAlign; }

  static constexpr std::size_t kKept = 64;  // blocks of one size
  std::mutex mutex_;
  std::map<std::size_t, std::vector<float*>> free_;
};

class NullSpace final : public Space {
 public:
  const char* name() const override { return "null"; }
  float* allocate(std::size_t) override { return nullptr; }
  void release(float*, std::size_t) noexcept override {}
  void fill(float*, float, std::size_t) override {}
  void copy(float*, const float*, std::size_t) override {}
  void read(const float*, float* host, std::size_t n) override { std::memset(host, 0, n * sizeof(float)); }
  void write(float*, const float*, std::size_t) override {}
  void axpy(float*, float, const float*, std::size_t) override {}
  void scale(float*, float, std::size_t) override {}
  void weighted_sum(float*, std::span<const float* const>, std::span<const float>, std::size_t) override {}
  double dot(const float*, const float*, std::size_t) override { return 0; }
  void scatter_add(float*, float, std::span<const SparseEntry>) override {}
  void sgd(float*, float*, const float*, const SgdStep&, std::size_t) override {}
  void adamw(float*, float*, float*, const float*, const AdamStep&, std::size_t) override {}
  void compensate(float*, const float*, const float*, float*, const Compensation&, std::size_t) override {}
};

}  // namespace

void share_host_memory(SharedMemory& memory) { shared_memory.store(&memory, std::memory_order_release); }
SharedMemory* shared_host_memory() { return shared_memory.load(std::memory_order_acquire); }

void live_on(DeviceSpace& space) { device.store(&space, std::memory_order_release); }
DeviceSpace* device_space() { return device.load(std::memory_order_acquire); }

Space& host_space() {
  static HostSpace space;
  return space;
}

Space& null_space() {
  static NullSpace space;
  return space;
}

}  // namespace hopbench
