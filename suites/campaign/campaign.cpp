#include "suites/campaign/campaign.h"

#include <unistd.h>

#include <algorithm>
#include <span>

#include "backends/base/process/signals.h"
#include "backends/base/process/tell.h"
#include "results/arithmetic/steady.h"
#include "suites/campaign/at_once.h"
#include "suites/campaign/errands.h"
#include "suites/campaign/labels.h"
#include "suites/campaign/progress.h"

namespace hopbench {
namespace {

bool in_virtual_time(const TrialSpec* spec) { return spec->transport == "sim"; }

/// Gives the trial its part of the cores of the process that computes it: a trial on each core is faster than a trial
/// whose gradients go to all of them.
TrialSpec shared_out(TrialSpec spec, const Share& share) {
  if (spec.sim_threads == 0) spec.sim_threads = std::max(1, share.cores / share.jobs);
  return spec;
}

class Campaign {
 public:
  Campaign(const std::vector<const TrialSpec*>& trials, const CampaignSetting& setting,
           const std::function<void(TrialRow)>& keep)
      : trials_(trials),
        setting_(setting),
        keep_(keep),
        interrupts_(setting.interrupts != nullptr ? *setting.interrupts : count_interrupts()),
        progress_(trials.size(), isatty(STDERR_FILENO) != 0 && !under_ci()) {}

  void run() {
    const bool any = std::any_of(trials_.begin(), trials_.end(), in_virtual_time);
    shares_ = shares_of(any ? setting_.fleet : nullptr, setting_.jobs, tell);
    for (auto begin = trials_.begin(); begin != trials_.end() && !over();) {
      const auto end = in_virtual_time(*begin) ? std::find_if_not(begin, trials_.end(), in_virtual_time) : begin + 1;
      run_stretch(std::span(begin, end));
      begin = end;
    }
  }

 private:
  bool over() const { return interrupts_.load() > 0; }

  /// Runs trials of virtual time, or one in real processes.
  void run_stretch(std::span<const TrialSpec* const> trials) {
    std::vector<TrialRow> rows(trials.size());
    std::vector<Share> shares = shares_;
    spread(shares, rows.size());
    at_once(
        rows.size(), shares.front().jobs,
        [&](std::size_t i, int thread) { rows[i] = run_trial(shared_out(*trials[i], shares.front()), thread); },
        [&](std::size_t i) { keep_(std::move(rows[i])); }, [&] { return over(); }, helper_of(trials, shares, rows));
  }

  /// Returns what has the other processes of the run compute some of these trials; nothing if they cannot. They write
  /// no files, so dumps are made here.
  std::function<void(Pieces&)> helper_of(std::span<const TrialSpec* const> trials, const std::vector<Share>& shares,
                                         std::vector<TrialRow>& rows) {
    const bool any = std::any_of(shares.begin(), shares.end(),
                                 [](const Share& share) { return share.process != 0 && share.jobs > 0; });
    const TrialSpec& first = *trials.front();
    if (!any || !in_virtual_time(&first) || setting_.files(first).dump.any()) return nullptr;
    return [this, trials, &shares, &rows](Pieces& pieces) {
      ErrandWork work;
      work.errand = [&](std::size_t i, const Share& share, int slot) {
        progress_.begin(*trials[i]);
        ExecuteOptions elsewhere = setting_.files(*trials[i]);
        elsewhere.at_once = {slot, share.jobs};
        return errand_of(shared_out(*trials[i], share), elsewhere);
      };
      work.keep = [&](std::size_t i, const Share& share, LaunchResult result) {
        const TrialSpec& spec = *trials[i];
        const ExecuteOptions elsewhere = setting_.files(spec);
        rows[i] = finished(spec, record_of_errand(spec, result, elsewhere, machine_of_process(share.process)));
      };
      work.lost = [&](std::size_t i) { progress_.lost(*trials[i]); };
      work.interrupts = [&] { return interrupts_.load(); };
      work.tell = tell;
      do_elsewhere(*setting_.fleet, shares, pieces, work);
    };
  }

  std::string machine_of_process(int process) const {
    return setting_.fleet == nullptr ? "" : setting_.fleet->members()[std::size_t(process)].machine;
  }

  /// Measures a trial, and again if the machine disturbed it: by a rule that was set before, blind to the outcome.
  TrialRow run_trial(const TrialSpec& spec, int thread) {
    TrialRow row = measure(spec, thread);
    for (int again = 0; again < spec.remeasure && disturbed(row.record) && !over(); ++again) {
      progress_.again();
      row = measure(spec, thread);
      row.record.warnings.emplace_back(WarningKind::kMeasuredAgain, "the machine disturbed it before");
    }
    return row;
  }

  TrialRow measure(const TrialSpec& spec, int thread) {
    progress_.begin(spec);
    ExecuteOptions with = setting_.files(spec);
    with.interrupts = &interrupts_;
    with.progress = [&](const Board& board, const TrialSpec& running) { progress_.tick(board, running); };
    with.fleet = setting_.fleet;
    with.at_once = {thread, std::max(thread + 1, shares_.front().jobs)};
    TrialRecord record = setting_.execute(spec, with);
    if (in_virtual_time(&spec)) {
      for (RankRecord& rank : record.ranks) rank.machine = machine_of_process(0);
    }
    return finished(spec, std::move(record));
  }

  TrialRow finished(const TrialSpec& spec, TrialRecord record) {
    if (!setting_.rates) record.warnings.clear();
    progress_.end(spec, record);
    return {labels_of(spec), std::move(record)};
  }

  const std::vector<const TrialSpec*>& trials_;
  const CampaignSetting& setting_;
  const std::function<void(TrialRow)>& keep_;
  const std::atomic<int>& interrupts_;
  Progress progress_;
  std::vector<Share> shares_;  // of all processes, in trials of virtual time
};

}  // namespace

void run_campaign(const std::vector<const TrialSpec*>& trials, const CampaignSetting& setting,
                  const std::function<void(TrialRow)>& keep) {
  Campaign(trials, setting, keep).run();
}

std::vector<TrialRow> run_all(const std::vector<TrialSpec>& trials, const CampaignSetting& setting) {
  std::vector<const TrialSpec*> all;
  for (const TrialSpec& spec : trials) all.push_back(&spec);
  std::vector<TrialRow> rows;
  run_campaign(all, setting, [&](TrialRow row) { rows.push_back(std::move(row)); });
  const std::atomic<int>& interrupts = setting.interrupts != nullptr ? *setting.interrupts : count_interrupts();
  if (interrupts.load() > 0) throw Error(ExitCode::kInterrupted, "interrupted");
  return rows;
}

}  // namespace hopbench
