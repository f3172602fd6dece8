#include <cuda_runtime_api.h>

#include "backends/base/error.h"
#include "backends/cuda/device.h"

namespace hopbench::cuda {

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
  graph_ = graph;
}

Graph::~Graph() {
  Device::mine();
  if (recording_) {  // an error occurred: the stream must compute again
    cudaGraph_t recorded = nullptr;
    cudaStreamEndCapture(stream_, &recorded);
    if (recorded != nullptr) cudaGraphDestroy(recorded);
    cudaGetLastError();
  }
  if (graph_ != nullptr) cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph_));
}

void Graph::launch() {
  HB_ASSERT(graph_ != nullptr);
  Device::mine();
  check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph_), stream_), "launching a graph");
}

}  // namespace hopbench::cuda
