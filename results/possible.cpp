#include "results/possible.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "backends/base/error.h"
#include "backends/base/printable.h"

namespace hopbench {
namespace {

void least(const char* name, double value, double smallest) {
  if (value < smallest)
    throw usage_error(fmt::format("'{}' is {}, and no trial has less than {}", name, value, smallest));
}

void one_of(const char* name, const std::string& value, std::initializer_list<const char*> known) {
  if (value.empty() || std::find(known.begin(), known.end(), value) != known.end()) return;
  throw usage_error(fmt::format("'{}' is '{}', which no trial has", name, quotable(value)));
}

/// Names stand in tables and on terminals. A suite with such a name is refused too.
void without_control(const char* name, const std::string& value) {
  if (is_printable(value)) return;
  throw usage_error(fmt::format("'{}' is '{}', and no name has control characters", name, quotable(value)));
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

void check_labels(const TrialLabels& labels) {
  one_of("what", labels.what, {"rate", "convergence"});
  one_of("clock", labels.clock, {"virtual", "real"});
  least("world", labels.world, 0);
  least("hosts", labels.hosts, 0);
  least("batch", labels.batch, 0);
  least("place", labels.place, 0);
  least("order", labels.order, 0);
  least("target_hold", labels.target_hold, 0);
  least("cost_s", labels.cost_s, 0);
}

void check_rank(const RankRecord& rank) {
  least("rank", rank.rank, 0);
  least("iters", double(rank.iters), 0);
  least("gradients", double(rank.gradients), 0);
  least("samples", double(rank.samples), 0);
  least("messages_sent", double(rank.messages_sent), 0);
  least("bytes_sent", double(rank.bytes_sent), 0);
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

/// "its 'time_s' is inf"; "" if time and rate are finite.
std::string not_finite(const TrialRecord& record) {
  for (const auto& [name, value] : {std::pair{"time_s", record.time_s}, {"samples_per_s", record.samples_per_s}}) {
    if (!std::isfinite(value)) return fmt::format("its '{}' is {}", name, value);
  }
  return "";
}

}  // namespace

void check_possible(const TrialRow& row) {
  check_labels(row.labels);
  check_names(row.labels);
  const TrialRecord& record = row.record;
  without_control("id", record.id);
  without_control("hash", record.hash);
  without_control("params_hash", record.params_hash);
  for (const auto& [name, value] : {std::pair{"time_s", record.time_s},
                                    {"samples_per_s", record.samples_per_s},
                                    {"iters_per_s", record.iters_per_s},
                                    {"median_iteration_s", record.median_iteration_s},
                                    {"window_start_s", record.window_start_s},
                                    {"ranks_lost", double(record.ranks_lost)},
                                    {"wall_s", record.wall_s},
                                    {"cpu_s", record.cpu_s}}) {
    least(name, value, 0);
  }
  least("window_ideal_samples_per_s", record.window_ideal_samples_per_s, -1);
  for (const RankRecord& rank : record.ranks) check_rank(rank);
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
