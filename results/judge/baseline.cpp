#include "results/judge/baseline.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "backends/base/error.h"
#include "backends/base/json_value.h"
#include "backends/base/record/kinds.h"
#include "backends/base/text.h"
#include "results/files/context.h"
#include "results/files/csv.h"
#include "results/files/event_reader.h"
#include "results/files/files.h"
#include "results/files/possible.h"
#include "results/files/record_json.h"
#include "results/judge/exact.h"

namespace hopbench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHead = kBaselineFile;
constexpr const char* kTable = "trials.csv";
constexpr const char* kOwn[] = {kHead, kTable, "trials.jsonl", "suite.toml", "context.json", "events"};

nlohmann::json to_json(const BaselineSave& save) {
  return {{"time", save.time}, {"version", save.version}, {"reason", save.reason}, {"changed", save.changed}};
}

BaselineSave save_from_json(const nlohmann::json& j) {
  return {j.value("time", ""), j.value("version", ""), j.value("reason", ""),
          j.value("changed", std::vector<std::string>{})};
}

void write_gzip(const std::string& path, const std::string& text) {
  const gzFile file = gzopen(path.c_str(), "wb9");
  const bool written = file != nullptr && gzwrite(file, text.data(), unsigned(text.size())) == int(text.size());
  const bool closed = file != nullptr && gzclose(file) == Z_OK;
  if (!written || !closed) throw environment_error("cannot write " + path + ": is the disk full?");
}

/// Returns the trial's event log, unpacked; "" if there is no log.
std::string log_text(const RunFolder& run, const std::string& trial_id) {
  EventLines lines(find_event_log(run, trial_id));
  if (!lines.there()) return "";
  std::string text;
  while (const std::optional<std::string> line = lines.next()) text += *line + "\n";
  return text;
}

/// Writes everything of the run that comparisons need into a new folder.
void write_rows(const RunFolder& run, const std::string& folder) {
  RunFolder copy = RunFolder::create(folder, run.suite_toml(), run.context_json());
  for (TrialRow row : run.rows()) {
    for (RankRecord& rank : row.record.ranks) rank.marks.clear();
    const std::string id = row.record.id, log = log_text(run, id);
    if (row.labels.clock == "virtual" && !log.empty()) write_gzip(copy.event_log(id) + ".gz", log);
    copy.add(std::move(row));
  }
  copy.write_text(kTable, trials_csv(run.rows()));
}

struct Changes {
  std::vector<std::string> changed;  // trials of virtual time with other results
  bool none = false;                 // all rows are of virtual time, and the same
};

Changes changes_of(const RunFolder& base, const RunFolder& head) {
  Changes changes;
  const std::vector<GateRow> rows = compare_exact(base, head);
  for (const GateRow& row : rows) {
    if (row.verdict != Verdict::kNoChange && row.verdict != Verdict::kNew) changes.changed.push_back(row.name);
  }
  const auto same =
      std::count_if(rows.begin(), rows.end(), [](const GateRow& row) { return row.verdict == Verdict::kNoChange; });
  changes.none = std::size_t(same) == head.rows().size() && rows.size() == head.rows().size();
  return changes;
}

void check_kept(const RunFolder& run, const TrialRow& row) {
  try {
    check_comparable(row);
  } catch (const Error& error) {
    throw usage_error(
        fmt::format("{}: trial {} cannot be kept: {}: run it again", run.path(), row.record.id, error.what()));
  }
  if (row.labels.clock != "virtual") return;
  try {
    check_event_log(run, row);
  } catch (const Error& error) {
    throw usage_error(
        fmt::format("{0}: trial {1} cannot be kept: {2} (take its line out of {0}/trials.jsonl, then "
                    "hopbench run --resume {0})",
                    run.path(), row.record.id, error.what()));
  }
}

/// Throws Error(kUsage) if the folder holds a file whose name is not in `own`: it would be removed with the baseline.
void check_holds_only(const std::string& folder, const std::set<std::string>& own) {
  if (!fs::is_directory(folder)) return;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (own.contains(name)) continue;
    throw usage_error(
        fmt::format("{} holds {}, which is not part of a baseline and would be lost: move it elsewhere", folder, name));
  }
}

void check_only_ours(const std::string& folder) {
  check_holds_only(folder, {std::begin(kOwn), std::end(kOwn)});
  const RunFolder kept = RunFolder::open(folder);
  std::set<std::string> logs;
  for (const TrialRow& row : kept.rows())
    logs.insert(fs::path(kept.event_log(row.record.id) + ".gz").filename().string());
  check_holds_only(folder + "/events", logs);
}

void check_complete(const RunFolder& run) {
  if (run.rows().empty()) throw usage_error(run.path() + " has no trials: nothing ended there yet");
  if (run.cut_off()) {
    throw usage_error(fmt::format(
        "{0}/trials.jsonl ends in the middle of a trial: run what is missing (run --resume {0})", run.path()));
  }
  for (const TrialRow& row : run.rows()) {
    if (row.record.status == TrialStatus::kOk) {
      check_kept(run, row);
      continue;
    }
    if (row.record.failure.kind == FailureKind::kScenario || fails_again(row)) {
      throw usage_error(
          fmt::format("{} of {} did not end well ({}), and never does: a baseline is of trials that do: "
                      "run the others alone (run SUITE --filter REGEX, then baseline save --partial)",
                      row.record.id, run.path(), what_happened(row.record.failure)));
    }
    throw usage_error(fmt::format("{} of {} did not end well ({}): run it again (run --resume {} --retry-failed)",
                                  row.record.id, run.path(), row.record.failure.text, run.path()));
  }
}

}  // namespace

void check_baseline_name(const std::string& name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  };
  if (name.empty() || name[0] == '.' || !std::all_of(name.begin(), name.end(), fits)) {
    throw usage_error("'" + name + "' is not a name of a baseline: letters, digits, '_', '-' and '.', not '.' first");
  }
}

bool is_baseline(const std::string& folder) { return fs::exists(folder + "/" + kHead); }

void check_baseline_place(const std::string& folders, const std::string& name) {
  check_baseline_name(name);
  if (!fs::exists(folders + "/" + name)) return;
  read_baseline(folders, name);
  check_only_ours(folders + "/" + name);
}

std::vector<std::string> save_baseline(const std::string& folders, const std::string& name, const RunFolder& run,
                                       const std::string& reason) {
  check_baseline_place(folders, name);
  check_complete(run);
  const std::string folder = folders + "/" + name, fresh = fmt::format("{}/.{}.new-{}", folders, name, getpid());
  nlohmann::json history = nlohmann::json::array();
  BaselineSave save{
      fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))), version_with_commit(), reason, {}};
  bool same = false;
  if (fs::exists(folder)) {
    for (const BaselineSave& old : read_baseline(folders, name).history) history.push_back(to_json(old));
    Changes changes = changes_of(RunFolder::open(folder), run);
    save.changed = std::move(changes.changed);
    same = changes.none && reason.empty();
    if (!save.changed.empty() && reason.empty()) {
      throw usage_error(
          fmt::format("baseline {} would change in {} trials of virtual time, {} first: say why with "
                      "--reason 'TEXT' (hopbench gate --baseline {} {} shows what)",
                      name, save.changed.size(), save.changed.front(), name, run.path()));
    }
  }
  if (!same) history.push_back(to_json(save));
  fs::remove_all(fresh);
  try {
    write_rows(run, fresh);
    const nlohmann::json head{{"schema_version", kSchemaVersion}, {"history", history}};
    RunFolder::open(fresh).write_text(kHead, head.dump(1) + "\n");
    const std::string before = fmt::format("{}/.{}.old-{}", folders, name, getpid());
    if (fs::exists(folder)) fs::rename(folder, before);
    fs::rename(fresh, folder);
    fs::remove_all(before);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(fresh, ignored);
    throw;
  }
  return save.changed;
}

Baseline read_baseline(const std::string& folders, const std::string& name) {
  check_baseline_name(name);
  const std::string folder = folders + "/" + name;
  const std::optional<std::string> text = read_file(folder + "/" + kHead);
  if (!text) {
    throw usage_error(fmt::format("{} is not a baseline: there is no {} in it: name another (hopbench baseline list)",
                                  folder, kHead));
  }
  const auto damaged = [&](const std::string& why) {
    return usage_error(fmt::format("{}/{} is damaged: {}: restore it, or remove the folder and save the baseline again",
                                   folder, kHead, why));
  };
  const nlohmann::json head = too_deep(*text) ? nlohmann::json() : nlohmann::json::parse(*text, nullptr, false);
  if (!head.is_object()) throw damaged("it is no JSON object");
  if (!head.contains("history") || !head["history"].is_array() || head["history"].empty())
    throw damaged("it has no history");
  Baseline baseline{name, "", 0, {}};
  try {
    for (const nlohmann::json& save : head["history"]) baseline.history.push_back(save_from_json(save));
  } catch (const nlohmann::json::exception& error) {
    throw damaged(json_mistake(error));
  }
  const RunFolder rows = RunFolder::open(folder);
  baseline.trials = rows.rows().size();
  if (!rows.rows().empty()) baseline.suite = rows.rows().front().labels.suite;
  return baseline;
}

std::vector<Baseline> list_baselines(const std::string& folders) {
  std::vector<Baseline> all;
  if (!fs::is_directory(folders)) return all;
  for (const fs::directory_entry& entry : fs::directory_iterator(folders)) {
    if (fs::exists(entry.path() / kHead)) all.push_back(read_baseline(folders, entry.path().filename().string()));
  }
  std::sort(all.begin(), all.end(), [](const Baseline& a, const Baseline& b) { return a.name < b.name; });
  return all;
}

void remove_baseline(const std::string& folders, const std::string& name) {
  read_baseline(folders, name);  // throws if it is not a baseline, and thus not to be removed
  check_only_ours(folders + "/" + name);
  fs::remove_all(folders + "/" + name);
}

}  // namespace hopbench
