// A trial of a run: its record, and its names and settings.
#pragma once

#include <cstdint>
#include <string>

#include "backends/base/record/target_model.h"
#include "backends/base/record/trial_record.h"

namespace hopbench {

/// The names and settings of a trial, as text, which the tables need in addition to its record.
struct TrialLabels {
  std::string suite, measure, what;  // what: "rate" | "convergence"
  std::string scenario, protocol, variant, backend, transport, clock, model, dataset, topology, status_mark;
  std::string split, optimizer, network;  // a phrase each, for the notes: "iid", "sgd, lr 0.05", "100us, 1Gbit/s"
  std::string knobs;                      // "backup=1, staleness=4", "none"; empty: not recorded, in old runs
  int world = 0, batch = 0;               // world: workers and servers; batch: of one worker
  int hosts = 0;                          // number of host groups that the ranks are on; 0: not known
  int row_order = 0;                      // of the variant in its suite: the order of a table's rows
  double cost_s = 0;                      // time that a step is paced to; 0: unpaced
  bool learns = true;                     // false: the model is only timed and has neither losses nor learning rates
  bool tuned = false;                     // learning rates come from `hopbench tune`
  std::uint64_t seed = 0;
  std::uint32_t repeat = 0;
  int order = 0;
  double target_loss = 0;
  int target_hold = 3;
  TargetModel target_model = TargetModel::kAuto;
  bool experimental = false;
  std::string source, reading;
  bool faults = false;   // its scenario has faults
  std::string unharmed;  // the hash of this trial without faults and names; finds the trial to compare with
};

struct TrialRow {
  TrialLabels labels;
  TrialRecord record;
};

}  // namespace hopbench
