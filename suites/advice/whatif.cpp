#include "suites/advice/whatif.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "backends/base/error.h"
#include "backends/base/printable.h"
#include "backends/base/record/kinds.h"
#include "results/arithmetic/statistics.h"
#include "results/tables/table.h"
#include "suites/advice/variations.h"
#include "suites/trial/plan.h"

namespace hopbench {
namespace {

constexpr double kNothing = 1.02;  // a job that is slower by less than that has nothing to gain
constexpr const char *kRecorded = "as recorded", *kIdeal = "all ideal";

std::string only(int rank) { return fmt::format("only {} as recorded", rank); }

struct Case {
  std::string name;
  std::function<TrialSpec(const TrialSpec&)> change;
  int left_out = 0;  // number of workers
};

void check_rank(int rank, int workers, const std::string& flag) {
  if (rank < 0 || rank >= workers)
    throw usage_error(fmt::format("{}: there is no worker {}: they are 0 to {}", flag, rank, workers - 1));
}

void check_hosts(const LinkChange& change, int hosts, const std::string& flag) {
  const int last = std::max(change.a, change.b);
  if (last >= hosts) throw usage_error(fmt::format("{}: there is no host {}: they are 0 to {}", flag, last, hosts - 1));
}

/// Returns worker and factor of "3=1.5x".
std::pair<int, double> parse_speed(const std::string& text, int workers) {
  const std::size_t equals = text.find('=');
  int rank = -1;
  double factor = 0;
  const char* const end = text.data() + text.size();
  const bool right = equals != std::string::npos && text.ends_with('x') &&
                     std::from_chars(text.data(), text.data() + equals, rank).ptr == text.data() + equals &&
                     std::from_chars(text.data() + equals + 1, end - 1, factor).ptr == end - 1 && factor >= 0.001 &&
                     factor <= 1e6;
  if (!right)
    throw usage_error(
        fmt::format("--rank {}: write RANK=FACTORx, such as 3=1x: as fast as an ideal worker", printable(text)));
  check_rank(rank, workers, "--rank " + text);
  return {rank, factor};
}

void check_scenario(const TrialSpec& spec) {
  if (spec.workers() < 2) throw usage_error("whatif compares workers: the cluster file has one only");
  if (!spec.scenario.faults.empty())
    throw usage_error(fmt::format("scenario '{}' has faults, and whatif is about the speed of workers: take them out",
                                  spec.scenario_name));
}

/// Returns the changes that the command line asks for.
std::vector<Case> changes_of(const WhatifChanges& options, int workers, int hosts) {
  std::vector<Case> cases;
  for (const int rank : options.without) {
    check_rank(rank, workers, fmt::format("--without {}", rank));
    if (workers < 3) throw usage_error("--without: two workers at least must be left");
    cases.push_back({fmt::format("without worker {}", rank),
                     [rank](const TrialSpec& spec) { return without_worker(spec, rank); }, 1});
  }
  for (const std::string& text : options.ranks) {
    const auto [rank, factor] = parse_speed(text, workers);
    cases.push_back({fmt::format("worker {} at {:g}x", rank, factor),
                     [rank = rank, factor = factor](const TrialSpec& spec) { return with_speed(spec, rank, factor); }});
  }
  for (const std::string& text : options.links) {
    const LinkChange change = parse_link_change(text);
    check_hosts(change, hosts, "--link " + printable(text));
    cases.push_back({"link " + printable(text), [change](const TrialSpec& spec) { return with_link(spec, change); }});
  }
  // The same change twice is one.
  std::set<std::string> names;
  std::erase_if(cases, [&](const Case& each) { return !names.insert(each.name).second; });
  return cases;
}

/// Returns the cases in which a single worker is as recorded, and those that they are compared with.
std::vector<Case> slowdown_cases(int workers) {
  std::vector<Case> cases{{kRecorded, [](const TrialSpec& spec) { return spec; }},
                          {kIdeal, [](const TrialSpec& spec) { return only_as_recorded(spec, {}); }}};
  for (int rank = 0; rank < workers; ++rank)
    cases.push_back({only(rank), [rank](const TrialSpec& spec) { return only_as_recorded(spec, {rank}); }});
  return cases;
}

/// Rates of the cases, by repeat.
using Rates = std::map<std::string, std::vector<double>>;

Rates rates_of(const std::vector<TrialSpec>& trials, const std::vector<Case>& cases, AnswerTrials& run) {
  std::vector<TrialSpec> all;
  for (const Case& each : cases) {
    for (const TrialSpec& spec : trials) {
      all.push_back(each.change(spec));
      all.back().measure = each.name;
    }
  }
  Rates rates;
  const std::vector<TrialRow> rows = run.rows_of(all);
  const auto failed = [](const TrialRow& row) { return row.record.status != TrialStatus::kOk; };
  if (const auto first = std::find_if(rows.begin(), rows.end(), failed); first != rows.end())
    throw trial_error(fmt::format("{} of {} trials failed, so there is nothing to compare. The first: {}: {}",
                                  std::count_if(rows.begin(), rows.end(), failed), rows.size(), first->labels.measure,
                                  what_happened(first->record.failure)));
  for (const TrialRow& row : rows) {
    const double heard = row.record.samples_heard_per_s;
    rates[row.labels.measure].push_back(heard > 0 ? heard : row.record.samples_per_s);
  }
  return rates;
}

/// Returns the ratio, with its interval if that is more than rounding.
Cell ratio_cell(const std::vector<double>& a, const std::vector<double>& b) {
  constexpr Format kFactor{[](double value) { return fmt::format("{:.4g}", value); }, "x"};
  Number ratio = paired_ratio(a, b);
  ratio.range.reset();
  if (ratio.interval && ratio.interval->high / ratio.interval->low <= 1.001) ratio.interval.reset();
  return {ratio, kFactor, "ratio"};
}

Table slowdowns(const Rates& rates, int workers) {
  Table table{.title = "How much a worker alone slows the job", .columns = {"worker", "slowdown"}};
  for (int rank = 0; rank < workers; ++rank)
    table.rows.push_back({fmt::format("{}", rank), ratio_cell(rates.at(kIdeal), rates.at(only(rank)))});
  table.fact(
      "slowdown: samples/s with ideal workers alone, over samples/s with this worker as recorded and all others ideal; "
      "[a, b]: 95 % interval over the repeats");
  return table;
}

std::string total_text(const Rates& rates) {
  const double total = paired_ratio(rates.at(kIdeal), rates.at(kRecorded)).value;
  std::string text = "with ideal workers alone the job would be " +
                     ratio_cell(rates.at(kIdeal), rates.at(kRecorded)).text + " as fast\n";
  if (total < kNothing) text += "There is nothing to gain in data parallelism: unequal workers hardly slow this job.\n";
  return text;
}

Table changes(const Rates& rates, const std::vector<Case>& cases, int workers) {
  Table table{.title = "Changes, one at a time", .columns = {"change", "samples/s", "for each worker"}};
  for (const Case& each : cases) {
    const std::vector<double>& changed = rates.at(each.name);
    std::vector<double> shared = changed;
    for (double& rate : shared) rate *= double(workers) / (workers - each.left_out);
    table.rows.push_back(
        {each.name, ratio_cell(changed, rates.at(kRecorded)), ratio_cell(shared, rates.at(kRecorded))});
  }
  table.fact(
      "times those of the job as recorded; the same draws in each repeat; [a, b]: 95 % interval over the repeats");
  return table;
}

}  // namespace

WhatifAnswer whatif(const ClusterFile& cluster, const WhatifChanges& changed, AnswerTrials& run) {
  const std::vector<TrialSpec> trials = cluster.trials_of(cluster.present);
  const int workers = trials.front().workers();
  check_scenario(trials.front());
  const std::vector<int> host_of = make_plan(trials.front()).host_of;
  const int hosts = *std::max_element(host_of.begin(), host_of.end()) + 1;
  const std::vector<Case> asked = changes_of(changed, workers, hosts);
  std::vector<Case> cases = slowdown_cases(workers);
  cases.insert(cases.end(), asked.begin(), asked.end());
  const Rates rates = rates_of(trials, cases, run);
  const double ideal_s = to_seconds(only_as_recorded(trials.front(), {}).costs.gradient);
  WhatifAnswer answer;
  answer.text =
      fmt::format("{}, scenario {}: {} of {} workers, virtual time\nAn ideal gradient takes {:.4g} s; ",
                  printable(cluster.suite.file), trials.front().scenario_name, cluster.present, workers, ideal_s) +
      total_text(rates);
  answer.tables.push_back(slowdowns(rates, workers));
  if (!asked.empty()) answer.tables.push_back(changes(rates, asked, workers));
  return answer;
}

}  // namespace hopbench
