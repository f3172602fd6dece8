// Parts of the summary's tables.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "results/arithmetic/groups.h"
#include "results/arithmetic/pairs.h"
#include "results/tables/table.h"

namespace hopbench {

/// Return the tables without the notes that all tables have. Their first rows are the group's variants.
Table rate_table(const Group& group);
Table convergence_table(const Group& group);

/// If the scenario has faults, adds columns with the number of lost ranks, and their cost against the same trials of
/// the run without faults.
void add_fault_columns(Table& table, const Group& group, std::span<const TrialRow> rows);

/// Return the pairs whose ratios give a variant's speed-up over the group's reference: of rates (of that member), or of
/// times to the target (the reference's over its own). Empty if no speed-up may be shown.
PairedSamples rate_pairs(const Group& group, const Variant& variant,
                         double TrialRecord::*rate = &TrialRecord::samples_per_s);
PairedSamples target_pairs(const Group& group, const Variant& variant);

/// Returns "1.43x [1.38, 1.49]", "1 (reference)", "-" without pairs.
Cell speed_up_cell(const Group& group, const Variant& variant, const PairedSamples& pairs);
/// Returns "3", or "2 of 3" if trials failed.
Cell count_cell(const Variant& variant);
/// Returns the status, the words of warnings' kinds, and other facts that a reader needs before comparing. Leaves out
/// marks about the steadiness of rates for trials of convergence.
std::vector<std::string> marks_of(const TrialRow& row);
/// Returns the meaning of a mark; "" for marks that explain themselves.
std::string meaning_of(const std::string& mark);
/// Adds the last column if any variant has marks: "failed (1 of 3), overpaced".
void add_marks_column(Table& table, const Group& group);

}  // namespace hopbench
