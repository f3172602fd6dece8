#include "cli/gate/gate_sides.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

#include "backends/base/process/signals.h"
#include "backends/base/text.h"
#include "results/files/files.h"
#include "results/files/possible.h"
#include "results/files/record_json.h"
#include "suites/campaign/adjust.h"
#include "suites/campaign/install_paths.h"
#include "suites/language/suite.h"

namespace hopbench {
namespace {

void add_row(const TrialRow& row, SideRun& run) {
  if (row.record.status != TrialStatus::kOk) {
    throw trial_error(fmt::format("trial {} did not end well: {} {}", row.record.id, to_string(row.record.status),
                                  row.record.failure.text));
  }
  const TrialLabels& labels = row.labels;
  const std::string name = fmt::format("{}/{}/{}/{}", labels.suite, labels.measure, labels.scenario, labels.variant);
  const bool real = labels.clock != "virtual";
  if (real && labels.cost_s > 0) {
    throw usage_error(fmt::format("{} is paced to {} s, in which a slowdown would hide: --set 'compute.pace=\"off\"'",
                                  name, labels.cost_s));
  }
  run.trials[name].insert(row.record.id);
  run.seconds[{name, real ? "time_s" : "simulator wall_s"}] += real ? row.record.time_s : row.record.wall_s;
  run.seconds[{name, real ? "cpu_s" : "simulator cpu_s"}] += row.record.cpu_s;
  if (run.iterations == 0 && !row.record.ranks.empty()) run.iterations = double(row.record.ranks[0].iters);
}

/// Returns in words how a program that std::system() ran has ended.
std::string in_words(int status) {
  return WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                             : fmt::format("exit code {}", WEXITSTATUS(status));
}

/// Throws if a run of `command` does not have the same trials of a row as the first run of base.
void check_same_trials(const std::string& row, const std::string& command, const SideRun& first, const SideRun& run) {
  const auto trials_of = [&](const SideRun& side) {
    const auto there = side.trials.find(row);
    return there == side.trials.end() ? std::set<std::string>{} : there->second;
  };
  const std::set<std::string> expected = trials_of(first), found = trials_of(run);
  for (const std::string& id : expected) {
    if (!found.contains(id)) throw trial_error(fmt::format("trial {} is missing from a run of {}", id, command));
  }
  for (const std::string& id : found) {
    if (!expected.contains(id)) throw trial_error(fmt::format("trial {} is only in a run of {}", id, command));
  }
}

}  // namespace

GateSides::GateSides(const GateCommand& options) : options_(options) { count_interrupts(); }

SideRun GateSides::run(const std::string& command, const std::vector<std::string>& more_sets) {
  const std::string at = folder_ / std::to_string(runs_++), log = at + ".log";
  std::string words = command + " run";
  for (const std::string& suite : options_.what) words += " " + shell_word(suite);
  for (const auto* sets : {&options_.sets, &more_sets}) {
    for (const std::string& set : *sets) words += " --set " + shell_word(set);
  }
  if (!options_.filter.empty()) words += " --filter " + shell_word(options_.filter);
  if (!options_.profile.empty()) words += " --profile " + shell_word(options_.profile);
  words += fmt::format(" --no-events -o {0} --json={0}.json >{1} 2>&1", at, log);
  const int status = std::system(words.c_str());  // the command is the user's own, from the command line
  if (count_interrupts().load() > 0 ||
      (WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM))) {
    throw Error(ExitCode::kInterrupted, "interrupted before the end: the gate has no verdict");
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
    throw usage_error(fmt::format("{}: there is no such program: {}", command, read_file(log).value_or("")));
  if (status != 0) {
    const std::string said = read_file(log).value_or("");
    throw trial_error(fmt::format("{} failed with {}{}", words, in_words(status),
                                  said.empty() ? ", and printed nothing: is it hopbench?"
                                               : ": " + said.substr(said.size() > 600 ? said.size() - 600 : 0)));
  }
  SideRun result;
  const std::optional<std::string> json = read_file(at + ".json");
  if (!json)
    throw usage_error(command + " wrote no results: is it hopbench? It is called with: run SUITE... --json=FILE");
  RunDocument document = run_from_json(*json, at + ".json");
  check_finite(document.rows, "the results of " + command, "");
  result.context_json = std::move(document.context_json);
  for (const TrialRow& row : document.rows) add_row(row, result);
  result.rows = std::move(document.rows);
  std::filesystem::remove_all(at);
  return result;
}

// Checks suites before anything runs for minutes. A suite that this program cannot read is left to the sides.
void GateSides::check_suites() const {
  bool may_be_virtual = false;
  for (const std::string& file : options_.what) {
    Suite suite;
    try {
      suite = load_suite(find_suite(file), {options_.sets, options_.profile, {}, {}});
      keep_matching(options_.filter, suite.trials);
    } catch (const SuiteError&) {
      may_be_virtual = true;
      continue;
    }
    for (const TrialSpec& spec : suite.trials) {
      may_be_virtual = may_be_virtual || spec.transport == "sim";
      if (spec.transport == "sim" || !spec.pace) continue;
      throw usage_error(spec.id() + " is paced, in which a slowdown would hide: --set 'compute.pace=\"off\"'");
    }
  }
  if (options_.virtual_threshold && !may_be_virtual) {
    throw usage_error("--virtual-threshold has no effect: no trial of these suites is of virtual time: leave it out");
  }
}

const std::vector<TimedRow>& GateSides::rows() {
  if (!rows_.empty()) return rows_;
  check_suites();
  first_ = run(options_.base);
  for (const auto& [row, seconds] : first_.seconds) rows_.push_back({row.first, row.second});
  return rows_;
}

std::vector<TimedPair> GateSides::pair(const std::string& base, const std::string& head,
                                       const std::vector<std::string>& head_sets) {
  const bool head_first = pairs_++ % 2 == 1;
  SideRun second, first = head_first ? run(head, head_sets) : run(base);
  second = head_first ? run(base) : run(head, head_sets);
  const SideRun &of_base = head_first ? second : first, &of_head = head_first ? first : second;
  std::vector<TimedPair> pairs;
  for (const TimedRow& row : rows()) {
    check_same_trials(row.name, base, first_, of_base);
    check_same_trials(row.name, head, first_, of_head);
    const auto a = of_base.seconds.find({row.name, row.metric}), b = of_head.seconds.find({row.name, row.metric});
    if (a == of_base.seconds.end() || b == of_head.seconds.end()) {
      throw trial_error(fmt::format("{} of {} is missing from a run of {}", row.metric, row.name,
                                    a == of_base.seconds.end() ? base : head));
    }
    pairs.push_back({a->second, b->second});
  }
  return pairs;
}

}  // namespace hopbench
