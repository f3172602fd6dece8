// `hopbench merge`: shards -> the run that they are parts of.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "backends/base/error.h"
#include "backends/base/printable.h"
#include "backends/base/process/signals.h"
#include "backends/base/process/tell.h"
#include "backends/base/text.h"
#include "cli/commands.h"
#include "cli/outputs.h"
#include "cli/suite_differences.h"
#include "results/files/context.h"
#include "results/files/csv.h"
#include "results/files/files.h"
#include "suites/campaign/adjust.h"
#include "suites/campaign/install_paths.h"
#include "suites/campaign/preflight.h"
#include "suites/campaign/resume.h"
#include "suites/campaign/shard.h"

namespace hopbench {
namespace {

namespace fs = std::filesystem;

/// A folder to merge.
struct Part {
  std::string path;
  RunFolder folder;
  std::string suite, context;
  RunShard shard;

  std::string name() const { return fmt::format("{} (shard {})", printable(path), shard.name()); }
};

Part read_part(const std::string& path) {
  RunFolder folder = open_run(path);
  std::string suite = folder.suite_toml(), context = folder.context_json();
  std::optional<RunShard> shard = shard_in(context, path);
  if (!shard) {
    throw usage_error(fmt::format("{} holds no shard (its context.json names none): merge joins folders of run --shard",
                                  printable(path)));
  }
  return {path, std::move(folder), std::move(suite), std::move(context), *std::move(shard)};
}

/// Throws if the two are not shards of one run.
void check_alike(const Part& a, const Part& b) {
  if (const std::string one = maker_of(a.context), other = maker_of(b.context); one != other) {
    throw usage_error(fmt::format("{} was run by hopbench {}, {} by hopbench {}: run all shards with the same build",
                                  printable(a.path), one, printable(b.path), other));
  }
  if (a.suite != b.suite) {
    const std::string where = suite_differences(a.suite, b.suite);
    throw usage_error(fmt::format("{} and {} are shards of different suites ({}): merge the shards of one suite",
                                  printable(a.path), printable(b.path),
                                  where.empty() ? "the texts of their suite.toml" : printable(where)));
  }
  if (const std::string where = difference(a.shard, b.shard); !where.empty()) {
    throw usage_error(fmt::format("{} and {} are shards of different runs ({}): merge the shards of one run",
                                  printable(a.path), printable(b.path), printable(where)));
  }
}

/// Returns where the results of two rows differ ("samples_per_s: 12; 13"), or "". Measurements of the host may differ.
std::string row_difference(const TrialRow& a, const TrialRow& b) {
  const TrialCells one = trial_cells(std::vector{&a}).front(), other = trial_cells(std::vector{&b}).front();
  for (const auto& [column, value] : one) {
    const auto theirs = other.find(column);
    const std::string text = value.text, then = theirs == other.end() ? "" : theirs->second.text;
    if (text != then) return fmt::format("{}: {}; {}", column, quotable(text), quotable(then));
  }
  if (one.size() != other.size()) return "they have other columns";
  if (ranks_csv({&a, 1}) != ranks_csv({&b, 1})) return "their rows of ranks.csv";
  return curve_csv({&a, 1}) != curve_csv({&b, 1}) ? "their rows of curve.csv" : "";
}

void stop_if_interrupted() {
  if (count_interrupts().load() > 0) throw Error(ExitCode::kInterrupted, "interrupted");
}

/// Throws if the path is a link, which may lead out of the shard's folder, a pipe, or anything else without content.
void check_own(const fs::path& path) {
  const fs::file_type type = fs::symlink_status(path).type();
  if (type == fs::file_type::regular || type == fs::file_type::directory || type == fs::file_type::not_found) return;
  throw usage_error(fmt::format("{} is {}, and only a shard's own files are merged: put the file itself there",
                                printable(path.string()),
                                type == fs::file_type::symlink ? "a symbolic link" : "neither a file nor a folder"));
}

/// Copies a file, or a folder with its content. Returns false if it is not there.
bool copy_if_there(const std::string& from, const std::string& to) {
  std::error_code failed;
  check_own(fs::path(from).parent_path());
  check_own(from);
  if (!fs::exists(from, failed)) return false;
  if (fs::is_directory(from, failed))
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(from)) check_own(entry.path());
  fs::copy(from, to, fs::copy_options::recursive, failed);
  if (failed) {
    throw environment_error(fmt::format("cannot copy {} to {}: {}: free space or choose another folder with -o",
                                        printable(from), printable(to), failed.message()));
  }
  return true;
}

class Merge {
 public:
  /// Reads the folders and checks that they fit together.
  explicit Merge(const MergeOptions& options) : options_(options) {
    for (const std::string& path : options.folders) parts_.push_back(read_part(path));
    std::stable_sort(parts_.begin(), parts_.end(),
                     [](const Part& a, const Part& b) { return a.shard.number < b.shard.number; });
    for (const Part& part : parts_) check_alike(parts_.front(), part);
    const std::string maker = maker_of(parts_.front().context), now = maker_of(context_json({}));
    if (maker != now) {
      throw usage_error(
          fmt::format("the shards were run by another build ({}, this is {}): merge with the same build", maker, now));
    }
    set_run();
    collect();
    find_missing();
  }

  int execute() {
    if (!missing_.empty() && !options_.partial) throw usage_error(missing_text());
    tell_machines();
    const std::string output = without_detours(options_.output);
    UnfinishedFolder place(output);
    Outputs outputs(run_);
    RunFolder merged = RunFolder::create(place.path(), parts_.front().suite, context());
    copy_files(merged);
    std::vector<TrialRow> rows;
    for (const TrialSpec& spec : suite_.trials) {
      if (const auto found = found_.find(spec.id()); found != found_.end()) rows.push_back(*found->second.row);
    }
    merged.rewrite(std::move(rows));
    merged.write_tables();
    outputs.add(suite_, merged);
    stop_if_interrupted();
    merged.finish(place, output);
    outputs.write();
    return conclude(merged);
  }

 private:
  struct Found {
    const Part* part;
    const TrialRow* row;
  };

  /// Sets the whole run: its trials and the options that it has in common with its shards.
  void set_run() {
    const Part& first = parts_.front();
    run_.filter = first.shard.filter, run_.exclude = first.shard.exclude;
    run_.events = first.shard.events, run_.shuffle = first.shard.shuffle, run_.dump = first.shard.dump;
    run_.colour = options_.colour, run_.wide = options_.wide;
    suite_ = parse_suite(first.suite, first.path + "/suite.toml", {});
    adjust(run_, suite_.trials);
  }

  /// Finds the rows to take. A trial may be there twice if both have the same results, as if a shard ran twice.
  void collect() {
    std::map<std::string, std::string> hashes;
    for (const TrialSpec& spec : suite_.trials) hashes[spec.id()] = spec.hash();
    for (const Part& part : parts_) {
      for (const TrialRow& row : part.folder.rows()) {
        if (row.record.status == TrialStatus::kInterrupted) continue;
        const auto hash = hashes.find(row.record.id);
        if (hash == hashes.end()) {
          throw usage_error(fmt::format("{}: {} is not a trial of its run: run the shard anew", part.name(),
                                        printable(row.record.id)));
        }
        if (hash->second != row.record.hash) {
          throw usage_error(fmt::format("{}: {} was run with other settings than suite.toml has: run the shard anew",
                                        part.name(), printable(row.record.id)));
        }
        const auto [there, fresh] = found_.try_emplace(row.record.id, Found{&part, &row});
        if (!fresh) check_same(there->second, {&part, &row});
      }
    }
  }

  static void check_same(const Found& a, const Found& b) {
    const std::string where = row_difference(*a.row, *b.row);
    if (where.empty()) return;
    throw usage_error(fmt::format("{} is in {} and in {}, with different results ({}): leave one of them out",
                                  printable(a.row->record.id), a.part->name(), b.part->name(), where));
  }

  void find_missing() {
    const int of = parts_.front().shard.of;
    for (std::size_t place = 0; place < suite_.trials.size(); ++place) {
      const int number = shard_of_place(place, of);
      ++trials_of_[number];
      if (!found_.contains(suite_.trials[place].id())) ++missing_[number];
    }
  }

  /// Returns what is missing, and the commands that run it.
  std::string missing_text() const {
    std::string text = "trials are missing: run them as below, or merge what is there with --partial";
    for (const auto& [number, trials] : missing_) {
      RunShard shard = parts_.front().shard;
      shard.number = number;
      const auto part = std::find_if(parts_.begin(), parts_.end(),
                                     [&](const Part& each) { return each.shard.number == shard.number; });
      if (part == parts_.end()) {
        text += fmt::format("\n  shard {} is missing: {} run {}{} -o shard-{}-of-{}", shard.name(), called_program(),
                            shell_word(parts_.front().path + "/suite.toml"), shard_flags(shard), number, shard.of);
      } else {
        text += fmt::format("\n  {} lacks {} of {} trials: {} run --resume {}{}", part->name(), trials,
                            trials_of_.at(number), called_program(), shell_word(part->path), setting_flags(shard));
      }
    }
    return text;
  }

  /// Notes where the merged rows may not be what one machine would have measured.
  void tell_machines() const {
    std::set<std::string> hosts, sets;
    for (const Part& part : parts_) {
      const nlohmann::json context = nlohmann::json::parse(part.context, nullptr, false);
      const nlohmann::json machine = context.value("machine", nlohmann::json::object());
      const auto text = [&](const char* name) {
        return machine.contains(name) && machine[name].is_string() ? machine[name].get<std::string>() : std::string();
      };
      hosts.insert(quotable(text("host")));
      sets.insert(quotable(text("isa")));
    }
    const bool real = std::any_of(suite_.trials.begin(), suite_.trials.end(),
                                  [](const TrialSpec& spec) { return spec.transport != "sim"; });
    if (sets.size() > 1) {
      tell(
          fmt::format("note: the shards ran on machines with different instruction sets ({}), so losses and parameters "
                      "may differ in their last bits from those of one machine\n",
                      fmt::join(sets, "; ")));
    }
    if (real && hosts.size() > 1) {
      tell(
          fmt::format("note: trials in real processes were measured on {} machines ({}): compare their rates only if "
                      "these are equal\n",
                      hosts.size(), fmt::join(hosts, ", ")));
    }
  }

  /// Returns the context of the merged run. Its "shards" are the contexts of all shards.
  std::string context() const {
    std::string shards;
    for (const Part& part : parts_) shards += (shards.empty() ? "" : ",") + part.context;
    std::vector<std::string> notes;
    const nlohmann::json first = nlohmann::json::parse(parts_.front().context, nullptr, false);
    for (const nlohmann::json& note : first.value("notes", nlohmann::json::array()))
      notes.push_back(note.get<std::string>());
    return context_json(options_.command_line, {}, "", notes, "{\"shards\": [" + shards + "]}");
  }

  void copy_files(const RunFolder& merged) const {
    if (!run_.dump.empty()) begin_dump(merged, run_.dump);
    std::size_t without_log = 0;
    for (const auto& [id, found] : found_) {
      stop_if_interrupted();
      const RunFolder& from = found.part->folder;
      const bool logged = copy_if_there(from.event_log(id), merged.event_log(id));
      if (!logged && found.row->record.status == TrialStatus::kOk) ++without_log;
      if (!run_.dump.empty()) copy_if_there(from.dump(id), merged.dump(id));
    }
    if (run_.events != "none" && without_log > 0)
      tell(fmt::format("note: {} event logs are not in the folders of their shards\n", without_log));
  }

  int conclude(const RunFolder& merged) const {
    tell(fmt::format("merged: {} of {} trials, from {} folders\nresults: {}\n", merged.rows().size(),
                     suite_.trials.size(), parts_.size(), printable(merged.path())));
    if (!missing_.empty())
      tell(how_to_resume("run the trials that are missing with", merged.path(), run_, false) + "\n");
    const bool failed = std::any_of(merged.rows().begin(), merged.rows().end(),
                                    [](const TrialRow& row) { return row.record.status != TrialStatus::kOk; });
    if (failed) tell_failures(merged, run_);
    return static_cast<int>(failed ? ExitCode::kTrialsFailed : ExitCode::kOk);
  }

  const MergeOptions& options_;
  RunOptions run_;                                  // of the whole run
  Suite suite_;                                     // with the trials of the whole run
  std::vector<Part> parts_;                         // by number
  std::map<std::string, Found> found_;              // the rows to take, by trial
  std::map<int, std::size_t> trials_of_, missing_;  // number of trials by shard
};

}  // namespace

int command_merge(const MergeOptions& options) {
  count_interrupts();
  check_free(without_detours(options.output), options.folders);
  return Merge(options).execute();
}

}  // namespace hopbench
