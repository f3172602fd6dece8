// Where vectors live and the few operations that run there. A protocol never sees a Space: it uses Vec.
//
// Two spaces stand here: host memory, and `null`, which keeps sizes and no numbers (for large virtual-time runs in
// which only time and bytes matter). A device (CUDA) is a third one and brings its own kernels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "backends/base/sparse.h"

namespace hopbench {

class Space {
 public:
  virtual ~Space() = default;
  virtual const char* name() const = 0;

  /// n floats, 64-byte aligned, contents undefined. May return nullptr where nothing is stored.
  virtual float* allocate(std::size_t n) = 0;
  virtual void release(float* data, std::size_t n) noexcept = 0;

  // All of these are deterministic: the same inputs give the same bits, on any thread. Ranges may not overlap unless
  // equal.
  virtual void fill(float* y, float value, std::size_t n) = 0;
  virtual void copy(float* to, const float* from, std::size_t n) = 0;
  virtual void read(const float* from, float* host, std::size_t n) = 0;     // space -> host memory
  virtual void write(float* to, const float* host, std::size_t n) = 0;      // host memory -> space
  virtual void axpy(float* y, float a, const float* x, std::size_t n) = 0;  // y += a x
  virtual void scale(float* y, float a, std::size_t n) = 0;                 // y *= a
  /// out = sum over i, in the order given, of weights[i] * in[i]; the sum is accumulated in float, first term first.
  virtual void weighted_sum(float* out, std::span<const float* const> in, std::span<const float> weights,
                            std::size_t n) = 0;
  virtual double dot(const float* x, const float* y, std::size_t n) = 0;
  /// y[column] += a * value; the entries lie in host memory.
  virtual void scatter_add(float* y, float a, std::span<const SparseEntry> entries) = 0;
  /// One pass of SGD: m = momentum*m + (g + weight_decay*x); x -= lr * (nesterov ? g + weight_decay*x + momentum*m :
  /// m). m may be nullptr when momentum is 0.
  struct SgdStep {
    float lr = 0, momentum = 0, weight_decay = 0;
    bool nesterov = false;
  };
  virtual void sgd(float* x, float* m, const float* g, const SgdStep& step, std::size_t n) = 0;

  /// Whether another process may be reading what this points into.
  virtual bool lent(const float* /*data*/) { return false; }
};

/// Host memory, pooled by size; safe to use from several threads.
Space& host_space();

/// Memory that other processes see, in which host_space()'s large vectors may lie. Any thread calls any of these.
class SharedMemory {
 public:
  virtual ~SharedMemory() = default;
  /// 64-byte aligned, contents undefined. nullptr: no room is left.
  virtual void* allocate(std::size_t bytes) = 0;
  /// False: this is not of it. What somebody still reads is used anew only later.
  virtual bool release(void* memory) noexcept = 0;
  /// Whether another process may be reading what this points into. False for memory that is not of it.
  virtual bool lent(const void* memory) noexcept = 0;
};

/// From now on host_space()'s vectors of kSharedFloats and more lie there.
void share_host_memory(SharedMemory& memory);
/// nullptr: nobody has called share_host_memory.
SharedMemory* shared_host_memory();
inline constexpr std::size_t kSharedFloats = 1024;

/// Memory of a device, which other processes on this machine may map if they use the same device. Any thread.
class DeviceSpace : public Space {
 public:
  struct Loan {
    std::array<char, 64> handle{};  // of the block, for other processes
    std::uint64_t offset = 0;       // bytes, in the block
    std::uint64_t address = 0;      // for this process itself
    const void* counter = nullptr;  // in shared_host_memory(): who counts a reader there lends the block
  };
  /// Until this is called, lend returns nothing.
  virtual void allow_loans() = 0;
  /// True if loans are allowed and the device has not refused one yet.
  virtual bool lends() const = 0;
  /// Returns what another process needs to read there. All writes are done by then, else Error(kEnvironment). nullopt:
  /// others cannot map this memory.
  virtual std::optional<Loan> lend(const float* data) = 0;
  /// Lends a block with known numbers, so that another process can test whether it reads this one's memory.
  virtual std::optional<Loan> lend_sample() = 0;
  /// The other side: reads such a block. Returns what is wrong ("cannot be mapped: ..."), or nothing.
  virtual std::string trouble_with(const Loan& sample, bool own) = 0;
  /// The other side: where it is here. `own`: it is this process's. Error(kEnvironment) if it cannot be mapped.
  virtual float* borrow(const Loan& loan, bool own) = 0;
  /// Waits for all operations so far: what was borrowed has been read.
  virtual void finish() noexcept = 0;

  /// For the record of a trial: how this process used the device.
  struct Use {
    std::string device;        // "0000:3b:00.0": the same for all processes of this machine that use it
    bool shared_well = false;  // processes that share it compute side by side (MPS), not in turns
    int fallbacks = 0;         // things that it did another way than it should: the remarks say which
    std::string remarks;       // "graph of batch 8: yes, 370 nodes; ipc: not with rank 3 (...)"
  };
  virtual Use use() const = 0;
  /// Keeps the last text of each topic, and how many fallbacks it tells of.
  virtual void remark(const std::string& topic, const std::string& text, int fallbacks) = 0;
};

/// The device on which this process's models live: dense vectors that arrive from another process's device go there.
void live_on(DeviceSpace& device);
/// nullptr: nobody has called live_on.
DeviceSpace* device_space();

/// Sizes without numbers: allocate returns nullptr, every operation does nothing, dot returns 0.
Space& null_space();

}  // namespace hopbench
