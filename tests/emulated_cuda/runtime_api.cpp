#include "tests/emulated_cuda/runtime_api.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t kMemory = std::size_t(1) << 30;
constexpr std::size_t kAlign = 256;
constexpr std::size_t kPage = 4096;  // blocks from here on are mapped, and other processes may map them
constexpr std::size_t kPatch = std::size_t(2) << 20;
constexpr int kPoison = 0xff;

using emulated_cuda::forbidden;
using emulated_cuda::give;

thread_local cudaError_t last_error = cudaSuccess;
std::atomic<const void*> last_mapped{nullptr};  // of another process
std::atomic<int> current{0};                    // GPU of this process

/// Returns a file of kPatch bytes of the pattern.
int pattern_file() {
  static const int file = [] {
    const std::string pattern(kPatch, static_cast<char>(kPoison));
    const int made = memfd_create("pattern", MFD_CLOEXEC);
    return write(made, pattern.data(), kPatch) == ssize_t(kPatch) ? made : -1;
  }();
  return file;
}

/// Returns memory that reads as the pattern. A page of it takes room once it is written: most of a library's working
/// memory never is.
void* patterned(std::size_t bytes) {
  void* const all = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) return nullptr;
  for (std::size_t done = 0; done < bytes; done += kPatch) {
    void* const part = static_cast<char*>(all) + done;
    if (mmap(part, std::min(kPatch, bytes - done), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, pattern_file(),
             0) != MAP_FAILED)
      continue;
    munmap(all, bytes);
    return nullptr;
  }
  return all;
}

/// Moves what is there into a file of its own, mapped at the same place. Returns -1 if that fails.
int moved_into_file(void* memory, std::size_t bytes) {
  const int file = memfd_create("emulated GPU", MFD_CLOEXEC);
  if (file >= 0 && write(file, memory, bytes) == ssize_t(bytes) &&
      mmap(memory, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED)
    return file;
  close(file);
  return -1;
}

class Memory {
 public:
  void* allocate(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const std::size_t whole = (bytes + kAlign - 1) / kAlign * kAlign;
    if (whole == 0 || whole < bytes || whole > kMemory - used_) return nullptr;
    void* const memory = whole >= kPage ? patterned(whole) : std::aligned_alloc(kAlign, whole);
    if (memory == nullptr) return nullptr;
    if (whole < kPage) std::memset(memory, kPoison, whole);
    used_ += whole;
    blocks_[memory] = {whole, -1};
    return memory;
  }
  bool release(void* memory) {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(memory);
    if (found == blocks_.end()) return false;
    const auto [bytes, file] = found->second;
    if (bytes < kPage || file >= 0) std::memset(memory, kPoison, bytes);  // for who reads it still
    used_ -= bytes;
    blocks_.erase(found);
    if (file >= 0) close(file);
    if (bytes < kPage) {
      std::free(memory);
    } else {
      munmap(memory, bytes);
    }
    return true;
  }
  bool holds(const void* at) {
    const std::lock_guard lock(mutex_);
    auto after = blocks_.upper_bound(const_cast<void*>(at));
    if (after == blocks_.begin()) return false;
    --after;
    return at < static_cast<char*>(after->first) + after->second.bytes;
  }
  /// Another process's, mapped here.
  void add(void* memory, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    blocks_[memory] = {bytes, -1};
  }
  /// Where another process finds it; empty: nowhere.
  std::string address(void* memory) {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(memory);
    if (found == blocks_.end() || found->second.bytes < kPage) return "";
    if (found->second.file < 0) found->second.file = moved_into_file(memory, found->second.bytes);
    if (found->second.file < 0) return "";
    return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(found->second.file);
  }
  std::size_t free() {
    const std::lock_guard lock(mutex_);
    return kMemory - used_;
  }

 private:
  std::mutex mutex_;
  std::size_t used_ = 0;
  struct Block {
    std::size_t bytes;
    int file;  // that other processes may map; -1: it is in none
  };
  std::map<void*, Block> blocks_;
};

Memory& device_memory() {
  static auto* const memory = new Memory;
  return *memory;
}
Memory& host_memory() {
  static auto* const memory = new Memory;
  return *memory;
}

cudaError_t allocate(Memory& memory, void** at, std::size_t bytes) {
  if (forbidden()) return give(cudaErrorStreamCaptureUnsupported);
  *at = memory.allocate(bytes);
  return give(*at != nullptr ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t release(Memory& memory, void* at) {
  if (forbidden()) return give(cudaErrorStreamCaptureUnsupported);
  emulated_cuda::finish_all();
  return give(at == nullptr || memory.release(at) ? cudaSuccess : cudaErrorInvalidValue);
}

}  // namespace

bool emulated_cuda::has_trouble(const char* word) {
  const char* const troubles = std::getenv("HB_EMULATED_GPU");
  std::istringstream words(troubles != nullptr ? troubles : "");
  for (std::string one; words >> one;) {
    if (one == word) return true;
  }
  return false;
}

cudaError_t emulated_cuda::give(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

// --- The device ------------------------------------------------------------------------------------------------------

cudaError_t cudaDriverGetVersion(int* version) { return *version = 13000, cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int* version) { return *version = 13000, cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* count) { return *count = 2, cudaSuccess; }
cudaError_t cudaSetDevice(int device) {
  if (device != 0 && device != 1) return give(cudaErrorInvalidDevice);
  current = device;
  return cudaSuccess;
}
cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device != 0 && device != 1) return give(cudaErrorInvalidDevice);
  *properties = {};
  std::strcpy(properties->name, "Emulated GPU");
  properties->totalGlobalMem = kMemory;
  properties->major = device == 1 && emulated_cuda::has_trouble("old-second") ? 7 : 9;
  properties->multiProcessorCount = 4;
  properties->pciBusID = 0x3b + device;
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  attributes->binaryVersion = 90;
  return cudaSuccess;
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorNoKernelImageForDevice:
      return "no kernel image is available for execution on the device";
    case cudaErrorIllegalAddress:
      return "an illegal memory access was encountered";
    case cudaErrorPeerAccessUnsupported:
      return "peer access is not supported between these two devices";
    case cudaErrorLaunchFailure:
      return "unspecified launch failure";
    case cudaErrorStreamCaptureUnsupported:
      return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated:
      return "operation failed due to a previous error during capture";
    case cudaErrorStreamCaptureIsolation:
      return "dependency created on uncaptured work in another stream";
    default:
      return "another error";
  }
}

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return last_error; }

// --- Memory ----------------------------------------------------------------------------------------------------------

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *free = emulated_cuda::has_trouble("little-memory") ? std::size_t{4} << 20 : device_memory().free();
  *total = kMemory;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) { return allocate(device_memory(), memory, bytes); }
cudaError_t cudaFree(void* memory) { return release(device_memory(), memory); }
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) { return allocate(host_memory(), memory, bytes); }
cudaError_t cudaFreeHost(void* memory) { return release(host_memory(), memory); }

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  if (from == last_mapped && emulated_cuda::has_trouble("unread-peer")) return give(cudaErrorPeerAccessUnsupported);
  emulated_cuda::enqueue(stream, [=] { std::memmove(to, from, bytes); });
  const auto pageable = [](const void* at) { return !device_memory().holds(at) && !host_memory().holds(at); };
  return pageable(to) || pageable(from) ? cudaStreamSynchronize(stream) : cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  emulated_cuda::enqueue(stream, [=] { std::memset(to, value, bytes); });
  return cudaSuccess;
}

// --- Between processes -----------------------------------------------------------------------------------------------

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* memory) {
  emulated_cuda::finish_all();
  if (emulated_cuda::has_trouble("no-export")) return give(cudaErrorInvalidValue);
  const std::string address = device_memory().address(memory);
  if (address.empty() || address.size() + 1 >= sizeof handle->reserved) return give(cudaErrorInvalidValue);
  std::memset(handle->reserved, 0, sizeof handle->reserved);
  address.copy(handle->reserved, address.size());
  handle->reserved[sizeof handle->reserved - 1] = char(current);
  return cudaSuccess;
}

cudaError_t cudaIpcOpenMemHandle(void** memory, cudaIpcMemHandle_t handle, unsigned) {
  const bool of_peer = handle.reserved[sizeof handle.reserved - 1] != char(current);
  if (emulated_cuda::has_trouble("no-import")) return give(cudaErrorInvalidValue);
  if (of_peer && emulated_cuda::has_trouble("no-peer")) return give(cudaErrorPeerAccessUnsupported);
  const int file = open(handle.reserved, O_RDWR | O_CLOEXEC);
  struct stat of_file {};
  if (file < 0 || fstat(file, &of_file) != 0) return give(cudaErrorInvalidValue);
  const bool corrupt = emulated_cuda::has_trouble("corrupt-peer");
  void* const at =
      mmap(nullptr, std::size_t(of_file.st_size), PROT_READ | PROT_WRITE, corrupt ? MAP_PRIVATE : MAP_SHARED, file, 0);
  close(file);
  if (at == MAP_FAILED) return give(cudaErrorInvalidValue);
  if (corrupt) static_cast<char*>(at)[1] ^= 1;
  device_memory().add(at, std::size_t(of_file.st_size));
  last_mapped = *memory = at;
  return cudaSuccess;
}
