// A check that a model and its data fit together, made before anything is compiled or read at length.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "models/workload.h"

namespace hopbench {

/// The properties of a data set that a model is built for.
struct Inputs {
  Shape shape;  // of a sample
  int classes = 0;
  bool operator==(const Inputs&) const = default;
};

/// Returns the inputs of the data set at the request's path: by its name if that determines them, else from the files.
/// Returns nothing if the files are missing or wrong; the run reports that.
std::optional<Inputs> inputs_of(const std::string& dataset, const DatasetRequest& request);

/// Returns the model for such inputs, to be asked for its sizes only. It computes nothing and costs next to nothing to
/// make. Uses the spec's model, size and statistics. Throws Error(kUsage) if the inputs do not fit the model. Must not
/// be called for timing_only.
std::unique_ptr<Learner> sketch(const WorkloadSpec& spec, const Inputs& inputs);

/// Returns why the model cannot be trained on the data set (spec.dataset), with the shape that it is given and one that
/// it is made for; "" if it can be trained.
std::string why_unfit(const WorkloadSpec& spec, const Inputs& inputs);

}  // namespace hopbench
