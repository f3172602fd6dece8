// The GPU that this process uses, and the objects made on it: memory, streams, events. CUDA's own headers stay in .cpp
// files.
//
// A process uses one device. The device is chosen before the first use (choose), by the rank's place on its machine,
// and opened by the first call of mine(). Until then nothing of CUDA is touched: a process may fork, and a run on the
// CPU loads neither the driver nor cuBLAS or cuDNN.
//
// There are two streams. Vectors (cuda_space) use vectors(), all in one order, so that a thread may use what it was
// handed without waiting. A network computes on a stream of its own, which begins after the work in vectors() and is
// empty again when the network's call returns. Copies to the host wait for the data that they copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>

struct CUstream_st;
struct CUevent_st;
struct CUgraphExec_st;

namespace hopbench::cuda {

using Stream = CUstream_st*;
using Event = CUevent_st*;

/// Throws Error(kEnvironment) "cuda: WHAT: the runtime's words" (with advice if memory ran out) unless `error`, a
/// cudaError_t, is success. After an error that the device does not recover from, reports that first one each time.
void check(int error, const char* what);
/// Does the same for the error of the last launch.
void check_launch(const char* kernel);

/// The advice where the GPU's memory does not suffice.
inline constexpr const char* kUseLess = "use a smaller model or batch, or fewer ranks on this GPU";

class Device {
 public:
  /// Chooses the GPU: local_rank modulo the number of GPUs. If `local_ranks` processes take more than half of the
  /// machine's cores, threads that wait for the GPU sleep. Must precede the first mine(); later calls change nothing.
  static void choose(int local_rank, int local_ranks = 1);
  /// Opens the device unless it is open, and makes it the calling thread's. Error(kEnvironment) with no_gpu()'s reason.
  static Device& mine();

  int ordinal() const { return ordinal_; }
  const std::string& name() const { return name_; }          // "NVIDIA H100 80GB HBM3"
  const std::string& address() const { return address_; }    // "0000:3b:00.0", on its machine's PCI bus
  const std::string& versions() const { return versions_; }  // "CUDA 13.0, driver 580.159.03, sm_90"
  int multiprocessors() const { return multiprocessors_; }
  /// Returns true if threads that wait for the GPU sleep instead of spinning.
  bool waits_asleep() const { return waits_asleep_; }
  /// Returns true if NVIDIA's MPS runs. Then processes that share the GPU compute at the same time, not in turns.
  static bool has_mps();
  std::size_t memory() const { return memory_; }
  std::size_t free_memory() const;

  Stream vectors() const { return vectors_; }
  /// Makes `stream` wait until everything now in vectors() is done.
  void after_vectors(Stream stream) const;

 private:
  Device();
  int ordinal_ = 0, multiprocessors_ = 0;
  std::size_t memory_ = 0;
  bool waits_asleep_ = false;
  std::string name_, address_, versions_;
  Stream vectors_ = nullptr;
};

void wait_for(Stream stream);  // blocks until it is empty

/// Destroys objects on the device, on any thread.
struct Destroy {
  void operator()(CUstream_st* stream) const;
  void operator()(CUevent_st* event) const;
  void operator()(CUgraphExec_st* graph) const;
};

class StreamOwner {
 public:
  StreamOwner();
  operator Stream() const { return stream_.get(); }

 private:
  std::unique_ptr<CUstream_st, Destroy> stream_;
};

class EventOwner {
 public:
  EventOwner();
  /// `in_graph`: the record becomes part of the graph that is being captured from this stream.
  void record(Stream stream, bool in_graph = false);
  void wait();               // blocks the host's thread until the last record has been passed
  void hold(Stream stream);  // the same for work launched onto `stream` from now on

 private:
  std::unique_ptr<CUevent_st, Destroy> event_;
};

/// Device memory, 256-byte aligned, contents undefined. release_memory waits until the device is done with it.
void* allocate_memory(std::size_t bytes);
void release_memory(void* memory) noexcept;
/// Host memory that the device copies to and from directly.
void* allocate_pinned(std::size_t bytes);
void release_pinned(void* memory) noexcept;

/// The owner of memory of one kind.
template <void* (*allocate)(std::size_t), void (*release)(void*) noexcept>
class Memory {
 public:
  Memory() = default;
  explicit Memory(std::size_t bytes) : data_(bytes == 0 ? nullptr : allocate(bytes)), bytes_(bytes) {}

  std::size_t bytes() const { return data_ == nullptr ? 0 : bytes_; }
  void* data() const { return data_.get(); }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_.get());
  }

 private:
  struct Release {
    void operator()(void* memory) const { release(memory); }
  };
  std::unique_ptr<void, Release> data_;
  std::size_t bytes_ = 0;
};
using Buffer = Memory<allocate_memory, release_memory>;
using Pinned = Memory<allocate_pinned, release_pinned>;

/// Copies from any side to any other. Returns at once unless one side is pageable host memory.
void copy(Stream stream, void* to, const void* from, std::size_t bytes);

/// Returns a mutex that is held alone while a graph is recorded. Code that makes or destroys memory, streams or library
/// handles shares it, since it may wait for the whole device, which breaks every recording of the process.
std::shared_mutex& recording();

/// Work launched onto a stream between the constructor and finish(), to be launched again as one.
class Graph {
 public:
  explicit Graph(Stream stream);  // from here on `stream` records instead of computing
  void finish();                  // to here
  std::size_t nodes() const { return nodes_; }
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void launch();

 private:
  Stream stream_;
  std::unique_ptr<CUgraphExec_st, Destroy> graph_;
  std::size_t nodes_ = 0;
  std::unique_lock<std::shared_mutex> alone_;
  bool recording_ = true;
};

/// Remarks on how this process used the GPU. They go into the trial's record, for readers of its measurements.
/// Keeps the last text of each topic, and the number of fallbacks that the text reports. Any thread may call it.
void remark(const std::string& topic, const std::string& text, int fallbacks = 0);
int fallbacks();  // of all topics
/// Returns "TOPIC: TEXT; TOPIC: TEXT", with topics in alphabetical order.
std::string remarks();

/// Returns a cudaError_t: success if this program holds kernels for the device. Defined in kernels_vector.cu.
int find_kernels();

}  // namespace hopbench::cuda
