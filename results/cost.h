// What a result cost, and who paid: hosts' time to the target, bytes over each link between hosts, and each worker's
// part in what was learnt.
#pragma once

#include <span>
#include <vector>

#include "results/run_folder.h"
#include "results/table.h"

namespace hopbench {

/// A grid a measure and scenario, a row a variant, medians over its repeats: host-seconds (hosts, servers' included,
/// times the time to the target; of a rate: a million samples), bytes sent a sample, and of these the bytes from host
/// to host, both ways, for the links that carry most.
std::vector<Grid> cost_grids(std::span<const TrialRow> rows);

/// Whether who pays has a row for each variant (the least, the median and the most of its workers) or for each worker.
enum class PayersShown { kSpread, kEachWorker };

/// A grid for each measure and scenario, medians over the repeats: the workers' shares of the samples that counted,
/// gradients lost, mean age of what they averaged, and, where data are skewed, the final mean model's loss on their own
/// samples (fairness: a protocol that drops the straggler's data must be seen to do so). Variants whose workers count
/// alike are left out where data are not skewed.
std::vector<Grid> who_pays_grids(std::span<const TrialRow> rows, PayersShown shown);
/// The same for trials with skewed data, a row for each variant: what a run's tables end with.
std::vector<Grid> skewed_who_pays(std::span<const TrialRow> rows);

}  // namespace hopbench
