// The GPU's memory as a Space. All operations run in the order of one stream. Therefore a released block may be reused
// at once, whatever still runs on it.
#include "backends/base/space.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "backends/base/error.h"
#include "backends/cuda/backend.h"
#include "backends/cuda/device.h"
#include "backends/cuda/kernels/kernels.h"

namespace hopbench::cuda {
namespace {

/// The blocks that this process lends and borrows, which other processes read in place, through CUDA IPC. The transport
/// counts the readers in shared host memory, with one counter per block (see ShmSegment). Blocks with readers are not
/// reused. For any thread.
class Loans {
 public:
  /// add() registers an allocated block, remove() unregisters a freed one. A block that was ever lent is never freed.
  void add(const float* block, std::size_t floats) {
    const std::lock_guard lock(mutex_);
    blocks_[block].floats = floats;
  }
  void remove(const float* block) {
    const std::lock_guard lock(mutex_);
    blocks_.erase(block);
  }

  /// Returns false if CUDA has refused to export a block.
  bool possible() const { return possible_; }
  /// See DeviceSpace. Returns nullopt if there is no shared host memory or CUDA cannot export this block.
  std::optional<DeviceSpace::Loan> lend(const float* data);
  /// Returns nullptr, and the reason in `why`, if it cannot be mapped.
  float* borrow(const DeviceSpace::Loan& loan, bool own, std::string& why);

  bool ever_lent(const float* data);
  bool lent(const float* data);

 private:
  struct Block {
    std::size_t floats = 0;
    void* counter = nullptr;  // nullptr: never lent
    std::array<char, 64> handle{};
  };
  std::map<const float*, Block>::iterator block_of(const float* data);

  std::mutex mutex_;
  std::map<const float*, Block> blocks_;          // by their first address
  std::map<std::array<char, 64>, char*> opened_;  // blocks of other processes
  std::atomic<bool> possible_{true};
};

std::map<const float*, Loans::Block>::iterator Loans::block_of(const float* data) {
  auto after = blocks_.upper_bound(data);
  if (after == blocks_.begin()) return blocks_.end();
  --after;
  return data < after->first + after->second.floats ? after : blocks_.end();
}

std::optional<DeviceSpace::Loan> Loans::lend(const float* data) {
  SharedMemory* const shared = shared_host_memory();
  const std::lock_guard lock(mutex_);
  const auto found = block_of(data);
  if (shared == nullptr || !possible_ || found == blocks_.end()) return std::nullopt;
  Block& block = found->second;
  if (block.counter == nullptr) {
    Device::mine();  // makes the device this thread's, too
    cudaIpcMemHandle_t handle;
    static_assert(sizeof handle == sizeof block.handle);
    if (const cudaError_t error = cudaIpcGetMemHandle(&handle, const_cast<float*>(found->first));
        error != cudaSuccess) {
      cudaGetLastError();  // so that no later check finds this error
      possible_ = false;
      remark("ipc", std::string("no, because memory cannot be exported: ") + cudaGetErrorString(error), 1);
      return std::nullopt;
    }
    std::memcpy(block.handle.data(), &handle, sizeof handle);
    block.counter = shared->allocate(sizeof(std::uint64_t));
    if (block.counter == nullptr) return std::nullopt;
  }
  DeviceSpace::Loan loan;
  loan.handle = block.handle;
  loan.offset = static_cast<std::uint64_t>(data - found->first) * sizeof(float);
  loan.address = reinterpret_cast<std::uint64_t>(data);
  loan.counter = block.counter;
  return loan;
}

float* Loans::borrow(const DeviceSpace::Loan& loan, bool own, std::string& why) {
  if (own) return std::bit_cast<float*>(loan.address);
  const std::lock_guard lock(mutex_);
  char*& opened = opened_[loan.handle];
  if (opened == nullptr) {
    Device::mine();
    cudaIpcMemHandle_t handle;
    std::memcpy(&handle, loan.handle.data(), sizeof handle);
    void* at = nullptr;
    const std::shared_lock hold(recording());
    const cudaError_t error = cudaIpcOpenMemHandle(&at, handle, cudaIpcMemLazyEnablePeerAccess);
    if (error != cudaSuccess) {
      cudaGetLastError();
      opened_.erase(loan.handle);
      why = cudaGetErrorString(error);
      return nullptr;
    }
    opened = static_cast<char*>(at);
  }
  return reinterpret_cast<float*>(opened + loan.offset);
}

bool Loans::ever_lent(const float* data) {
  const std::lock_guard lock(mutex_);
  const auto found = block_of(data);
  return found != blocks_.end() && found->second.counter != nullptr;
}

bool Loans::lent(const float* data) {
  const std::lock_guard lock(mutex_);
  const auto found = block_of(data);
  return found != blocks_.end() && found->second.counter != nullptr &&
         shared_host_memory()->lent(found->second.counter);
}

/// Buffers for copies between the GPU and pageable memory, in two halves: while the GPU copies one half, the host
/// copies the other. Also the working memory of a dot product.
struct Staging {
  static constexpr std::size_t kFloats = std::size_t(1) << 20;  // floats in one half: 4 MiB
  Pinned half[2] = {Pinned(kFloats * sizeof(float)), Pinned(kFloats * sizeof(float))};
  StreamOwner copies;    // to the host
  EventOwner passed[2];  // the stream has done its last work with the half
  Buffer sums{(kDotPartials + 1) * sizeof(double)};
  Buffer entries{kFloats * sizeof(float)};
};

/// Numbers that differ between any two processes, so that a mapping of other memory is detected.
constexpr std::size_t kSample = std::size_t(1) << 16;
std::vector<float> numbers_of(const DeviceSpace::Loan& loan) {
  std::uint64_t state = loan.address;
  for (const char byte : loan.handle) state = state * 1099511628211u + static_cast<unsigned char>(byte);
  std::vector<float> numbers(kSample);
  for (float& number : numbers) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    number = float(state >> 40);
  }
  return numbers;
}

class CudaSpace final : public DeviceSpace {
 public:
  const char* name() const override { return "cuda"; }

  float* allocate(std::size_t n) override {
    if (n == 0) return nullptr;
    {
      const std::lock_guard lock(mutex_);
      take_back();
      const auto kept = kept_.find(n);
      if (kept != kept_.end() && !kept->second.empty()) {
        float* const block = kept->second.back();
        kept->second.pop_back();
        kept_bytes_ -= whole_pieces(n);
        return block;
      }
    }
    try {
      return new_block(n);
    } catch (const Error&) {
      if (!give_back()) throw;
    }
    return new_block(n);
  }

  void release(float* data, std::size_t n) noexcept override {
    if (data == nullptr) return;
    {
      const std::lock_guard lock(mutex_);
      if (loans_.lent(data)) {
        waiting_.emplace_back(data, n);
        return;
      }
      if (kept_bytes_ + whole_pieces(n) <= largest_kept_ || loans_.ever_lent(data)) {
        kept_[n].push_back(data);
        kept_bytes_ += whole_pieces(n);
        return;
      }
    }
    free_block(data);
  }

  void allow_loans() override { may_lend_ = true; }
  bool lends() const override { return may_lend_ && loans_.possible(); }
  std::optional<Loan> lend(const float* data) override {
    if (!may_lend_) return std::nullopt;
    wait_for(stream());  // throws if computing failed, so that numbers that were never computed are not read
    return loans_.lend(data);
  }
  std::optional<Loan> lend_sample() override {
    if (!may_lend_) return std::nullopt;
    std::call_once(sample_made_, [&] { sample_ = allocate(kSample); });
    const std::optional<Loan> loan = lend(sample_);
    if (!loan) return std::nullopt;
    const std::vector<float> numbers = numbers_of(*loan);
    write(sample_, numbers.data(), kSample);
    wait_for(stream());
    return loan;
  }
  std::string trouble_with(const Loan& sample, bool own) override {
    const std::vector<float> expected = numbers_of(sample);
    std::vector<float> got(kSample);
    std::string why;
    const float* const here = loans_.borrow(sample, own, why);
    if (here == nullptr) return "cannot be mapped: " + why;
    try {
      read(here, got.data(), kSample);
    } catch (const Error& error) {
      return std::string("is mapped, but cannot be read: ") + error.what();
    }
    return got == expected ? "" : "is mapped, and reads differently from what was written";
  }
  Use use() const override {
    return {.device = Device::mine().address(),
            .shared_well = Device::mine().has_mps(),
            .fallbacks = fallbacks(),
            .remarks = remarks()};
  }
  void remark(const std::string& topic, const std::string& text, int fallbacks) override {
    cuda::remark(topic, text, fallbacks);
  }
  float* borrow(const Loan& loan, bool own) override {
    std::string why;
    if (float* const here = loans_.borrow(loan, own, why)) return here;
    throw environment_error("cuda: memory of another rank cannot be mapped (CUDA IPC): " + why +
                            ": run the trial without: --set compute.ipc=false");
  }
  bool lent(const float* data) override { return loans_.lent(data); }
  void finish() noexcept override {
    try {
      wait_for(stream());
    } catch (const Error&) {  // the next operation reports it
    }
  }

  void fill(float* y, float value, std::size_t n) override {
    if (n > 0) cuda::fill(stream(), y, value, n);
  }
  void copy(float* to, const float* from, std::size_t n) override { cuda::copy(stream(), to, from, n * sizeof(float)); }
  void axpy(float* y, float a, const float* x, std::size_t n) override {
    if (n > 0) cuda::axpy(stream(), y, a, x, n);
  }
  void scale(float* y, float a, std::size_t n) override {
    if (n > 0) cuda::scale(stream(), y, a, n);
  }
  void weighted_sum(float* out, std::span<const float* const> in, std::span<const float> weights,
                    std::size_t n) override {
    if (n > 0) cuda::weighted_sum(stream(), out, in, weights, n);
  }
  void sgd(float* x, float* m, const float* g, const SgdStep& s, std::size_t n) override {
    if (n > 0) cuda::sgd(stream(), x, m, g, s.lr, s.momentum, s.weight_decay, s.nesterov, n);
  }
  void adamw(float* x, float* m, float* v, const float* g, const AdamStep& s, std::size_t n) override {
    const cuda::AdamStep step{s.lr, s.beta1, s.beta2, s.epsilon, s.correction1, s.correction2, s.weight_decay};
    if (n > 0) cuda::adamw(stream(), x, m, v, g, step, n);
  }
  void compensate(float* g, const float* w, const float* sent, float* square, const Compensation& by,
                  std::size_t n) override {
    if (n > 0) cuda::compensate(stream(), g, w, sent, square, by.lambda, by.decay, kSmallSquare, n);
  }

  void scatter_add(float* y, float a, std::span<const SparseEntry> entries) override {
    const auto staging = borrowed();
    constexpr std::size_t kEntries = Staging::kFloats / kEntryFloats;
    for (std::size_t at = 0; at < entries.size(); at += kEntries) {
      const std::size_t now = std::min(entries.size() - at, kEntries);
      staging->passed[0].wait();
      std::memcpy(staging->half[0].as<SparseEntry>(), entries.data() + at, now * sizeof(SparseEntry));
      cuda::copy(stream(), staging->entries.data(), staging->half[0].as<SparseEntry>(), now * sizeof(SparseEntry));
      cuda::scatter_add(stream(), y, a, staging->entries.data(), now);
      staging->passed[0].record(stream());
    }
  }

  void read(const float* from, float* host, std::size_t n) override {
    if (n == 0) return;
    // Runs at the same time as work launched onto the vectors' stream from now on.
    const auto staging = borrowed();
    Device::mine().after_vectors(staging->copies);
    const std::size_t pieces = (n + Staging::kFloats - 1) / Staging::kFloats;
    const auto floats_of = [&](std::size_t piece) { return std::min(n - piece * Staging::kFloats, Staging::kFloats); };
    const auto send = [&](std::size_t piece) {
      cuda::copy(staging->copies, staging->half[piece % 2].as<float>(), from + piece * Staging::kFloats,
                 floats_of(piece) * sizeof(float));
      staging->passed[piece % 2].record(staging->copies);
    };
    send(0);
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      if (piece + 1 < pieces) send(piece + 1);
      staging->passed[piece % 2].wait();
      std::memcpy(host + piece * Staging::kFloats, staging->half[piece % 2].as<float>(),
                  floats_of(piece) * sizeof(float));
    }
  }

  void write(float* to, const float* host, std::size_t n) override {
    if (n == 0) return;
    const Stream vectors = stream();
    const auto staging = borrowed();
    for (std::size_t at = 0, half = 0; at < n; at += Staging::kFloats, half = 1 - half) {
      const std::size_t now = std::min(n - at, Staging::kFloats);
      staging->passed[half].wait();  // an earlier copy may still be on its way from there
      std::memcpy(staging->half[half].as<float>(), host + at, now * sizeof(float));
      cuda::copy(vectors, to + at, staging->half[half].as<float>(), now * sizeof(float));
      staging->passed[half].record(vectors);
    }
  }

  double dot(const float* x, const float* y, std::size_t n) override {
    if (n == 0) return 0;
    const Stream vectors = stream();
    const auto staging = borrowed();
    auto* const result = staging->sums.as<double>() + kDotPartials;
    cuda::dot(vectors, x, y, n, staging->sums.as<double>(), result);
    cuda::copy(vectors, staging->half[0].as<double>(), result, sizeof(double));
    staging->passed[0].record(vectors);
    staging->passed[0].wait();
    return *staging->half[0].as<double>();
  }

 private:
  static Stream stream() { return Device::mine().vectors(); }

  struct GiveBack {
    CudaSpace& space;
    void operator()(Staging* staging) const {
      const std::lock_guard lock(space.mutex_);
      space.stagings_.emplace_back(staging);
    }
  };
  /// Returns a Staging for one call. Several threads may be in a call at the same time.
  std::unique_ptr<Staging, GiveBack> borrowed() {
    const std::lock_guard lock(mutex_);
    if (stagings_.empty()) stagings_.push_back(std::make_unique<Staging>());
    std::unique_ptr<Staging, GiveBack> one(stagings_.back().release(), {*this});
    stagings_.pop_back();
    return one;
  }

  /// Returns the bytes of a vector's block, whole pieces if it may be lent: CUDA shares memory in pieces of 2 MiB.
  static std::size_t whole_pieces(std::size_t n) {
    constexpr std::size_t kPiece = std::size_t(2) << 20;
    const std::size_t bytes = n * sizeof(float);
    return n >= kSharedFloats ? (bytes + kPiece - 1) / kPiece * kPiece : bytes;
  }
  float* new_block(std::size_t n) {
    auto* const block = static_cast<float*>(allocate_memory(may_lend_ ? whole_pieces(n) : n * sizeof(float)));
    loans_.add(block, n);
    return block;
  }
  void free_block(float* block) noexcept {
    loans_.remove(block);
    release_memory(block);
  }

  /// Keeps for reuse the blocks that were released while they were being read, and that are not read any more.
  void take_back() {
    std::erase_if(waiting_, [&](const std::pair<float*, std::size_t>& block) {
      if (loans_.lent(block.first)) return false;
      kept_[block.second].push_back(block.first);
      kept_bytes_ += whole_pieces(block.second);
      return true;
    });
  }

  /// Frees the memory that is kept for later, so that others can allocate it. Returns false if there was none.
  bool give_back() {
    std::map<std::size_t, std::vector<float*>> kept;
    {
      const std::lock_guard lock(mutex_);
      kept.swap(kept_);
      if (std::exchange(kept_bytes_, 0) == 0) return false;
    }
    for (const auto& [n, blocks] : kept) {
      for (float* block : blocks) loans_.ever_lent(block) ? release(block, n) : free_block(block);
    }
    return true;
  }

  // Freed blocks are kept by size, so that a training loop asks the driver for memory in its first iterations only.
  // Asking waits for all running work.
  std::mutex mutex_;
  std::map<std::size_t, std::vector<float*>> kept_;
  std::size_t kept_bytes_ = 0;
  std::vector<std::pair<float*, std::size_t>> waiting_;  // released, but read by other processes
  Loans loans_;
  std::atomic<bool> may_lend_{false};
  std::once_flag sample_made_;
  float* sample_ = nullptr;
  const std::size_t largest_kept_ = Device::mine().memory() / 16;  // bytes
  std::vector<std::unique_ptr<Staging>> stagings_;
};

}  // namespace

DeviceSpace& space() {
  static auto* const space = new CudaSpace;  // never destroyed: vectors may be released at the process's very end
  return *space;
}

}  // namespace hopbench::cuda
