#include "results/possible.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "backends/base/error.h"

namespace hopbench {
namespace {

void least(const char* name, double value, double smallest) {
  if (value < smallest)
    throw usage_error(fmt::format("'{}' is {}, and no trial has less than {}", name, value, smallest));
}

void one_of(const char* name, const std::string& value, std::initializer_list<const char*> known) {
  if (value.empty() || std::find(known.begin(), known.end(), value) != known.end()) return;
  throw usage_error(fmt::format("'{}' is '{}', which no trial has", name, value));
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

}  // namespace

void check_possible(const TrialRow& row) {
  check_labels(row.labels);
  const TrialRecord& record = row.record;
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

void check_comparable(const TrialRow& row) {
  check_id(row.record.id);
  for (const auto& [name, value] :
       {std::pair{"time_s", row.record.time_s}, {"samples_per_s", row.record.samples_per_s}}) {
    if (!std::isfinite(value)) throw usage_error(fmt::format("its '{}' is {}", name, value));
  }
}

}  // namespace hopbench
