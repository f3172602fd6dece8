// The loss. A warp takes a row of logits at a time. A second kernel adds up the results of the blocks.
#include <climits>

#include "backends/cuda/kernels/kernel.cuh"

namespace hopbench::cuda {
namespace {

/// Returns the class of the largest logit of a row, the lowest of equal ones; 0 if the first logit is not a number.
/// Other logits that are not a number are never the largest. A loop with `>` from the first class on finds the same.
__device__ int largest_class(const Warp& warp, const float* row, int classes) {
  float best = -INFINITY;
  int at = INT_MAX;
  for (int c = static_cast<int>(warp.lane); c < classes; c += static_cast<int>(warp.lanes)) {
    float value = row[c];
    if (value != value) value = c == 0 ? INFINITY : -INFINITY;
    if (at != INT_MAX && !(value > best)) continue;
    best = value;
    at = c;
  }
  const float largest = warp_reduce(warp, best, [](float a, float b) { return b > a ? b : a; });
  return warp_reduce(warp, best == largest ? at : INT_MAX, [](int a, int b) { return b < a ? b : a; });
}

/// Computes one row of logits and adds the result to `found`, of which only the first lane's is to be kept.
__device__ void loss_of_row(const Warp& warp, const float* row, int label, float* dlogits, int batch, int classes,
                            Loss::Part& found) {
  const int first = static_cast<int>(warp.lane), step = static_cast<int>(warp.lanes);
  const bool known = label >= 0 && label < classes;
  const int best = largest_class(warp, row, classes);
  const double largest = static_cast<double>(row[best]);
  double sum = 0;
  for (int c = first; c < classes; c += step) sum += exp(static_cast<double>(row[c]) - largest);
  sum = warp_sum(warp, sum);
  if (known) {
    found.sum += log(sum) - (static_cast<double>(row[label]) - largest);
    found.correct += best == label ? 1 : 0;
  } else {
    found.foreign += 1;
  }
  if (dlogits == nullptr) return;
  for (int c = first; c < classes; c += step) {
    const double probability = exp(static_cast<double>(row[c]) - largest) / sum;
    dlogits[c] = static_cast<float>((probability - (c == label ? 1.0 : 0.0)) / batch);
  }
}

/// Returns the sums over all threads of a block.
__device__ Loss::Part block_sums(const Loss::Part& found) {
  return {block_sum(found.sum), block_sum(found.correct), block_sum(found.foreign)};
}

__global__ void __launch_bounds__(kThreads)
    loss_kernel(const float* logits, const std::int32_t* labels, float* dlogits, Loss* loss, int batch, int classes) {
  const Warp warp = my_warp();
  const int warps = static_cast<int>(warps_of_block() * gridDim.x);
  const auto wide = static_cast<std::size_t>(classes);
  Loss::Part found{};
  for (int n = static_cast<int>(blockIdx.x * warps_of_block() + threadIdx.x / static_cast<unsigned>(warpSize));
       n < batch; n += warps) {
    const std::size_t at = static_cast<std::size_t>(n) * wide;
    loss_of_row(warp, logits + at, labels[n], dlogits == nullptr ? nullptr : dlogits + at, batch, classes, found);
  }
  if (warp.lane != 0) found = {0, 0, 0};
  found = block_sums(found);
  if (threadIdx.x == 0) loss->parts[blockIdx.x] = found;
}

__global__ void __launch_bounds__(kThreads) add_losses(Loss* loss, unsigned parts) {
  Loss::Part found{};
  for (unsigned i = threadIdx.x; i < parts; i += blockDim.x) {
    found.sum += loss->parts[i].sum;
    found.correct += loss->parts[i].correct;
    found.foreign += loss->parts[i].foreign;
  }
  found = block_sums(found);
  if (threadIdx.x > 0 || blockIdx.x > 0) return;
  loss->sum = found.sum;
  loss->correct = found.correct;
  loss->foreign = found.foreign;
}

}  // namespace

void softmax_cross_entropy(Stream stream, const float* logits, const std::int32_t* labels, float* dlogits, Loss* loss,
                           int batch, int classes) {
  constexpr int kRows = kThreads / 32;  // rows that a block takes at a time
  const int blocks = std::clamp((batch + kRows - 1) / kRows, 1, int{Loss::kParts});
  HB_LAUNCH(loss_kernel, blocks, kThreads, stream, logits, labels, dlogits, loss, batch, classes);
  HB_LAUNCH(add_losses, 1, kThreads, stream, loss, static_cast<unsigned>(blocks));
}

}  // namespace hopbench::cuda
