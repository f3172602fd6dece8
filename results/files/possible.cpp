#include "results/files/possible.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

#include "backends/base/error.h"
#include "backends/base/files/csv.h"
#include "backends/base/printable.h"
#include "results/files/csv.h"
#include "results/files/fields.h"
#include "results/files/record_json.h"

namespace hopbench {
namespace {

/// The least possible value of a field of a trial or of its labels, and of the column of that name.
struct Least {
  std::string_view name;
  double value;
};
constexpr Least kLeast[] = {
    {"world", 0},
    {"hosts", 0},
    {"batch", 0},
    {"place", 0},
    {"order", 0},
    {"target_hold", 0},
    {"cost_s", 0},
    {"time_s", 0},
    {"samples_per_s", 0},
    {"iters_per_s", 0},
    {"median_iteration_s", 0},
    {"window_start_s", 0},
    {"window_ideal_samples_per_s", -1},
    {"samples_heard_per_s", -1},
    {"ranks_lost", 0},
    {"wall_s", 0},
    {"cpu_s", 0},
    {"time_to_target_s", 0},
    {"samples_to_target", 0},
    {"iters_to_target", 0},
    {"gradients", 0},
    {"bytes_sent", 0},
    {"messages", 0},
};

void least(std::string_view name, double value, double smallest) {
  if (value < smallest)
    throw usage_error(fmt::format("'{}' is {}, and no trial has less than {}", name, value, smallest));
}

void check_least(std::string_view name, double value) {
  const auto known = std::find_if(std::begin(kLeast), std::end(kLeast), [&](const Least& l) { return l.name == name; });
  if (known != std::end(kLeast)) least(name, value, known->value);
}

template <class Record>
void check_numbers(const Record& record) {
  for (const Field<Record>& field : fields<Record>()) {
    if (field.get != nullptr && field.number) check_least(field.name, real_of(field.get(record)));
  }
}

void one_of(const char* name, const std::string& value, std::initializer_list<const char*> known) {
  if (value.empty() || std::find(known.begin(), known.end(), value) != known.end()) return;
  throw usage_error(
      fmt::format("'{}' is '{}', which no trial has: there are {}", name, quotable(value), fmt::join(known, " and ")));
}

void check_kinds(const std::string& what, const std::string& clock) {
  one_of("what", what, {"rate", "convergence"});
  one_of("clock", clock, {"virtual", "real"});
}

void check_clock(const std::string& clock, const std::string& transport) {
  if (clock.empty()) throw usage_error("'clock' is empty: a trial runs in virtual or in real time");
  if (transport.empty() || (clock == "virtual") == (transport == "sim")) return;
  throw usage_error(fmt::format("'clock' is '{}' and 'transport' is '{}': virtual time and transport sim go together",
                                clock, quotable(transport)));
}

/// Throws if a name has control characters: names stand in tables and on terminals. Suites refuse such names too.
void without_control(std::string_view name, const std::string& value) {
  if (is_printable(value)) return;
  throw usage_error(fmt::format("'{}' is '{}', and no name has control characters", quotable(name), quotable(value)));
}

void check_names(const TrialLabels& labels) {
  for (const auto& [name, value] : {std::pair{"suite", &labels.suite},
                                    {"measure", &labels.measure},
                                    {"scenario", &labels.scenario},
                                    {"protocol", &labels.protocol},
                                    {"variant", &labels.variant},
                                    {"knobs", &labels.knobs},
                                    {"backend", &labels.backend},
                                    {"transport", &labels.transport},
                                    {"model", &labels.model},
                                    {"dataset", &labels.dataset},
                                    {"split", &labels.split},
                                    {"topology", &labels.topology},
                                    {"network", &labels.network},
                                    {"optimizer", &labels.optimizer},
                                    {"status_mark", &labels.status_mark},
                                    {"source", &labels.source},
                                    {"reading", &labels.reading},
                                    {"unharmed", &labels.unharmed}}) {
    without_control(name, *value);
  }
}

void check_rank(const RankRecord& rank) {
  least("rank", rank.rank, 0);
  least("worker", rank.worker, -1);
  least("iters", double(rank.iters), 0);
  least("gradients", double(rank.gradients), 0);
  least("samples", double(rank.samples), 0);
  least("messages_sent", double(rank.messages_sent), 0);
  least("bytes_sent", double(rank.bytes_sent), 0);
}

/// Throws if a trial of virtual time ended well above its ideal: it would have failed then (suites/trial/bounds.h).
void check_below_ideal(const TrialRow& row) {
  const TrialRecord& record = row.record;
  const double ideal = record.window_ideal_samples_per_s;
  const bool bounded = row.labels.clock == "virtual" && record.status == TrialStatus::kOk && ideal >= 0;
  if (!bounded || !std::isfinite(record.samples_per_s) || record.samples_per_s <= ideal * (1 + kIdealRounding)) return;
  throw usage_error(fmt::format("'samples_per_s' is {}, above 'window_ideal_samples_per_s', which is {}",
                                record.samples_per_s, ideal));
}

bool is_safe(const std::string& part) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  return !part.empty() && part != "." && part != ".." && std::none_of(part.begin(), part.end(), control);
}

void check_id(const std::string& id) {
  std::istringstream parts(id + "/");
  for (std::string part; std::getline(parts, part, '/');) {
    if (!is_safe(part)) throw usage_error("its id is not an id of hopbench");
  }
}

/// Returns "its 'time_s' is inf"; "" if time and rate are finite.
std::string not_finite(const TrialRecord& record) {
  for (const auto& [name, value] : {std::pair{"time_s", record.time_s}, {"samples_per_s", record.samples_per_s}}) {
    if (!std::isfinite(value)) return fmt::format("its '{}' is {}", name, value);
  }
  return "";
}

}  // namespace

void check_possible(const TrialRow& row) {
  check_kinds(row.labels.what, row.labels.clock);
  check_numbers(row.labels);
  check_names(row.labels);
  check_clock(row.labels.clock, row.labels.transport);
  const TrialRecord& record = row.record;
  without_control("id", record.id);
  without_control("hash", record.hash);
  without_control("params_hash", record.params_hash);
  check_numbers(record);
  for (const RankRecord& rank : record.ranks) check_rank(rank);
  check_below_ideal(row);
}

void check_possible(const std::map<std::string, std::string>& cells) {
  const auto text = [&](const char* column) {
    const auto cell = cells.find(column);
    return cell == cells.end() ? std::string() : cell->second;
  };
  static const std::set<std::string> kNumbers = trial_columns(true);
  for (const auto& [column, cell] : cells) {
    const bool free_text = column == "reason" || column == "warnings" || column == "main_wait";
    if (!free_text) without_control(column, cell);
    if (cell.empty() || !kNumbers.contains(column)) continue;
    const std::optional<double> number = number_in<double>(cell);
    if (!number) throw usage_error(fmt::format("'{}' is '{}', expected a number", column, quotable(cell)));
    check_least(column, *number);
  }
  check_kinds(text("what"), text("clock"));
  check_clock(text("clock"), text("transport"));
  status_of(text("status"));
}

void check_finite(std::span<const TrialRow> rows, const std::string& file, const std::string& folder) {
  for (const TrialRow& row : rows) {
    const std::string why = row.record.status == TrialStatus::kOk ? not_finite(row.record) : "";
    if (why.empty()) continue;
    const std::string advice =
        folder.empty() ? ": take it from the run again"
                       : fmt::format(": take its line out and run it again (hopbench run --resume {})", folder);
    throw usage_error(fmt::format("{}: trial {} cannot be compared: {}{}", file, row.record.id, why, advice));
  }
}

void check_finite(const RunFolder& run) { check_finite(run.rows(), run.path() + "/trials.jsonl", run.path()); }

void check_comparable(const TrialRow& row) {
  check_id(row.record.id);
  if (const std::string why = not_finite(row.record); !why.empty()) throw usage_error(why);
}

}  // namespace hopbench
