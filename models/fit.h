// Whether a model and its data go together, found out before anything is compiled or read at length.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "models/workload.h"

namespace hopbench {

/// What a model is given of a data set.
struct Inputs {
  Shape shape;  // of a sample
  int classes = 0;
  bool operator==(const Inputs&) const = default;
};

/// Those of the data set at the request's path: without reading files where its name says them, else from the files.
/// Nothing where these are missing or wrong, which is for the run to say.
std::optional<Inputs> inputs_of(const std::string& dataset, const DatasetRequest& request);

/// The model for such inputs, to be asked for its sizes only: it computes nothing, and costs next to nothing to make.
/// Of the spec it takes model, size and statistics. Error(kUsage) if the inputs do not fit the model; not for
/// timing_only.
std::unique_ptr<Learner> sketch(const WorkloadSpec& spec, const Inputs& inputs);

/// Why the model cannot be trained on the data set (spec.dataset), with the shape that it is given and one that it is
/// made for; "": it can.
std::string why_unfit(const WorkloadSpec& spec, const Inputs& inputs);

}  // namespace hopbench
