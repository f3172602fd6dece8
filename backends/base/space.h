// The kinds of memory that vectors live in, and the few operations that run there. A protocol uses Vec, never a Space.
//
// Two spaces are defined here: host memory, and `null`, which keeps sizes and no numbers (for large virtual-time runs
// in which only time and bytes matter). A device (CUDA) is a third space and brings its own kernels.
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

  /// Returns n floats, 64-byte aligned, contents undefined. May return nullptr if the space stores nothing.
  virtual float* allocate(std::size_t n) = 0;
  virtual void release(float* data, std::size_t n) noexcept = 0;

  // All operations below are deterministic: the same inputs give the same bits, on any thread. Ranges may not overlap
  // unless they are equal.
  virtual void fill(float* y, float value, std::size_t n) = 0;
  virtual void copy(float* to, const float* from, std::size_t n) = 0;
  virtual void read(const float* from, float* host, std::size_t n) = 0;     // space -> host memory
  virtual void write(float* to, const float* host, std::size_t n) = 0;      // host memory -> space
  virtual void axpy(float* y, float a, const float* x, std::size_t n) = 0;  // y += a x
  virtual void scale(float* y, float a, std::size_t n) = 0;                 // y *= a
  /// out = sum over i, in the order given, of weights[i] * in[i]. The sum is accumulated in float, first term first.
  virtual void weighted_sum(float* out, std::span<const float* const> in, std::span<const float> weights,
                            std::size_t n) = 0;
  virtual double dot(const float* x, const float* y, std::size_t n) = 0;
  /// y[column] += a * value for each entry. The entries lie in host memory.
  virtual void scatter_add(float* y, float a, std::span<const SparseEntry> entries) = 0;
  /// One pass of SGD: m = momentum*m + (g + weight_decay*x); x -= lr * (nesterov ? g + weight_decay*x + momentum*m :
  /// m). m may be nullptr when momentum is 0.
  struct SgdStep {
    float lr = 0, momentum = 0, weight_decay = 0;
    bool nesterov = false;
  };
  virtual void sgd(float* x, float* m, const float* g, const SgdStep& step, std::size_t n) = 0;
  /// One pass of AdamW: m = beta1*m + (1 - beta1)*g; v = beta2*v + (1 - beta2)*g*g;
  /// x -= lr * (weight_decay*x + correction1*m / (sqrt(correction2*v) + epsilon)).
  struct AdamStep {
    float lr = 0, beta1 = 0, beta2 = 0, epsilon = 0;
    float correction1 = 1, correction2 = 1;  // of means that began with 0: 1 / (1 - beta^t)
    float weight_decay = 0;
  };
  virtual void adamw(float* x, float* m, float* v, const float* g, const AdamStep& step, std::size_t n) = 0;
  /// One pass of DC-ASGD's delay compensation: g += c * g * g * (w - sent). If `square` is nullptr, c is lambda. Else
  /// it is lambda / sqrt(square + 1e-7) of each number, once square = decay * square + (1 - decay) * g * g.
  struct Compensation {
    float lambda = 0, decay = 0;
  };
  virtual void compensate(float* g, const float* w, const float* sent, float* square, const Compensation& by,
                          std::size_t n) = 0;
  static constexpr float kSmallSquare = 1e-7f;

  /// Returns true if another process may be reading the memory that `data` points into.
  virtual bool lent(const float* /*data*/) { return false; }
};

/// Returns host memory, pooled by size. Safe to use from several threads.
Space& host_space();

/// Memory that other processes see. Large vectors of host_space() may lie in it. Any thread may call these functions.
class SharedMemory {
 public:
  virtual ~SharedMemory() = default;
  /// Returns 64-byte aligned memory with undefined contents, or nullptr if no space is left.
  virtual void* allocate(std::size_t bytes) = 0;
  /// Returns false if `memory` is not part of this. Memory that is still being read is reused only later.
  virtual bool release(void* memory) noexcept = 0;
  /// Returns true if another process may be reading this memory. Returns false for memory that is not part of this.
  virtual bool lent(const void* memory) noexcept = 0;
};

/// Makes host_space() place vectors of kSharedFloats and more floats in `memory` from now on.
void share_host_memory(SharedMemory& memory);
/// Returns nullptr if share_host_memory was never called.
SharedMemory* shared_host_memory();
inline constexpr std::size_t kSharedFloats = 1024;

/// Memory of a device, which other processes on this machine may map if they use the same device. For any thread.
class DeviceSpace : public Space {
 public:
  struct Loan {
    std::array<char, 64> handle{};  // of the block, for other processes
    std::uint64_t offset = 0;       // bytes, in the block
    std::uint64_t address = 0;      // for this process itself
    const void* counter = nullptr;  // in shared_host_memory(); counting a reader there lends the block
  };
  /// Allows loans. Until this is called, lend returns nullopt.
  virtual void allow_loans() = 0;
  /// Returns true if loans are allowed and the device has not refused one yet.
  virtual bool lends() const = 0;
  /// Returns what another process needs to read `data`, or nullopt if other processes cannot map this memory. All
  /// writes are done when it returns; if that fails, it throws Error(kEnvironment).
  virtual std::optional<Loan> lend(const float* data) = 0;
  /// Lends a block with known numbers, so that another process can test whether it reads this process's memory.
  virtual std::optional<Loan> lend_sample() = 0;
  /// Reads such a block, as its borrower. Returns the problem ("cannot be mapped: ..."), or "" if there is none.
  virtual std::string trouble_with(const Loan& sample, bool own) = 0;
  /// Returns the loan's address here. `own`: it is this process's own. Throws Error(kEnvironment) if not mappable.
  virtual float* borrow(const Loan& loan, bool own) = 0;
  /// Waits for all operations so far, so that everything borrowed has been read.
  virtual void finish() noexcept = 0;

  /// The use of the device by this process, for the record of a trial.
  struct Use {
    std::string device;        // "0000:3b:00.0", the same for all processes of this machine that use it
    bool shared_well = false;  // processes that share it compute at the same time (MPS), not in turns
    int fallbacks = 0;         // number of things done in another way than intended; the remarks name them
    std::string remarks;       // "graph of batch 8: yes, 370 nodes; ipc: not with rank 3 (...)"
  };
  virtual Use use() const = 0;
  /// Keeps the last text of each topic, and the number of fallbacks that this text reports.
  virtual void remark(const std::string& topic, const std::string& text, int fallbacks) = 0;
};

/// Sets the device on which this process's models live. Dense vectors from another process's device are moved there.
void live_on(DeviceSpace& device);
/// Returns nullptr if live_on was never called.
DeviceSpace* device_space();

/// Returns the space of sizes without numbers: allocate returns nullptr, every operation does nothing, dot returns 0.
Space& null_space();

/// Returns the address of number i of a vector, or nullptr if its space stores no numbers.
template <class Float>
Float* number_at(Float* numbers, std::size_t i) {
  return numbers == nullptr ? nullptr : numbers + i;
}

}  // namespace hopbench
