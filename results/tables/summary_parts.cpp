#include "results/tables/summary_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "backends/base/record/kinds.h"
#include "backends/base/text.h"
#include "results/tables/terms.h"

namespace hopbench {
namespace {

/// Returns the marks of a variant's trials: "failed (1 of 3), overpaced".
std::string marks_text(const Variant& variant) {
  std::map<std::string, std::size_t> counts;
  for (const TrialRow* row : variant.trials) {
    for (const std::string& mark : marks_of(*row)) ++counts[mark];
  }
  const std::size_t of = variant.trials.size();
  std::vector<std::string> parts;
  for (const auto& [mark, count] : counts)
    parts.push_back(count == of ? mark : fmt::format("{} ({} of {})", mark, count, of));
  return join(parts, ", ");
}

}  // namespace

Cell speed_up_cell(const Group& group, const Variant& variant, const PairedSamples& pairs) {
  if (variant.name != group.reference || pairs.values.empty()) return {pairs.ratio(), kRatioNumber, "ratio"};
  return {"1 (reference)", Number{1, int(pairs.values.size())}, "ratio"};
}

Cell count_cell(const Variant& variant) {
  const std::size_t ok = variant.ok().size(), all = variant.trials.size();
  return {ok == all ? fmt::format("{}", all) : fmt::format("{} of {}", ok, all), Number{double(ok), int(all)}, "ok"};
}

std::vector<std::string> marks_of(const TrialRow& row) {
  std::vector<std::string> marks;
  if (!row.labels.status_mark.empty()) marks.push_back(row.labels.status_mark);
  if (row.labels.experimental) marks.emplace_back("experimental");
  if (row.record.status == TrialStatus::kFailed) marks.emplace_back("failed");
  if (row.record.status == TrialStatus::kInterrupted) marks.emplace_back("interrupted");
  for (const Warning& warning : row.record.warnings) {
    const bool of_rates = warning.kind == WarningKind::kNotSteady || warning.kind == WarningKind::kNoSteadyWindow ||
                          warning.kind == WarningKind::kShortWarmUp;
    if (!of_rates || row.labels.what != "convergence") marks.emplace_back(to_string(warning.kind));
  }
  return marks;
}

std::string meaning_of(const std::string& mark) {
  return mark == "experimental" ? term(mark).meaning : meaning_of(warning_kind(mark));
}

void add_marks_column(Table& table, const Group& group) {
  std::vector<std::string> marks;
  for (const Variant& variant : group.variants) marks.push_back(marks_text(variant));
  if (std::all_of(marks.begin(), marks.end(), [](const std::string& text) { return text.empty(); })) return;
  table.columns.push_back(listed("marks"));
  for (std::size_t v = 0; v < marks.size(); ++v) table.rows[v].emplace_back(marks[v]);
}

}  // namespace hopbench
