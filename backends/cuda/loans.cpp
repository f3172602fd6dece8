#include "backends/cuda/loans.h"

#include <cuda_runtime.h>

#include <bit>
#include <cstring>

#include "backends/base/error.h"
#include "backends/cuda/device.h"
#include "backends/cuda/remarks.h"

namespace hopbench::cuda {

void Loans::add(const float* block, std::size_t floats) {
  const std::lock_guard lock(mutex_);
  blocks_[block].floats = floats;
}

void Loans::remove(const float* block) {
  const std::lock_guard lock(mutex_);
  blocks_.erase(block);
}

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

float* Loans::borrow(const DeviceSpace::Loan& loan, bool own) {
  std::string why;
  if (float* const here = try_to_borrow(loan, own, why)) return here;
  throw environment_error("cuda: memory of another rank cannot be mapped (CUDA IPC): " + why +
                          ": run the trial without: --set compute.ipc=false");
}

float* Loans::try_to_borrow(const DeviceSpace::Loan& loan, bool own, std::string& why) {
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

}  // namespace hopbench::cuda
