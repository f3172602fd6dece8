#include "results/tables/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "backends/base/record/kinds.h"
#include "backends/base/text.h"
#include "backends/base/time.h"
#include "results/files/record_json.h"
#include "results/tables/summary_parts.h"
#include "results/tables/terms.h"

namespace hopbench {
namespace {

using Trials = std::vector<const TrialRow*>;

constexpr std::size_t kReasonsShown = 5;

/// Returns the value that the trials have in common, or all values that occur if they differ.
template <class Get>
std::string common(const Trials& trials, Get get) {
  std::vector<std::string> seen;
  for (const TrialRow* row : trials) {
    const std::string value = get(row->labels);
    if (!value.empty() && std::find(seen.begin(), seen.end(), value) == seen.end()) seen.push_back(value);
  }
  return join(seen, " | ");
}

/// Returns the exact time if it is short, as that of a pace, else four digits of it: a trace's mean.
std::string seconds_text(double s) {
  constexpr std::size_t kShort = 8;
  const std::string exact = duration_text(seconds_to_duration(s).count());
  return exact.size() <= kShort ? exact : number_text(s, 4) + " s";
}

std::string clock_note(const Trials& trials) {
  return common(trials, [](const TrialLabels& labels) {
    const bool timed = labels.cost_s > 0;
    if (labels.clock == "virtual") {
      return "virtual time" + (timed ? ", a step costs " + seconds_text(labels.cost_s) : std::string());
    }
    return "real time, " + (timed ? "a step paced to " + seconds_text(labels.cost_s) : std::string("unpaced"));
  });
}

std::string setting_note(const Trials& trials) {
  std::vector<std::string> parts;
  const auto add = [&](const std::string& before, const std::string& value, const std::string& after) {
    if (!value.empty()) parts.push_back(before + value + after);
  };
  add("", common(trials, [](const TrialLabels& l) { return l.world > 0 ? fmt::format("{}", l.world) : ""; }), " ranks");
  add("", common(trials, [](const TrialLabels& l) { return l.hosts > 0 ? fmt::format("{}", l.hosts) : ""; }), " hosts");
  add("topology ", common(trials, [](const TrialLabels& l) { return l.topology; }), "");
  add("", common(trials, [](const TrialLabels& l) { return l.transport; }), "");
  add("network ", common(trials, [](const TrialLabels& l) { return l.network; }), "");
  return join(parts, ", ");
}

/// Returns a note if TCP used BBR, which does not share a full link evenly and is not the TCP of virtual time.
std::string tcp_note(const Trials& trials) {
  for (const TrialRow* row : trials)
    for (const RankRecord& rank : row->record.ranks)
      if (rank.congestion_control.starts_with("bbr"))
        return "TCP's congestion control was " + rank.congestion_control +
               ": where messages fill a link, rates are further from virtual time's than with reno or cubic";
  return "";
}

/// Returns a note on shared GPUs. Without MPS, ranks on one GPU take turns, so a rank's step holds parts of others'.
std::string sharing_note(const Trials& trials) {
  int most = 0;
  bool in_turns = false;
  for (const TrialRow* row : trials) {
    std::map<std::pair<std::string, std::string>, int> ranks_of;  // machine and GPU
    for (const RankRecord& rank : row->record.ranks) {
      if (rank.gpu.empty()) continue;
      most = std::max(most, ++ranks_of[{rank.machine, rank.gpu}]);
      in_turns = in_turns || !rank.gpu_shared_well;
    }
  }
  if (most < 2) return "";
  return fmt::format("up to {} ranks shared a GPU, {}", most,
                     in_turns ? "in turns: a rank's step holds parts of the others'" : "side by side (MPS)");
}

std::string fallback_note(const Trials& trials) {
  int most = 0;
  for (const TrialRow* row : trials)
    for (const RankRecord& rank : row->record.ranks) most = std::max(most, rank.gpu_fallbacks);
  return most == 0 ? "" : "GPUs were not used as they should be: gpu_remarks in host.csv says why";
}

std::string work_note(const Trials& trials) {
  std::vector<std::string> parts;
  const auto add = [&](const std::string& before, const std::string& value) {
    if (!value.empty()) parts.push_back(before + value);
  };
  add("", common(trials, [](const TrialLabels& l) {
        return l.model + (l.dataset.empty() ? "" : " on " + l.dataset) + (l.split.empty() ? "" : " (" + l.split + ")");
      }));
  add("batch ", common(trials, [](const TrialLabels& l) { return l.batch > 0 ? fmt::format("{}", l.batch) : ""; }));
  add("", common(trials, [](const TrialLabels& l) { return l.optimizer; }));
  add("", common(trials, [](const TrialLabels& l) {
        if (!l.learns) return std::string();
        return std::string(l.tuned ? "learning rates tuned" : "untuned: learning rates are the suite's");
      }));
  add("backend ", common(trials, [](const TrialLabels& l) { return l.backend; }));
  return join(parts, ", ");
}

/// Returns "rests on: hop tokens, hop backup: memory (hop/H1-H14); ps_ssp: full-text"
std::string sources_note(const Group& group) {
  std::vector<std::string> sources;
  std::map<std::string, std::vector<std::string>> variants;
  for (const Variant& variant : group.variants) {
    const TrialLabels& labels = variant.trials.front()->labels;
    if (labels.source.empty()) continue;
    const std::string source = (labels.source == "own" ? "proposed here" : provenance(labels.source)) +
                               (labels.reading.empty() ? std::string() : " (" + labels.reading + ")");
    if (variants[source].empty()) sources.push_back(source);
    variants[source].push_back(variant.name);
  }
  std::vector<std::string> parts;
  for (const std::string& source : sources) parts.push_back(join(variants[source], ", ") + ": " + source);
  return parts.empty() ? "" : "rests on: " + join(parts, "; ");
}

/// Returns the warnings of faults that never came. The faults stand behind the mark.
std::set<std::string> faults_that_never_came(const Group& group) {
  std::set<std::string> said;
  for (const TrialRow* row : group.trials()) {
    for (const Warning& warning : row->record.warnings) {
      if (warning.kind == WarningKind::kFaultNeverCame) said.insert(in_words(warning));
    }
  }
  return said;
}

void add_marks(Table& table, const Group& group) {
  std::set<std::string> marks;
  std::vector<std::string> failures;
  for (const TrialRow* row : group.trials()) {
    for (const std::string& mark : marks_of(*row)) marks.insert(mark);
    if (row->record.status != TrialStatus::kOk) {
      const Failure& failure = row->record.failure;  // trials.csv says what each rank did
      failures.push_back(row->record.id + ": " +
                         (failure.text.empty() ? to_string(row->record.status) : what_happened(failure)));
    }
  }
  for (const std::string& fault : faults_that_never_came(group)) table.fact(fault);
  for (const std::string& mark : marks) {
    const std::string meaning = meaning_of(mark);
    if (!meaning.empty()) table.note(mark + ": " + meaning);
  }
  for (std::size_t i = 0; i < std::min(failures.size(), kReasonsShown); ++i) table.fact(failures[i]);
  if (failures.size() > kReasonsShown)
    table.fact(fmt::format("and {} more that did not finish: see trials.csv", failures.size() - kReasonsShown));
}

/// Returns what the speed-ups refer to, or why there are none; "" for a table without them.
std::string speed_up_note(const Table& table, const Group& group) {
  if (!table.has("speed-up")) return "";
  const Variant* reference = group.find(group.reference);
  if (reference == nullptr) return "no speed-up: the reference '" + group.reference + "' has no trial here";
  if (reference->ok().empty()) return "no speed-up: no trial of the reference '" + group.reference + "' ended well";
  return "speed-up over " + group.reference +
         ": geometric mean of ratios paired by repeat; [a, b]: 95 % t-interval (from 3 pairs)";
}

void add_common_notes(Table& table, const Group& group) {
  const Trials trials = group.trials();
  std::vector<Note> notes;
  for (const std::string& text :
       {clock_note(trials), setting_note(trials), tcp_note(trials), sharing_note(trials), fallback_note(trials),
        work_note(trials),
        std::string("n: repeats; medians over them; (a .. b): smallest and largest; [a, b]: 95 % "
                    "interval (from 6)"),
        speed_up_note(table, group)}) {
    notes.push_back({text});
  }
  table.notes.insert(table.notes.begin(), notes.begin(), notes.end());
  table.note(sources_note(group));
  std::erase_if(table.notes, [](const Note& note) { return note.text.empty(); });
  add_marks(table, group);
}

}  // namespace

std::vector<Table> summarise(std::span<const TrialRow> rows, const std::string& reference) {
  std::vector<Table> tables;
  for (const Group& group : groups_of(rows, reference)) {
    tables.push_back(group.is_convergence() ? convergence_table(group) : rate_table(group));
    add_fault_columns(tables.back(), group, rows);
    add_common_notes(tables.back(), group);
  }
  return tables;
}

}  // namespace hopbench
