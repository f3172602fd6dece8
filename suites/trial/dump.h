// Writes the files of `run --dump`: the models, gradients and samples of a trial. There is one NumPy archive for
// each worker and evaluation.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/workload.h"
#include "suites/trial/evaluation.h"
#include "suites/trial/trial.h"

namespace hopbench {

struct Dump {
  std::vector<std::string> what = {};  // "params", "gradients", "samples"
  std::string folder = "";             // of the trial; empty: nothing is kept

  bool any() const { return !folder.empty(); }
  bool holds(const std::string& name) const;
};

/// Writes rank<R>_point<P>.npz for each worker in each point of a curve:
///   params              float32, the model that the worker had reported last
///   iteration           int64, the number of iterations that model had finished
///   gradient            float32, the newest gradient that it had computed; empty before the first
///   gradient_iteration  int64, of that gradient; -1 before the first
///   samples             uint32, the samples of that gradient: indices in the training set
///   time_s              float64, of the point on the trial's clock
/// `workload` returns the samples; it may be null if samples are not dumped. Error(kEnvironment) if a file cannot be
/// written.
void write_dump(const Dump& dump, std::span<const CurveRecorder::Point> points, Workload* workload);

/// Returns the number of bytes of a trial's dump. Returns 0 if its data set is missing, as the size is not known then.
std::int64_t dump_size(const Dump& dump, const TrialSpec& spec);

/// Returns why the trial cannot be dumped, or "" if it can.
std::string why_no_dump(const Dump& dump, const TrialSpec& spec);

}  // namespace hopbench
