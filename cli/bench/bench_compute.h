// The measurements of `hopbench bench compute`, as plain data: how fast this machine can be, and how near gradients and
// vector operations come to that. The machine may be shared. Things to compare are therefore measured in turns, and a
// share is the ratio of two measurements next to each other.
#pragma once

#include <string>
#include <vector>

#include "models/workload.h"

namespace hopbench {

/// Times of something that was repeated, each with the FMA peak measured just before and just after it. (On a device
/// the peak is measured before and after all of them: a large product between any two would empty its caches.)
///
/// With one thread a time is the CPU time of the thread. Time that others take on its core is not in it (their effect
/// on caches and clock is). With several it is wall time. A repeat in which they waited for a core more than 2 % of it
/// is measured again, up to three times the number of repeats in all, and counted in `disturbed` if that did not help.
struct Timings {
  std::vector<double> seconds;
  std::vector<double> peaks;  // flop/s
  int disturbed = 0;

  double median_s() const;
  /// Returns the median of flops / time / peak.
  double share(double flops) const;
};

struct LayerBench {
  std::string name, direction;  // forward, weights, data; "" for what is between the layers
  double flops = 0;             // of a step
  Timings timings;
};

struct ModelBench {
  std::string model, skipped;  // why it was not measured; empty: it was
  std::size_t parameters = 0;  // trained ones; running statistics do not count
  int batch = 0, threads = 0;
  double flops = 0;                   // of a step; a multiply-add counts 2, also of padding
  double setup_s = 0, first_s = 0;    // making it, and its first step: wall time
  double peak_mib = 0, idle_mib = 0;  // memory of a process that does this alone; the same before it began
  Timings step;
  std::vector<LayerBench> layers;
  std::string device;  // how it used the device: see DeviceSpace::Use
};

struct BenchWork {
  int batch = 32, threads = 1, repeats = 15;
  int width = 16;  // floats of the FMA whose peak counts
  bool layers = false;
  std::string backend = "onednn", precision = "fp32";
  /// Returns true if this runs on a device. Its times are then wall times, from device memory to device memory, and the
  /// peak is that of its matrix products.
  bool device() const { return backend == "cuda"; }
};
/// Measures gradients of that model on drawn data of its data set's shape. Call it in a process of its own.
ModelBench bench_model(const std::string& model, const BenchWork& work);

/// A whole-vector operation of a protocol, compared with the bandwidth that the machine has for such a pass.
struct VectorBench {
  std::string operation, against;  // "read", "copy", "triad" or "sum of 4"
  double bytes = 0;                // read and written
  std::vector<double> rates, shares;
};
struct BandwidthBench {
  double mib = 0;  // of a vector
  std::vector<double> read, copy, triad, sum;
  std::vector<VectorBench> operations;
};
BandwidthBench bench_vectors(int repeats);
/// Measures the same on a device, with vectors as long as VGG-11. Each is compared with the device's copy.
BandwidthBench bench_device_vectors(const BenchWork& work);

}  // namespace hopbench
