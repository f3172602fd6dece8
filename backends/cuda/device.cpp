#include "backends/cuda/device.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "backends/base/error.h"
#include "backends/base/process/cores.h"
#include "backends/cuda/backend.h"
#include "backends/cuda/libraries.h"

namespace hopbench::cuda {
namespace {

std::atomic<int> chosen_rank{0}, ranks_here{1};
std::atomic<int> opened{-1};  // the device of this process, once it is open; else -1

/// Makes the process's device current in this thread. By default the first device is current, and would be opened too.
void make_current() noexcept {
  thread_local bool current = false;
  if (current || opened.load(std::memory_order_acquire) < 0) return;
  current = cudaSetDevice(opened.load(std::memory_order_acquire)) == cudaSuccess;
}

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::string amount(std::size_t bytes) {
  constexpr double kMebi = 1 << 20, kGibi = 1 << 30;
  if (double(bytes) >= kGibi) return fmt::format("{:.1f} GiB", double(bytes) / kGibi);
  if (double(bytes) >= kMebi) return fmt::format("{:.1f} MiB", double(bytes) / kMebi);
  return fmt::format("{} bytes", bytes);
}

/// Returns "1.0 GiB of 80.0 GiB free: use a smaller ...".
std::string how_full() {
  std::size_t free = 0, total = 0;
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) return kUseLess;
  return amount(free) + " of " + amount(total) + " free: " + kUseLess;
}

template <class... Errors>
bool is_any(cudaError_t error, Errors... of) {
  return ((error == of) || ...);
}

/// Returns true for errors after which the device does nothing more for this process.
bool is_lasting(cudaError_t error) {
  return is_any(error, cudaErrorIllegalAddress, cudaErrorLaunchFailure, cudaErrorLaunchTimeout,
                cudaErrorHardwareStackError, cudaErrorIllegalInstruction, cudaErrorMisalignedAddress,
                cudaErrorInvalidAddressSpace, cudaErrorInvalidPc, cudaErrorAssert, cudaErrorECCUncorrectable,
                cudaErrorNvlinkUncorrectable, cudaErrorContained, cudaErrorMpsConnectionFailed, cudaErrorMpsRpcFailure,
                cudaErrorMpsServerNotReady, cudaErrorMpsMaxClientsReached, cudaErrorMpsMaxConnectionsReached,
                cudaErrorMpsClientTerminated);
}

std::string advice(cudaError_t error) {
  if (error == cudaErrorNoKernelImageForDevice) {
    return ": this build has no kernels for this GPU: configure it with CMAKE_CUDA_ARCHITECTURES for its compute "
           "capability (nvidia-smi --query-gpu=compute_cap --format=csv)";
  }
  if (error == cudaErrorDevicesUnavailable) return ": nvidia-smi shows who holds the GPU, and its compute mode";
  if (error == cudaErrorECCUncorrectable) return ": the GPU's memory is damaged: take another";
  if (is_any(error, cudaErrorMpsClientTerminated, cudaErrorMpsRpcFailure, cudaErrorMpsConnectionFailed))
    return ": under MPS the fault of one process ends all that share the GPU: look at what failed first";
  return "";
}

/// Returns "" if that GPU can be used, or asking for its properties fails.
std::string why_too_old(int ordinal) {
  cudaDeviceProp gpu{};
  if (cudaGetDeviceProperties(&gpu, ordinal) != cudaSuccess || gpu.major >= 8) return "";
  return fmt::format(
      "GPU {} ({}) is too old: its compute capability is {}.{}, at least 8.0 is needed: CUDA_VISIBLE_DEVICES may "
      "hide it from the ranks",
      ordinal, gpu.name, gpu.major, gpu.minor);
}

std::string why_no_gpu() {
  int driver = 0, runtime = 0, count = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  const cudaError_t error = cudaGetDeviceCount(&count);
  cudaGetLastError();
  if (error == cudaErrorInsufficientDriver && driver == 0) {
    return "no NVIDIA driver was found (libcuda.so.1): install one, or start the container with its GPUs";
  }
  if (error == cudaErrorInsufficientDriver) {
    return fmt::format("the NVIDIA driver is too old: it knows CUDA {}, this build is of {}: update the driver",
                       version_text(driver), version_text(runtime));
  }
  if (error == cudaErrorNoDevice || (error == cudaSuccess && count == 0)) {
    return "no NVIDIA GPU is visible: nvidia-smi -L lists them, CUDA_VISIBLE_DEVICES may hide them";
  }
  if (error != cudaSuccess) {
    return fmt::format("the NVIDIA driver (CUDA {}) answers: {}: nvidia-smi may say more", version_text(driver),
                       cudaGetErrorString(error));
  }
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    if (why_too_old(ordinal).empty()) return "";
  }
  return why_too_old(0);
}

/// Returns the release of the kernel's module, for example "580.159.03".
std::string driver_release() {
  for (const char* path : {"/sys/module/nvidia/version", "/proc/driver/nvidia/version"}) {
    std::ifstream file(path);
    for (std::string word; file >> word;) {
      if (std::isdigit(static_cast<unsigned char>(word[0])) != 0 && word.find('.') != std::string::npos) return word;
    }
  }
  return "";
}

}  // namespace

std::string no_gpu() {
  static const std::string reason = why_no_gpu();
  return reason;
}

std::string unavailable() {
  static const std::string reason = [] {
    std::string why = no_gpu();
    if (!why.empty()) return why;
    try {
      library_versions();
    } catch (const Error& error) {
      why = error.what();
    }
    return why;
  }();
  return reason;
}

void check(int code, const char* what) {
  const auto error = static_cast<cudaError_t>(code);
  if (error == cudaSuccess) return;
  cudaGetLastError();  // so that the next launch is not blamed
  if (error == cudaErrorMemoryAllocation) {
    throw environment_error(fmt::format("cuda: {}: out of memory: {}", what, how_full()));
  }
  const std::string message = fmt::format("cuda: {}: {}{}", what, cudaGetErrorString(error), advice(error));
  if (!is_lasting(error)) throw environment_error(message);
  static std::mutex mutex;
  static std::string first;
  const std::lock_guard lock(mutex);
  if (first.empty()) first = message;
  throw environment_error(first);
}

void check_launch(const char* kernel) { check(cudaGetLastError(), kernel); }

// --- Device ----------------------------------------------------------------------------------------------------------

void Device::choose(int local_rank, int local_ranks) {
  HB_ASSERT(local_rank >= 0 && local_ranks > 0);
  chosen_rank = local_rank;
  ranks_here = local_ranks;
}

Device& Device::mine() {
  static Device* const device = new Device;  // never closed: at the process's end other code may still use its memory
  make_current();
  return *device;
}

std::vector<std::string> gpus() {
  int count = 0;
  check(cudaGetDeviceCount(&count), "counting the GPUs");
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp gpu{};
    check(cudaGetDeviceProperties(&gpu, i), "asking for the GPU's properties");
    all.push_back(fmt::format("{}, {:.1f} GiB, sm_{}{}, {}", gpu.name, double(gpu.totalGlobalMem) / (1 << 30),
                              gpu.major, gpu.minor, library_versions()));
  }
  return all;
}

Device::Device() {
  if (const std::string why = no_gpu(); !why.empty()) throw environment_error("cuda: " + why);
  int count = 0, runtime = 0, driver = 0;
  check(cudaGetDeviceCount(&count), "counting the GPUs");
  check(cudaRuntimeGetVersion(&runtime), "asking for the version");
  check(cudaDriverGetVersion(&driver), "asking for the driver's version");
  ordinal_ = chosen_rank % count;
  if (const std::string why = why_too_old(ordinal_); !why.empty()) throw environment_error("cuda: " + why);
  // A thread that waits for the GPU sleeps if there are fewer than two cores for each process. Otherwise it spins.
  waits_asleep_ = 2 * ranks_here > usable_cores();
  check(cudaSetDevice(ordinal_), "opening the GPU");
  if (waits_asleep_) check(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync), "opening the GPU");
  if (waits_asleep_) remark("waits", "asleep");
  check(find_kernels(), "opening the GPU");
  cudaDeviceProp gpu{};
  check(cudaGetDeviceProperties(&gpu, ordinal_), "asking for the GPU's properties");
  name_ = gpu.name;
  address_ = fmt::format("{:04x}:{:02x}:{:02x}.0", gpu.pciDomainID, gpu.pciBusID, gpu.pciDeviceID);
  multiprocessors_ = gpu.multiProcessorCount;
  memory_ = gpu.totalGlobalMem;
  const std::string release = driver_release();
  versions_ = fmt::format("CUDA {}, driver {}, sm_{}{}", version_text(runtime),
                          release.empty() ? "of CUDA " + version_text(driver) : release, gpu.major, gpu.minor);
  check(cudaStreamCreateWithFlags(&vectors_, cudaStreamNonBlocking), "making a stream");
  opened.store(ordinal_, std::memory_order_release);
}

bool Device::has_mps() {
  const char* const said = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  const std::string folder = said != nullptr ? said : "/tmp/nvidia-mps";
  std::string daemon;
  const bool died = std::ifstream(folder + "/nvidia-cuda-mps-control.pid") >> daemon &&
                    access(("/proc/" + daemon).c_str(), F_OK) != 0;  // its files stay
  return !died && access((folder + "/control").c_str(), F_OK) == 0;
}

std::size_t Device::free_memory() const {
  make_current();
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for the free memory");
  return free;
}

void Device::after_vectors(Stream stream) const {
  make_current();
  static std::mutex mutex;
  static auto* const event = new EventOwner;  // as long-lived as the device
  const std::lock_guard lock(mutex);
  event->record(vectors_);
  event->hold(stream);
}

void wait_for(Stream stream) {
  make_current();
  check(cudaStreamSynchronize(stream), "computing");
}

// --- Objects made on it ----------------------------------------------------------------------------------------------

void Destroy::operator()(CUstream_st* stream) const {
  make_current();
  const std::shared_lock hold(recording());
  cudaStreamDestroy(stream);
}

void Destroy::operator()(CUevent_st* event) const {
  make_current();
  cudaEventDestroy(event);
}

void Destroy::operator()(CUgraphExec_st* graph) const {
  make_current();
  cudaGraphExecDestroy(graph);
}

StreamOwner::StreamOwner() {
  Device::mine();
  Stream made = nullptr;
  check(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "making a stream");
  stream_.reset(made);
}

EventOwner::EventOwner() {
  const unsigned sleeps = Device::mine().waits_asleep() ? cudaEventBlockingSync : 0;
  Event made = nullptr;
  check(cudaEventCreateWithFlags(&made, cudaEventDisableTiming | sleeps), "making an event");
  event_.reset(made);
}

void EventOwner::record(Stream stream, bool in_graph) {
  make_current();
  const unsigned how = in_graph ? cudaEventRecordExternal : cudaEventRecordDefault;
  check(cudaEventRecordWithFlags(event_.get(), stream, how), "recording an event");
}

void EventOwner::wait() {
  make_current();
  check(cudaEventSynchronize(event_.get()), "computing");
}

void EventOwner::hold(Stream stream) {
  make_current();
  check(cudaStreamWaitEvent(stream, event_.get(), 0), "ordering two streams");
}

namespace {

/// Calls allocate(). If memory ran out, throws with what advice() returns.
template <class Allocate, class Advice>
void allocate_with(const Allocate& allocate, const char* what, const Advice& advice) {
  Device::mine();
  const cudaError_t error = [&] {
    const std::shared_lock hold(recording());
    return allocate();
  }();
  if (error != cudaErrorMemoryAllocation) return check(error, what);
  cudaGetLastError();
  throw environment_error("cuda: out of memory: " + advice());
}

}  // namespace

void* allocate_memory(std::size_t bytes) {
  void* memory = nullptr;
  allocate_with([&] { return cudaMalloc(&memory, bytes); }, "allocating memory",
                [&] { return amount(bytes) + " wanted, " + how_full(); });
  return memory;
}

void* allocate_pinned(std::size_t bytes) {
  void* memory = nullptr;
  allocate_with([&] { return cudaHostAlloc(&memory, bytes, cudaHostAllocDefault); }, "allocating host memory",
                [&] {
                  return amount(bytes) +
                         " of the host's memory were wanted for copies: use fewer ranks here, or raise the limit on "
                         "locked memory "
                         "(ulimit -l)";
                });
  return memory;
}

void release_memory(void* memory) noexcept {
  if (memory == nullptr) return;
  make_current();
  const std::shared_lock hold(recording());
  cudaFree(memory);
}

void release_pinned(void* memory) noexcept {
  make_current();
  const std::shared_lock hold(recording());
  cudaFreeHost(memory);
}

void copy(Stream stream, void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  make_current();
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "copying");
}

// --- Graphs ----------------------------------------------------------------------------------------------------------

// Thread-local capture: the work of other threads of the process meanwhile is neither recorded nor forbidden.
std::shared_mutex& recording() {
  static auto* const mutex = new std::shared_mutex;
  return *mutex;
}

Graph::Graph(Stream stream) : stream_(stream), alone_(recording()) {
  Device::mine();
  check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "recording a graph");
}

void Graph::finish() {
  HB_ASSERT(recording_);
  recording_ = false;
  cudaGraph_t recorded = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream_, &recorded);
  alone_.unlock();
  check(ended, "recording a graph");
  cudaGraphGetNodes(recorded, nullptr, &nodes_);
  cudaGraphExec_t graph = nullptr;
  const cudaError_t error = cudaGraphInstantiateWithFlags(&graph, recorded, 0);
  cudaGraphDestroy(recorded);
  check(error, "making a graph");
  graph_.reset(graph);
}

Graph::~Graph() {
  if (!recording_) return;
  Device::mine();  // an error occurred: the stream must compute again
  cudaGraph_t recorded = nullptr;
  cudaStreamEndCapture(stream_, &recorded);
  if (recorded != nullptr) cudaGraphDestroy(recorded);
  cudaGetLastError();
}

void Graph::launch() {
  HB_ASSERT(graph_ != nullptr);
  Device::mine();
  check(cudaGraphLaunch(graph_.get(), stream_), "launching a graph");
}

// --- Remarks ---------------------------------------------------------------------------------------------------------

namespace {

struct Remarks {
  std::mutex mutex;
  std::map<std::string, std::pair<std::string, int>> by_topic;  // text, fallbacks
};

Remarks& all_remarks() {
  static auto* const remarks = new Remarks;  // as long-lived as the device
  return *remarks;
}

}  // namespace

void remark(const std::string& topic, const std::string& text, int fallbacks) {
  const std::lock_guard lock(all_remarks().mutex);
  all_remarks().by_topic[topic] = {text, fallbacks};
}

int fallbacks() {
  const std::lock_guard lock(all_remarks().mutex);
  int sum = 0;
  for (const auto& [topic, said] : all_remarks().by_topic) sum += said.second;
  return sum;
}

std::string remarks() {
  const std::lock_guard lock(all_remarks().mutex);
  std::string text;
  for (const auto& [topic, said] : all_remarks().by_topic)
    text += (text.empty() ? "" : "; ") + topic + ": " + said.first;
  return text;
}

}  // namespace hopbench::cuda
