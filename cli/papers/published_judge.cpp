// Chooses which commands of figures.toml run, and judges their values.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "backends/base/text.h"
#include "cli/papers/published.h"
#include "cli/tell.h"

namespace hopbench {
namespace {

constexpr double kMostOthers = 0.1;  // share of the cores' time

bool contains(const std::vector<std::string>& list, const std::string& id) {
  return std::find(list.begin(), list.end(), id) != list.end();
}

/// A call of the command, which measures run by run.
class Judging {
 public:
  Judging(const Published& published, const PublishedPlan& plan, const PublishedWorld& world, LastValues& values)
      : published_(published), plan_(plan), world_(world), values_(values) {
    for (const PublishedClaim& claim : published_.claims) {
      if (asked(claim.id)) runs_.insert(claim.run);
    }
    for (const PublishedTable& table : published_.tables) {
      if (asked(table.id)) runs_.insert(table.runs.begin(), table.runs.end());
    }
  }

  std::vector<JudgedFigure> all() {
    for (const PublishedRun& run : published_.runs) {
      if (wanted(run)) one(run);
    }
    for (const PublishedRun* run : doubtful_) again(*run);
    return std::move(figures_);
  }

 private:
  bool asked(const std::string& id) const { return plan_.ids.empty() || contains(plan_.ids, id); }

  std::vector<const PublishedClaim*> claims_of(const PublishedRun& run) const {
    std::vector<const PublishedClaim*> chosen;
    for (const PublishedClaim& claim : published_.claims) {
      const bool left_out = plan_.judged && claim.kind == PublishedClaim::Kind::kRecorded;
      if (claim.run == run.id && runs_.contains(run.id) && !left_out) chosen.push_back(&claim);
    }
    return chosen;
  }

  std::vector<const PublishedTable*> tables_of(const PublishedRun& run) const {
    std::vector<const PublishedTable*> chosen;
    for (const PublishedTable& table : published_.tables) {
      if (!plan_.judged && runs_.contains(run.id) && contains(table.runs, run.id)) chosen.push_back(&table);
    }
    return chosen;
  }

  bool wanted(const PublishedRun& run) const { return !claims_of(run).empty() || !tables_of(run).empty(); }

  void one(const PublishedRun& run) {
    std::string why = world_.missing(run.needs);
    if (why.empty() && plan_.minutes && run.minutes > *plan_.minutes)
      why = fmt::format("takes {:g} minutes, and --minutes is {:g}", run.minutes, *plan_.minutes);
    if (!why.empty()) return all_of(run, PublishedVerdict::kNotRun, why);
    tell(fmt::format("{}: {} (about {:g} min)\n", run.id, run.text(), run.minutes));
    const RanCommand ran = world_.run(run);
    const std::string doubt = doubt_about(run, ran);
    if (doubt.empty()) return ended(run, ran);
    tell(fmt::format("{}: {}: once more at the end\n", run.id, doubt));
    doubtful_.push_back(&run);
  }

  /// Runs a command once more. This is done late, since what neighbours do to a virtual machine lasts for minutes.
  void again(const PublishedRun& run) {
    tell(fmt::format("{} once more: {} (about {:g} min)\n", run.id, run.text(), run.minutes));
    ended(run, world_.run(run));
  }

  void ended(const PublishedRun& run, const RanCommand& ran) {
    if (ran.too_long) return all_of(run, PublishedVerdict::kFailed, "took ten times as long as 'minutes' says");
    if (ran.exit_code == int(ExitCode::kEnvironment)) return all_of(run, PublishedVerdict::kNotRun, ran.said);
    if (std::find(run.exit_codes.begin(), run.exit_codes.end(), ran.exit_code) == run.exit_codes.end())
      return all_of(run, PublishedVerdict::kFailed, fmt::format("exit code {}: {}", ran.exit_code, ran.said));
    judge_run(run, ran, is_disturbed(run, ran));
  }

  static bool is_disturbed(const PublishedRun& run, const RanCommand& ran) {
    return run.needs_quiet() && ran.others && *ran.others > kMostOthers;
  }

  /// Returns a reason to measure a second time, or "". A virtual machine does not see what its neighbours take of the
  /// memory's bandwidth, so one false result may be theirs; two in a row count as false.
  std::string doubt_about(const PublishedRun& run, const RanCommand& ran) const {
    if (is_disturbed(run, ran)) return fmt::format("others took {:.0f} % of the cores' time", 100 * *ran.others);
    if (!run.needs_quiet()) return "";
    for (const PublishedClaim* claim : claims_of(run)) {
      if (depends_on_others(*claim) && is_false(*claim, run, ran)) return fmt::format("{} is false", claim->id);
    }
    return "";
  }

  static bool depends_on_others(const PublishedClaim& claim) {
    return claim.kind == PublishedClaim::Kind::kRatio || claim.kind == PublishedClaim::Kind::kLimit;
  }

  static bool is_false(const PublishedClaim& claim, const PublishedRun& run, const RanCommand& ran) {
    try {
      const MeasuredJson document(ran.json, run.text());
      const double value = statistic_of(claim.reading.statistic, document.values(claim.reading));
      return judge(claim, value, false) == PublishedVerdict::kFalse;
    } catch (const Error&) {
      return false;  // judged as failed, whatever the machine does
    }
  }

  JudgedFigure begun(const std::string& id, const PublishedRun& run) const {
    JudgedFigure figure;
    figure.id = id;
    figure.command = run.text();
    if (const auto last = values_.find(id); last != values_.end()) figure.last = last->second.text;
    return figure;
  }

  /// Gives everything that the run measures the same verdict.
  void all_of(const PublishedRun& run, PublishedVerdict verdict, const std::string& reason) {
    const auto add = [&](const std::string& id, const std::string& range) {
      JudgedFigure figure = begun(id, run);
      figure.verdict = verdict;
      figure.reason = reason;
      figure.range = range;
      figures_.push_back(figure);
    };
    for (const PublishedClaim* claim : claims_of(run)) add(claim->id, Published::range_text(*claim));
    for (const PublishedTable* table : tables_of(run)) add(table->part(run.id), "");
  }

  void judge_run(const PublishedRun& run, const RanCommand& ran, bool disturbed) {
    std::size_t first = figures_.size();
    std::optional<MeasuredJson> document;
    try {
      document.emplace(ran.json, run.text());
    } catch (const Error& error) {
      return all_of(run, PublishedVerdict::kFailed, error.what());
    }
    bool writable = !disturbed;
    for (const PublishedClaim* claim : claims_of(run)) {
      figures_.push_back(judged(*claim, run, *document, ran.others, disturbed));
      const PublishedVerdict verdict = figures_.back().verdict;
      writable = writable && (verdict == PublishedVerdict::kHolds || verdict == PublishedVerdict::kRecorded);
    }
    if (plan_.judged) return;
    if (writable) {
      for (const PublishedClaim* claim : claims_of(run)) {
        keep(*claim, run, figures_[first]);
        figures_[first++].written = true;
      }
    }
    for (const PublishedTable* table : tables_of(run)) {
      figures_.push_back(writable ? kept(*table, run, *document) : left(*table, run, disturbed));
    }
    if (writable) world_.save(values_);
  }

  JudgedFigure judged(const PublishedClaim& claim, const PublishedRun& run, const MeasuredJson& document,
                      std::optional<double> others, bool disturbed) const {
    JudgedFigure figure = begun(claim.id, run);
    figure.range = Published::range_text(claim);
    figure.others = others;
    try {
      const std::vector<double> found = document.values(claim.reading);
      figure.value = statistic_of(claim.reading.statistic, found);
      figure.shown = document.shown(claim.reading);
      figure.verdict = judge(claim, *figure.value, disturbed);
    } catch (const Error& error) {
      figure.verdict = PublishedVerdict::kFailed;
      figure.reason = error.what();
    }
    if (figure.verdict == PublishedVerdict::kBusy)
      figure.reason = fmt::format("others took {:.0f} % of the cores' time", 100 * others.value_or(0));
    return figure;
  }

  LastValue measured_by(const PublishedRun& run) const {
    LastValue last;
    last.measured = world_.date;
    last.commit = world_.commit;
    last.machine = world_.machine;
    last.commands = {run.text()};
    return last;
  }

  void keep(const PublishedClaim& claim, const PublishedRun& run, const JudgedFigure& figure) {
    LastValue last = measured_by(run);
    last.text = figure.shown;
    last.value = figure.value;
    last.at_least = claim.at_least;
    last.at_most = claim.at_most;
    last.widened = claim.widened;
    values_[claim.id] = last;
  }

  /// Takes over the run's rows of a table.
  JudgedFigure kept(const PublishedTable& table, const PublishedRun& run, const MeasuredJson& document) {
    JudgedFigure figure = begun(table.part(run.id), run);
    try {
      LastValue last = measured_by(run);
      last.heads = table.heads();
      last.rows = document.rows(table);
      figure.verdict = PublishedVerdict::kRecorded;
      figure.shown = fmt::format("{} rows", last.rows.size());
      values_[figure.id] = last;
      figure.written = true;
    } catch (const Error& error) {
      figure.verdict = PublishedVerdict::kFailed;
      figure.reason = error.what();
    }
    return figure;
  }

  JudgedFigure left(const PublishedTable& table, const PublishedRun& run, bool disturbed) const {
    JudgedFigure figure = begun(table.part(run.id), run);
    figure.verdict = disturbed ? PublishedVerdict::kBusy : PublishedVerdict::kNotRun;
    figure.reason = disturbed ? "the run was disturbed" : "the run that measures it has a false or failed claim";
    return figure;
  }

  const Published& published_;
  const PublishedPlan& plan_;
  const PublishedWorld& world_;
  LastValues& values_;
  std::set<std::string> runs_;                 // that are run
  std::vector<const PublishedRun*> doubtful_;  // to be run once more
  std::vector<JudgedFigure> figures_;
};

}  // namespace

std::vector<JudgedFigure> judge_published(const Published& published, const PublishedPlan& plan,
                                          const PublishedWorld& world, LastValues& values) {
  return Judging(published, plan, world, values).all();
}

int exit_code_of(const std::vector<JudgedFigure>& figures) {
  const auto any = [&](PublishedVerdict verdict) {
    return std::any_of(figures.begin(), figures.end(), [&](const JudgedFigure& f) { return f.verdict == verdict; });
  };
  if (any(PublishedVerdict::kFalse)) return static_cast<int>(ExitCode::kRegression);
  return static_cast<int>(any(PublishedVerdict::kFailed) ? ExitCode::kTrialsFailed : ExitCode::kOk);
}

}  // namespace hopbench
