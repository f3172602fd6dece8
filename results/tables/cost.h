// The cost of a result and its payers: the hosts' time to the target, the bytes over each link between hosts, and each
// worker's part in what was learnt.
#pragma once

#include <span>
#include <vector>

#include "backends/base/record/trial_row.h"
#include "results/tables/table.h"

namespace hopbench {

/// Returns a table for each measure and scenario, a row for each variant, medians over its repeats: host-seconds
/// (number of hosts, servers' included, times the time to the target, or for a rate to a million samples), bytes sent a
/// sample, and of these the bytes from host to host, both ways, for the links that carry most.
std::vector<Table> cost_tables(std::span<const TrialRow> rows);

/// Returns the number of gradients that a worker began and threw away before their end, which do not count as computed.
double gradients_cut(const RankRecord& rank);

/// The rows of "who pays": one for each variant (least, median and most of its workers), or one for each worker.
enum class PayersShown { kSpread, kEachWorker };

/// Returns a table for each measure and scenario, medians over the repeats: the workers' shares of the samples that
/// counted, gradients lost or cut, mean age of what they averaged, and, if data are skewed, the final mean model's loss
/// on their own samples (fairness: a protocol that drops the straggler's data must be seen to do so). If data are not
/// skewed, variants whose workers count alike are left out.
std::vector<Table> who_pays_tables(std::span<const TrialRow> rows, PayersShown shown);
/// Returns the same for trials with skewed data, a row for each variant. A run's tables end with it.
std::vector<Table> skewed_who_pays(std::span<const TrialRow> rows);

}  // namespace hopbench
