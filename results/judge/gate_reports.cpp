// The findings of a gate for programs: JUnit XML, JSON, and google-benchmark's JSON.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "backends/base/text.h"
#include "results/files/record_json.h"
#include "results/judge/gate.h"
#include "results/judge/junit.h"

namespace hopbench {
namespace {

nlohmann::json number(double value) { return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr); }

bool without_verdict(const GateRow& row) {
  return row.verdict == Verdict::kIncomparable || row.verdict == Verdict::kInconclusive ||
         row.verdict == Verdict::kInsufficient;
}

nlohmann::json benchmark_row(const std::string& name, double seconds, int n) {
  return {{"name", name},     {"run_name", name},           {"run_type", "iteration"},   {"iterations", n},
          {"threads", 1},     {"real_time", seconds * 1e9}, {"cpu_time", seconds * 1e9}, {"time_unit", "ns"},
          {"repetitions", 1}, {"repetition_index", 0}};
}

/// Returns two benchmarks: base/ROW and head/ROW.
void add_benchmarks(const GateRow& row, nlohmann::json& benchmarks) {
  const std::string metric = row.rate ? "virtual seconds a sample" : row.metric;
  for (const auto& [side, value] : {std::pair("base/", row.base), std::pair("head/", row.head)}) {
    if (value > 0)
      benchmarks.push_back(benchmark_row(side + row.name + "/" + metric, row.rate ? 1 / value : value, row.n));
  }
}

}  // namespace

std::string gate_json(const GateResult& result, bool strict) {
  nlohmann::json rows = nlohmann::json::array();
  for (const GateRow& row : result.rows) {
    nlohmann::json j{{"name", row.name},
                     {"metric", row.metric},
                     {"verdict", to_string(row.verdict)},
                     {"n", row.n},
                     {"base", number(row.base)},
                     {"head", number(row.head)},
                     {"speed_up", number(row.speed_up)},
                     {"notes", row.notes}};
    j["threshold"] = row.threshold ? nlohmann::json(*row.threshold) : nlohmann::json(nullptr);
    j["interval"] = row.interval ? nlohmann::json{row.interval->low, row.interval->high} : nlohmann::json(nullptr);
    rows.push_back(std::move(j));
  }
  const nlohmann::json gate{{"schema_version", kSchemaVersion},
                            {"tier", result.tier},
                            {"base", result.base},
                            {"head", result.head},
                            {"compared", compared(result)},
                            {"of", result.rows.size()},
                            {"strict", strict},
                            {"exit", static_cast<int>(gate_exit(result, strict))},
                            {"notes", result.notes},
                            {"rows", rows}};
  return gate.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string gate_junit(const GateResult& result, bool strict) {
  std::vector<TestCase> cases;
  for (const GateRow& row : result.rows) {
    const std::string metric = row.metric == "exact" ? "" : ", " + row.metric;
    TestCase each{{}, "hopbench.gate." + result.tier, row.name + metric, to_string(row.verdict), join(row.notes, "\n")};
    if (fails(row) || (strict && without_verdict(row))) {
      each.end = TestCase::End::kFailed;
    } else if (without_verdict(row)) {
      each.end = TestCase::End::kSkipped;
    }
    cases.push_back(std::move(each));
  }
  return junit_xml("hopbench gate", cases);
}

std::string gate_benchmark_json(const GateResult& result, const std::string& context_json) {
  nlohmann::json context = nlohmann::json::parse(context_json, nullptr, false);
  nlohmann::json benchmarks = nlohmann::json::array();
  for (const GateRow& row : result.rows) add_benchmarks(row, benchmarks);
  const nlohmann::json all{{"context", context.is_discarded() ? nlohmann::json::object() : context},
                           {"benchmarks", benchmarks}};
  return all.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace hopbench
