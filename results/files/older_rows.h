// Kinds of failures and warnings in rows from before schema 1.2, which have texts only. Nothing else in the program
// looks into such a text (tidy_test).
#pragma once

#include <string>

#include "backends/base/record/trial_record.h"

namespace hopbench {

/// Sets kind and rank of the record's failure from its status and the failure's text.
void recall_failure(TrialRecord& record);
/// Splits the words of a warning, as rows of every schema have them, into its kind and its text.
void recall_kind(Warning& warning);
/// Returns the words of a warning of this kind without the kind: "the pace is above ...".
std::string text_without_kind(WarningKind kind, const std::string& words);

}  // namespace hopbench
