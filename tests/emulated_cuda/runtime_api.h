// The part of CUDA's runtime API that the backend calls, with the toolkit's names and values.
//
// Calls that a real GPU forbids while a stream is captured are errors here, too. Device memory is filled with a pattern
// (NaN in every format) when it is allocated; once freed, it is unmapped or filled with it again.
#pragma once

#include <cstddef>
#include <functional>

struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphExec_st;
using cudaStream_t = CUstream_st*;
using cudaEvent_t = CUevent_st*;
using cudaGraph_t = CUgraph_st*;
using cudaGraphExec_t = CUgraphExec_st*;

enum cudaError_t : int {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInsufficientDriver = 35,
  cudaErrorDevicesUnavailable = 46,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorNoKernelImageForDevice = 209,
  cudaErrorECCUncorrectable = 214,
  cudaErrorPeerAccessUnsupported = 217,
  cudaErrorNvlinkUncorrectable = 220,
  cudaErrorContained = 226,
  cudaErrorIllegalAddress = 700,
  cudaErrorLaunchTimeout = 702,
  cudaErrorAssert = 710,
  cudaErrorHardwareStackError = 714,
  cudaErrorIllegalInstruction = 715,
  cudaErrorMisalignedAddress = 716,
  cudaErrorInvalidAddressSpace = 717,
  cudaErrorInvalidPc = 718,
  cudaErrorLaunchFailure = 719,
  cudaErrorMpsConnectionFailed = 805,
  cudaErrorMpsRpcFailure = 806,
  cudaErrorMpsServerNotReady = 807,
  cudaErrorMpsMaxClientsReached = 808,
  cudaErrorMpsMaxConnectionsReached = 809,
  cudaErrorMpsClientTerminated = 810,
  cudaErrorStreamCaptureUnsupported = 900,
  cudaErrorStreamCaptureInvalidated = 901,
  cudaErrorStreamCaptureIsolation = 905,
};

enum cudaMemcpyKind { cudaMemcpyDefault = 4 };
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1 };
constexpr unsigned cudaEventBlockingSync = 1;
constexpr unsigned cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2, cudaHostAllocDefault = 0;
constexpr unsigned cudaEventRecordDefault = 0, cudaEventRecordExternal = 1;

struct cudaDeviceProp {
  char name[256];
  std::size_t totalGlobalMem;
  int major, minor, multiProcessorCount;
  int pciDomainID, pciBusID, pciDeviceID;
};
struct cudaFuncAttributes {
  int binaryVersion;
};

// A type of <library_types.h>.
enum cudaDataType { CUDA_R_32F = 0, CUDA_R_16BF = 14 };
enum libraryPropertyType { MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL };

cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaGetDeviceCount(int* count);
constexpr unsigned cudaDeviceScheduleBlockingSync = 4;
cudaError_t cudaSetDevice(int device);
cudaError_t cudaSetDeviceFlags(unsigned flags);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel);
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);
cudaError_t cudaMalloc(void** memory, std::size_t bytes);
cudaError_t cudaFree(void* memory);
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned flags);
cudaError_t cudaFreeHost(void* memory);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream);

// Between processes of this machine: large blocks are files without a name, which others map.
struct cudaIpcMemHandle_t {
  char reserved[64];
};
constexpr unsigned cudaIpcMemLazyEnablePeerAccess = 1;
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* memory);
cudaError_t cudaIpcOpenMemHandle(void** memory, cudaIpcMemHandle_t handle, unsigned flags);

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags);
cudaError_t cudaEventSynchronize(cudaEvent_t event);

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags);
struct CUgraphNode_st;
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, CUgraphNode_st** nodes, std::size_t* count);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);

namespace emulated_cuda {

/// Behind what the stream holds, or into the graph that is being captured from it. What a stream holds is done as late
/// as it may be: when somebody waits for it. So work that is not waited for is seen to be missing.
void enqueue(cudaStream_t stream, std::function<void()> work);
void finish_all();  // of all streams

cudaError_t give(cudaError_t error);  // to the caller, and to cudaGetLastError
/// A call that may wait, or be waited for, breaks what its thread captures.
bool forbidden();

/// Faults that this GPU is told to have: words in the environment's HB_EMULATED_GPU, separated by spaces.
///
///   no-graphs         every capture fails
///   no-first-dgrad    no deterministic algorithm for the gradient of an input of 3 channels
///   fma-first         each algorithm is proposed without tensor cores before it is with them
///   fault             whoever waits for a stream is told of an illegal memory access
///   no-export         memory cannot be exported to other processes
///   no-import         nor imported from them
///   no-peer           nor imported from another GPU
///   unread-peer       what is mapped of another process's memory cannot be read
///   old-second        its second GPU is too old
///   little-memory     4 MiB of its memory are free
///   corrupt-peer      what is mapped of another process's memory reads differently
bool has_trouble(const char* word);
/// So many times cuDNN was asked for its advice.
int advice_asked();
/// So many convolutions it was told to compute.
int convolutions_run();
/// Returns the number of graphs that were recorded.
int graphs_recorded();

}  // namespace emulated_cuda
