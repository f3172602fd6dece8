// A recording of a job by `hopbench record`: the trace and the cluster file that a real trial and a calibration become.
#pragma once

#include <string>
#include <vector>

#include "suites/import/decompose.h"
#include "suites/trial/execute.h"

namespace hopbench {

/// A recording of a job on its machines.
struct Recording {
  TrialSpec spec;                // of the real trial
  TrialRecord record;            // with its marks
  Calibration costs;             // of vector operations and messages
  NetworkSpec network;           // between hosts (network_from)
  std::vector<int> machine_of;   // worker -> machine, numbered from 0 on
  int pairs = 0, contended = 0;  // of ranks whose links were measured, and of those while other programs took the cores
  double model_bytes = 0;
};

/// Returns the seconds of all gradients that the workers computed, for a batch of the trial's size each; the step is
/// the worker's iteration.
TraceRows steps_of(const Recording& recording);

/// Returns the cluster file. `trace`: name of the trace's file beside it. `title` becomes a comment.
std::string cluster_toml(const Recording& recording, const Decomposition& steps, const std::string& trace,
                         const std::string& title);

/// Returns what such a recording cannot tell, a sentence each.
std::vector<std::string> unknown_after(const Recording& recording, const Decomposition& steps);

}  // namespace hopbench
