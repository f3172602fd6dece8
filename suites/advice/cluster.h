// A cluster file: a suite that describes a job and its machines, and that says nothing about what is measured. Its
// protocols are those that the job uses now. `hopbench record` writes such a file. `hopbench advise` adds candidates to
// it, `hopbench whatif` changes it.
#pragma once

#include <string>
#include <vector>

#include "suites/language/suite.h"

namespace hopbench {

struct ClusterOptions {
  SuiteOptions suite;      // what the command line changes
  std::string scenario;    // name; empty: the only one
  std::string present;     // label of the protocol that the job uses now; empty: the file's first one, else allreduce
  std::string candidates;  // TOML with [[protocol]]s that are compared with it; may be empty
  std::string candidates_name = "candidates";  // of their file, for messages
  bool compares = true;                        // false: the candidates only say what `present` may be
};

/// A candidate that is not possible on the cluster.
struct LeftOut {
  std::string label, why;
};

struct ClusterFile {
  Suite suite;  // its trials are in virtual time, in one scenario, by repeat and variant, each for its rate alone
  std::string present;
  std::vector<LeftOut> left_out;
  bool knows_network = false;  // the file says what links carry

  /// Returns the trials of a variant, by repeat.
  std::vector<TrialSpec> trials_of(const std::string& label) const;
};

/// A rate is over as many times the iterations by which a worker may be ahead of another, so that a lead changes it by
/// a tenth at most.
inline constexpr std::int64_t kIterationsPerLead = 10;

/// The repeats of a trial if the file does not set them.
inline constexpr int kClusterRepeats = 20;

/// Returns the text of the candidates that come with the program.
std::string shipped_candidates();

/// Reads a cluster file with its protocols, the present one, and all candidates that are possible on it. Throws
/// SuiteError for mistakes in it, and for [[measure]] and [matrix], since the caller says what is measured.
/// Error(kUsage) if the present protocol is neither in the file nor a candidate, if a candidate is wrong on any
/// cluster, or if there are several scenarios and none is chosen.
ClusterFile read_cluster(const std::string& path, const ClusterOptions& options);

/// The size and the costs of a cluster's job.
struct JobFacts {
  double model_bytes = 0;     // that a message with the whole model has
  double gradient_s = 0;      // mean seconds of a gradient
  double message_s = 0;       // seconds of a message with the whole model over the narrowest link
  double recorded_steps = 0;  // of the trace that the scenario replays; 0: it replays none, or all repeats are the same
  double measured_steps = 0;  // iterations in which a rate is measured
  /// Returns how many times as long as a gradient a message takes.
  double ratio() const { return gradient_s > 0 ? message_s / gradient_s : 0; }
  /// Returns by how much the variance between repeats is to be multiplied so that it has the chance of the recording in
  /// it, besides the chance of a run: 1 + measured / recorded steps.
  double sampling() const { return recorded_steps > 0 ? 1 + measured_steps / recorded_steps : 1; }
};
JobFacts facts_of(const TrialSpec& spec);

}  // namespace hopbench
