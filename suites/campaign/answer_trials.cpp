#include "suites/campaign/answer_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backends/base/error.h"
#include "backends/base/printable.h"
#include "backends/base/process/signals.h"
#include "backends/base/process/tell.h"
#include "backends/base/text.h"
#include "results/files/context.h"
#include "results/files/files.h"
#include "suites/campaign/shard.h"

namespace hopbench {

AnswerTrials::AnswerTrials(AnswerPlace place, CampaignSetting setting)
    : place_(std::move(place)), setting_(std::move(setting)) {
  if (place_.resume.empty()) return;
  resumed_ = RunFolder::open(place_.resume);
  const bool same = resumed_->suite_toml() == place_.suite.resolved &&
                    maker_of(resumed_->context_json()) == maker_of(context_json({}));
  if (!same)
    throw usage_error(fmt::format(
        "--resume {}: its trials are of another file, other options or another build of hopbench: leave --resume out",
        printable(place_.resume)));
  resumed_->claim();
  for (const TrialRow& row : resumed_->rows()) {
    if (row.record.status == TrialStatus::kOk || fails_again(row)) add(row);
  }
}

bool AnswerTrials::has(const TrialSpec& spec) const {
  const auto found = places_.find(spec.id());
  return found != places_.end() && rows_[found->second].record.hash == spec.hash();
}

void AnswerTrials::add(TrialRow row) {
  const auto [at, fresh] = places_.try_emplace(row.record.id, rows_.size());
  if (fresh) rows_.emplace_back();
  rows_[at->second] = std::move(row);
}

std::vector<TrialRow> AnswerTrials::rows_of(const std::vector<TrialSpec>& trials) {
  std::vector<const TrialSpec*> left;
  for (const TrialSpec& spec : trials) {
    if (!has(spec)) left.push_back(&spec);
  }
  if (left.size() < trials.size())
    tell(fmt::format("{} of {} trials are done already\n", trials.size() - left.size(), trials.size()));
  bool interrupted = false;
  run_campaign(left, setting_, [&](TrialRow row) {
    interrupted = interrupted || row.record.status == TrialStatus::kInterrupted;
    if (row.record.status != TrialStatus::kInterrupted) add(std::move(row));
  });
  if (interrupted || !std::all_of(trials.begin(), trials.end(), [&](const TrialSpec& spec) { return has(spec); }))
    keep();
  std::vector<TrialRow> rows;
  for (const TrialSpec& spec : trials) rows.push_back(rows_[places_.at(spec.id())]);
  return rows;
}

void AnswerTrials::write(const std::string& path, const std::function<void(const RunFolder&)>& more) {
  if (resumed_ && path == place_.resume) {
    resumed_->rewrite(rows_);
    resumed_->write_tables();
    more(*resumed_);
    return;
  }
  UnfinishedFolder unfinished(path);
  RunFolder folder = RunFolder::create(unfinished.path(), place_.suite.resolved,
                                       context_json(place_.command_line, {}, place_.processes, place_.suite.notes));
  folder.claim();
  folder.rewrite(rows_);
  folder.write_tables();
  more(folder);
  folder.finish(unfinished, path);
}

void AnswerTrials::keep() {
  const std::string folder = place_.resume.empty() ? place_.folder : place_.resume;
  if (rows_.empty()) {
    tell("interrupted: nothing is written\n");
  } else {
    write(folder, [](const RunFolder&) {});
    std::string command = called_program();
    for (std::size_t i = 1; i < place_.command_line.size(); ++i) command += " " + shell_word(place_.command_line[i]);
    if (place_.resume.empty()) command += " --resume " + shell_word(folder);
    tell(fmt::format("interrupted: {} trials are kept; go on with: {}\n", rows_.size(), command));
  }
  throw Error(ExitCode::kInterrupted, "interrupted");
}

}  // namespace hopbench
