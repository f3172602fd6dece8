// Production jobs (suites/traces) against their own recorded steps: a barrier model predicts held-out steps, and the
// bootstrap of the first half predicts the mean of the second.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "results/arithmetic/statistics.h"
#include "suites/language/suite.h"
#include "suites/trial/execute.h"
#include "tests/folder.h"
#include "tests/paths.h"

namespace hopbench {
namespace {

struct Job {
  const char* name;
  int ranks;
};

std::string trace_of(const Job& job) { return source_dir() + "/suites/traces/" + job.name + ".csv"; }

/// Returns the seconds of the job's whole steps, in the order of the trace.
std::vector<double> steps_of(const Job& job) {
  std::ifstream file(source_dir() + "/tests/data/production/steps-" + job.name + ".csv");
  std::vector<double> lengths;
  for (std::string line; std::getline(file, line);) {
    const std::size_t comma = line.find(',');
    if (!line.starts_with('#') && !line.starts_with("step")) lengths.push_back(std::stod(line.substr(comma + 1)));
  }
  return lengths;
}

/// Returns how long each iteration of all-reduce takes in virtual time, without communication, on that trace.
std::vector<double> iterations_of(const Job& job, const std::string& trace, const std::string& map, int iterations,
                                  int seed) {
  std::ostringstream text;
  text
      << "schema = 1\nname = \"p\"\n[run]\nworld_size = " << job.ranks << "\nseed = " << seed
      << "\nsamples = " << iterations * job.ranks
      << "\nrepeats = 1\nwarmup_time = \"0s\"\n[model]\nname = \"timing_only\"\nsize = 64\n"
      << "batch = 1\n[compute]\npace = \"1s\"\nnoise = 0\n[transport]\nname = \"sim\"\n[network]\ninstant = true\n"
      << "[[protocol]]\nname = \"allreduce\"\n[[scenario]]\nname = \"replay\"\ncompute = [{ kind = \"trace\", file = \""
      << trace << "\", map = \"" << map << "\" }]\n";
  const TrialRecord record = simulate_trial(parse_suite(text.str(), "p.toml", {}).trials.at(0));
  std::vector<double> lengths;
  Time begin{};
  for (const IterationMark& mark : record.ranks.at(0).marks) {
    lengths.push_back(to_seconds(mark.end - begin));
    begin = mark.end;
  }
  return lengths;
}

/// Returns the median of what the steps of the first half took beside the barrier.
double rest_of(const std::vector<double>& steps, const std::vector<double>& barriers) {
  std::vector<double> rests;
  for (std::size_t i = 0; i < steps.size() / 2; ++i) rests.push_back(steps[i] - barriers[i]);
  return median(rests);
}

class Production : public testing::TestWithParam<Job> {};

TEST_P(Production, ABarrierAndOneConstantPredictHeldOutSteps) {
  const Job job = GetParam();
  const std::vector<double> steps = steps_of(job);
  ASSERT_EQ(Trace::read(trace_of(job))->steps(), std::ssize(steps));
  const std::vector<double> barriers = iterations_of(job, trace_of(job), "fixed", int(steps.size()), 1);
  ASSERT_EQ(barriers.size(), steps.size());
  const double rest = rest_of(steps, barriers);
  std::vector<double> errors;
  for (std::size_t i = steps.size() / 2; i < steps.size(); ++i)
    errors.push_back(std::abs((barriers[i] + rest) / steps[i] - 1));
  EXPECT_LE(median(errors), 0.01);
}

TEST_P(Production, TheBootstrapOfTheFirstHalfPredictsTheMeanOfTheSecond) {
  const Job job = GetParam();
  const std::vector<double> steps = steps_of(job);
  const std::size_t half = steps.size() / 2;
  const auto whole = Trace::read(trace_of(job));
  std::ostringstream first;
  first << "rank,step,seconds\n";
  for (int rank = 0; rank < job.ranks; ++rank) {
    for (std::size_t at = 0; at < half; ++at)
      first << rank << ',' << at << ',' << whole->seconds(rank, std::int64_t(at)) << '\n';
  }
  const Folder folder;
  folder.write("first.csv", first.str());
  const double rest = rest_of(steps, iterations_of(job, folder / "first.csv", "fixed", int(half), 1));
  std::vector<double> drawn;
  for (int seed = 1; seed <= 3; ++seed) {
    for (const double barrier : iterations_of(job, folder / "first.csv", "block_bootstrap", 200, seed))
      drawn.push_back(barrier + rest);
  }
  const std::vector<double> held(steps.begin() + std::ptrdiff_t(half), steps.end());
  double squares = 0;
  for (const double step : held) squares += (step - mean_of(held)) * (step - mean_of(held));
  const double error = std::sqrt(squares / double(held.size() - 1) / double(held.size()));
  EXPECT_NEAR(mean_of(drawn), mean_of(held), std::max(0.03 * mean_of(held), 2 * error));
}

INSTANTIATE_TEST_SUITE_P(Jobs, Production, testing::Values(Job{"ar", 4}, Job{"se", 32}, Job{"st", 2}),
                         [](const auto& job) { return std::string(job.param.name); });

}  // namespace
}  // namespace hopbench
