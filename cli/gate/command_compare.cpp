// `hopbench compare`.
#include <fmt/format.h>

#include <algorithm>

#include "backends/base/printable.h"
#include "backends/base/process/tell.h"
#include "backends/base/text.h"
#include "cli/gate/gate.h"
#include "cli/outputs.h"
#include "results/judge/compare.h"

namespace hopbench {
namespace {

bool compared_at_all(const std::vector<Compared>& heads) {
  return std::any_of(heads.begin(), heads.end(), [](const Compared& head) {
    return std::any_of(head.rows.begin(), head.rows.end(),
                       [](const Comparison& row) { return row.n > 0 || row.verdict == Verdict::kFailed; });
  });
}

/// Returns why nothing could be compared: the first reason there is.
Error nothing_compared(const std::string& base, const std::vector<Compared>& heads) {
  for (const Compared& head : heads) {
    for (const Comparison& row : head.rows) {
      if (row.verdict != Verdict::kIncomparable) continue;
      return usage_error(
          fmt::format("{} and {} cannot be compared: {} ({} / {}): measure both in one place, or --any-context "
                      "to compare them all the same",
                      base, head.name, row.note, row.scenario, row.variant));
    }
  }
  return usage_error(base + " and what it is compared with have no trial in common that ended well");
}

/// Returns the rows that are slower by more than --fail-above or lack trials of base, and why; "" without the flag.
std::string too_slow(const std::vector<Compared>& heads, const CompareCommand& options) {
  std::string text;
  if (!options.fail_above) return text;
  for (const Compared& head : heads) {
    for (const Comparison& row : head.rows) {
      const std::vector<std::string> why = why_slower(row, *options.fail_above / 100);
      if (why.empty()) continue;
      text += printable_line(fmt::format("  {}: {} / {} / {} / {}: {}", head.name, row.suite, row.measure, row.scenario,
                                         row.variant, join(why, ", "))) +
              "\n";
    }
  }
  return text.empty() ? text : fmt::format("above --fail-above {}:\n{}", *options.fail_above, text);
}

Results load(const std::string& what, const CompareCommand& options) {
  Results results = load_results(what, options.baselines);
  if (results.cut_off) tell_cut_off(results.folder, results.outcomes.size());
  return results;
}

}  // namespace

int command_compare(const CompareCommand& options) {
  const OutputFile outputs[] = {{"--csv", options.csv}, {"--json", options.json}, {"--markdown", options.markdown}};
  check_output_files(outputs, inputs_of(options.results));
  const Results base = load(options.results.front(), options);
  const double threshold = options.threshold.value_or(options.fail_above.value_or(5)) / 100;
  const CompareOptions how{.threshold = threshold, .any_context = options.any_context};
  std::vector<Compared> heads;
  for (std::size_t i = 1; i < options.results.size(); ++i) {
    heads.push_back({options.results[i], compare(base, load(options.results[i], options), how)});
  }
  if (!compared_at_all(heads)) throw nothing_compared(base.name, heads);
  std::string text, markdown;
  const std::vector<Table> tables = comparison_tables(base.name, heads);
  for (const Table& table : tables) {
    text += to_text(table, options.colour) + "\n";
    markdown += to_markdown(table) + "\n";
  }
  const std::string slow = too_slow(heads, options), end = coverage_text(heads) + slow;
  text += end;
  markdown += "```\n" + end + "```\n";
  const auto taken = [](const std::optional<std::string>& where) { return where && *where == "-"; };
  if (!taken(options.csv) && !taken(options.markdown) && !taken(options.json)) {
    put("-", text);
  } else {
    tell(slow);
  }
  put(options.csv, comparison_csv(heads));
  put(options.json, tables_document(tables));
  put(options.markdown, markdown);
  return static_cast<int>(slow.empty() ? ExitCode::kOk : ExitCode::kRegression);
}

}  // namespace hopbench
