// `hopbench gate --base CMD --head CMD` and `gate --self-test`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "backends/base/process/tell.h"
#include "cli/gate/gate.h"
#include "cli/gate/gate_sides.h"
#include "cli/outputs.h"
#include "results/arithmetic/statistics.h"
#include "results/files/context.h"
#include "results/files/record_json.h"
#include "results/judge/virtual_gate.h"
#include "results/tables/summary_parts.h"

namespace hopbench {
namespace {

TimedRule rule_of(const GateCommand& options) {
  return {options.pairs, options.most, options.threshold.value_or(5) / 100};
}

/// Adds the rows of virtual time in front: a head that is slower there fails, however fast its simulator is.
void add_virtual_rows(const GateCommand& options, const SideRun& base, const SideRun& head, GateResult& result) {
  const std::optional<double> percent = options.virtual_threshold;
  const std::optional<double> tolerance = percent ? std::optional(*percent / 100) : std::nullopt;
  const std::vector<GateRow> rows = virtual_rows(base.rows, head.rows, tolerance);
  result.rows.insert(result.rows.begin(), rows.begin(), rows.end());
}

std::vector<std::string> differences(const std::string& base, const std::string& head) {
  std::vector<std::string> all;
  const std::string a = maker_of(base), b = maker_of(head);
  if (a != b) all.push_back(fmt::format("version: {}; {}", a, b));
  for (std::string& difference : context_differences(base, head)) all.push_back(std::move(difference));
  return all;
}

/// Returns a result in which all rows failed, because a side did not get to the end.
GateResult failed(const std::vector<TimedRow>& rows, const std::string& why) {
  GateResult result{"timed", {}, {}, {}, {}};
  for (const TimedRow& row : rows) {
    result.rows.push_back({row.name, row.metric, Verdict::kFailed, 0, 0, 0, std::nan(""), {}, {why}});
  }
  return result;
}

/// Numbers of gates that ended in each way.
struct Ends {
  int gates = 0, regressions = 0, inconclusive = 0;
  void add(const GateResult& result) {
    ++gates;
    const ExitCode code = gate_exit(result, true);
    regressions += code == ExitCode::kRegression ? 1 : 0;
    inconclusive += code == ExitCode::kInconclusive ? 1 : 0;
  }
};

/// The findings of `gate --self-test`, printed as they come and kept for --json.
struct SelfTest {
  nlohmann::ordered_json noise = nlohmann::ordered_json::array(), ends = nlohmann::ordered_json::array();

  void add_noise(const TimedRow& row, double deviation) {
    fmt::print("  {}, {}: {}\n", row.name, row.metric, percent_text(deviation));
    noise.push_back({{"row", row.name}, {"metric", row.metric}, {"noise", deviation}});
  }
  void add_ends(const std::string& what, double slower, const Ends& end) {
    const auto share = [&](int count) { return double(count) / std::max(1, end.gates); };
    const int passed = end.gates - end.regressions - end.inconclusive;
    fmt::print("| {} | {} | {} | {} | {} |\n", what, end.gates, percent_text(share(end.regressions)),
               percent_text(share(end.inconclusive)), percent_text(share(passed)));
    std::fflush(stdout);
    ends.push_back({{"what", what},
                    {"slower", slower},
                    {"gates", end.gates},
                    {"regression", share(end.regressions)},
                    {"inconclusive", share(end.inconclusive)},
                    {"passed", share(passed)}});
  }
};

/// Runs gates on recorded pairs of base with itself, with the head's times longer by `slowdown`.
Ends resampled(const std::vector<TimedRow>& rows, const TimedRule& rule, int gates, double slowdown,
               const std::vector<std::vector<TimedPair>>& recorded) {
  std::mt19937_64 random(1);
  const MeasurePair draw = [&](bool base_twice) {
    std::vector<TimedPair> pair = recorded[random() % recorded.size()];
    for (TimedPair& row : pair) {
      if (random() % 2 == 1) std::swap(row.base, row.head);  // the order of the sides does not matter
      if (!base_twice) row.head *= 1 + slowdown;
    }
    return pair;
  };
  Ends ends;
  for (int i = 0; i < gates; ++i) ends.add(timed_gate(rows, rule, draw));
  return ends;
}

}  // namespace

GateResult run_timed_gate(const GateCommand& options) {
  GateSides sides(options);
  const std::vector<TimedRow> rows = sides.rows();
  SideRun head;
  GateResult result;
  try {
    head = sides.run(options.head);
    int done = 0;
    result = timed_gate(rows, rule_of(options), [&](bool base_twice) {
      tell(fmt::format("pair {}{}\n", ++done, base_twice ? " (base with itself)" : ""));
      return sides.pair(options.base, base_twice ? options.base : options.head);
    });
  } catch (const Error& error) {
    if (error.code() != ExitCode::kTrialsFailed) throw;
    result = failed(rows, error.what());
  }
  result.base = options.base;
  result.head = options.head;
  if (!head.rows.empty()) add_virtual_rows(options, sides.first(), head, result);
  if (!head.context_json.empty()) {
    for (const std::string& difference : differences(sides.first().context_json, head.context_json)) {
      result.notes.push_back("the sides differ in " + difference);
    }
  }
  return result;
}

int run_gate_self_test(const GateCommand& given) {
  GateCommand options = given;
  options.base = options.head = std::filesystem::read_symlink("/proc/self/exe").string();
  GateSides sides(options);
  const std::vector<TimedRow> rows = sides.rows();
  std::vector<std::vector<TimedPair>> recorded;
  for (int i = 0; i < options.recorded; ++i) {
    recorded.push_back(sides.pair(options.base, options.base));
    if (i % 20 == 19) tell(fmt::format("recorded {} of {} pairs\n", i + 1, options.recorded));
  }
  fmt::print("Noise of a pair (standard deviation of the log ratio, {} pairs of a program with itself):\n",
             recorded.size());
  SelfTest found;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    std::vector<TimedPair> pairs;
    for (const auto& pair : recorded) pairs.push_back(pair[row]);
    found.add_noise(rows[row], pair_noise(pairs));
  }
  fmt::print("\n| head slower by | gates | regression | inconclusive | passed |\n|---|---|---|---|---|\n");
  const TimedRule rule = rule_of(options);
  for (const int percent : {0, 5, 10, 20}) {
    found.add_ends(fmt::format("{} %, resampled", percent), percent / 100.0,
                   resampled(rows, rule, options.resampled, percent / 100.0, recorded));
  }
  for (const bool slower : {false, true}) {
    Ends ends;
    std::vector<std::string> more;
    double by = 0;
    if (slower) {
      more = {fmt::format("run.iterations={}", std::lround(1.2 * sides.first().iterations))};
      by = sides.run(options.base, more).iterations / sides.first().iterations - 1;
    }
    for (int i = 0; i < options.full / 2; ++i) {
      ends.add(timed_gate(rows, rule, [&](bool base_twice) {
        return sides.pair(options.base, options.base, base_twice ? std::vector<std::string>{} : more);
      }));
    }
    found.add_ends(slower ? fmt::format("{} more iterations, really run", percent_text(by)) : "0 %, really run", by,
                   ends);
  }
  if (!options.json.empty()) {
    put(options.json,
        nlohmann::ordered_json{
            {"schema_version", kSchemaVersion}, {"noise", std::move(found.noise)}, {"ends", std::move(found.ends)}}
                .dump(1) +
            "\n");
  }
  return 0;
}

}  // namespace hopbench
