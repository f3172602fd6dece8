#include "suites/campaign/calibrations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "backends/base/error.h"
#include "backends/base/json_value.h"
#include "backends/base/process/signals.h"
#include "backends/base/text.h"
#include "results/files/record_json.h"
#include "results/files/run_folder.h"

namespace hopbench {
namespace {

constexpr const char* kCalibrations = "calibration.json";

void apply(const Calibrated& calibrated, TrialSpec& spec) {
  spec.costs.gradient = calibrated.cost;
  spec.step_p99 = calibrated.step_p99;
  if (spec.costs.vector_bytes_per_s == 0) spec.costs.vector_bytes_per_s = calibrated.vector_bytes_per_s;
}

std::string text(Duration d) { return duration_text(d.count() / 1000 * 1000); }

}  // namespace

std::string calibration_key(const TrialSpec& spec) {
  const WorkloadSpec& w = spec.workload;
  return fmt::format("{} on {}{}, batch {}, {} x {} threads, {} workers", w.model, w.dataset,
                     w.augment == Augment::kNone ? "" : ", augmented", w.batch, w.backend, w.threads, w.workers);
}

Calibration calibrate_twice(const TrialSpec& spec, Fleet* fleet) {
  try {
    return calibrate(spec, &count_interrupts(), fleet);
  } catch (const Error& error) {
    if (error.code() == ExitCode::kInterrupted || error.code() == ExitCode::kUsage) throw;
    std::fprintf(stderr, "  %s: once more\n", error.what());
    return calibrate(spec, &count_interrupts(), fleet);
  }
}

bool needs_calibration(const TrialSpec& spec) {
  return spec.transport != "sim" && spec.pace && spec.costs.gradient.count() == 0;
}

void calibrate_trials(std::vector<TrialSpec>& trials, std::vector<Calibrated>& known, Fleet* fleet) {
  for (TrialSpec& spec : trials) {
    if (!needs_calibration(spec)) continue;
    const TrialSpec everybody = spec.of_everybody();  // all variants have one pace
    const std::string key = calibration_key(everybody);
    auto found = std::find_if(known.begin(), known.end(), [&](const Calibrated& c) { return c.key == key; });
    if (found == known.end()) {
      std::fprintf(stderr, "calibrating %s\n", key.c_str());
      const Calibration c = calibrate_twice(everybody, fleet);
      std::fprintf(stderr,
                   "  a step takes %s (median), %s (99 %%) with all ranks stepping: every trial is paced to %s\n",
                   text(c.step_median).c_str(), text(c.step_p99).c_str(), text(c.cost).c_str());
      found = known.insert(known.end(), {key, c.cost, c.step_p99, c.vector_bytes_per_s});
    }
    apply(*found, spec);
  }
}

std::vector<Calibrated> read_calibrations(const RunFolder& folder) {
  const auto damaged = [&](const std::string& why) {
    return usage_error(fmt::format("{}/{} is damaged: {}: remove it, and the run calibrates again", folder.path(),
                                   kCalibrations, why));
  };
  std::ifstream file(folder.path() + "/" + kCalibrations);
  if (!file) return {};
  std::vector<Calibrated> all;
  const nlohmann::json list = nlohmann::json::parse(file, nullptr, false);
  if (!list.is_array()) return {};
  try {
    for (const nlohmann::json& c : list) {
      all.push_back({field_of(c, "key"), Duration{integer_of<std::int64_t>(field_of(c, "cost_ns"))},
                     Duration{integer_of<std::int64_t>(field_of(c, "step_p99_ns"))},
                     field_of(c, "vector_bytes_per_s")});
    }
  } catch (const nlohmann::json::exception& error) {
    throw damaged(json_mistake(error));
  } catch (const Error& error) {
    throw damaged(error.what());
  }
  return all;
}

void write_calibrations(const RunFolder& folder, const std::vector<Calibrated>& calibrations) {
  if (calibrations.empty()) return;
  nlohmann::json list = nlohmann::json::array();
  for (const Calibrated& c : calibrations) {
    list.push_back({{"key", c.key},
                    {"cost_ns", c.cost.count()},
                    {"step_p99_ns", c.step_p99.count()},
                    {"vector_bytes_per_s", c.vector_bytes_per_s}});
  }
  folder.write_text(kCalibrations, list.dump(1) + "\n");
}

}  // namespace hopbench
