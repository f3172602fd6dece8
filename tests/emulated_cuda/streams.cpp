// Streams, events and graphs. One lock for all: work is done by whoever waits for it, on the waiter's thread.
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "tests/emulated_cuda/runtime_api.h"

struct CUevent_st {
  cudaStream_t stream = nullptr;
  std::size_t at = 0;  // how much had been given to that stream
};
/// A piece of a graph: work, or an event that is recorded there.
struct Piece {
  std::function<void()> work;
  cudaEvent_t event = nullptr;
};
struct CUstream_st {
  std::deque<std::function<void()>> waiting;
  std::size_t given = 0, done = 0;
  bool capturing = false;
  bool broken = false;  // something was done while it was captured that cannot be
  std::vector<Piece> captured;
};
struct CUgraph_st {
  std::vector<Piece> pieces;
};
struct CUgraphExec_st {
  std::vector<Piece> pieces;
};

namespace {

using emulated_cuda::give;

thread_local std::vector<cudaStream_t> captures;  // begun by this thread

std::recursive_mutex& lock_of_all() {
  static auto* const mutex = new std::recursive_mutex;
  return *mutex;
}
/// Never gone: events may still point to one that was destroyed.
std::vector<std::unique_ptr<CUstream_st>>& all_streams() {
  static auto* const streams = new std::vector<std::unique_ptr<CUstream_st>>;
  return *streams;
}

void run(cudaStream_t stream, std::size_t until) {
  const std::lock_guard lock(lock_of_all());
  while (stream->done < until && !stream->waiting.empty()) {
    const std::function<void()> work = std::move(stream->waiting.front());
    stream->waiting.pop_front();
    work();
    ++stream->done;
  }
}

void hold(cudaStream_t stream, const CUevent_st& event) {
  if (event.stream == nullptr || event.stream == stream) return;
  emulated_cuda::enqueue(stream, [event] { run(event.stream, event.at); });
}

}  // namespace

bool emulated_cuda::forbidden() {
  for (cudaStream_t stream : captures) stream->broken = true;
  return !captures.empty();
}

void emulated_cuda::enqueue(cudaStream_t stream, std::function<void()> work) {
  const std::lock_guard lock(lock_of_all());
  if (stream == nullptr) {
    finish_all();
    work();
  } else if (stream->capturing) {
    stream->captured.push_back({std::move(work)});
  } else {
    stream->waiting.push_back(std::move(work));
    ++stream->given;
  }
}

void emulated_cuda::finish_all() {
  const std::lock_guard lock(lock_of_all());
  for (const std::unique_ptr<CUstream_st>& stream : all_streams()) run(stream.get(), stream->given);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  const std::lock_guard lock(lock_of_all());
  all_streams().push_back(std::make_unique<CUstream_st>());
  *stream = all_streams().back().get();
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  std::erase(captures, stream);
  run(stream, stream->given);
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (emulated_cuda::forbidden()) return give(cudaErrorStreamCaptureUnsupported);
  if (emulated_cuda::has_trouble("fault")) return give(cudaErrorIllegalAddress);
  if (stream == nullptr) return emulated_cuda::finish_all(), cudaSuccess;
  if (!stream->capturing) return run(stream, stream->given), cudaSuccess;
  stream->broken = true;
  return give(cudaErrorStreamCaptureUnsupported);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (stream == nullptr || !stream->capturing) return hold(stream, *event), cudaSuccess;
  stream->broken = true;
  return give(cudaErrorStreamCaptureIsolation);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return *event = new CUevent_st, cudaSuccess; }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  const std::lock_guard lock(lock_of_all());
  if (stream == nullptr || !stream->capturing) {
    *event = {stream, stream != nullptr ? stream->given : 0};
  } else if (flags == cudaEventRecordExternal) {
    stream->captured.push_back({{}, event});
  }
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (emulated_cuda::forbidden()) return give(cudaErrorStreamCaptureUnsupported);
  if (event->stream != nullptr) run(event->stream, event->at);
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (stream == nullptr || stream->capturing) return give(cudaErrorStreamCaptureUnsupported);
  stream->capturing = true;
  stream->broken = false;
  captures.push_back(stream);
  return cudaSuccess;
}

static std::atomic<int> graphs = 0;

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = nullptr;
  if (std::erase(captures, stream) == 0) return give(cudaErrorInvalidValue);
  stream->capturing = false;
  std::vector<Piece> pieces = std::exchange(stream->captured, {});
  if (stream->broken || emulated_cuda::has_trouble("no-graphs")) return give(cudaErrorStreamCaptureInvalidated);
  *graph = new CUgraph_st{std::move(pieces)};
  ++graphs;
  return cudaSuccess;
}

int emulated_cuda::graphs_recorded() { return graphs; }

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  *exec = new CUgraphExec_st{graph->pieces};
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, CUgraphNode_st**, std::size_t* count) {
  *count = graph->pieces.size();
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  const std::lock_guard lock(lock_of_all());
  for (const Piece& piece : exec->pieces) {
    if (piece.event != nullptr) {
      cudaEventRecord(piece.event, stream);
    } else {
      emulated_cuda::enqueue(stream, piece.work);
    }
  }
  return cudaSuccess;
}
