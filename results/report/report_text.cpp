// The report's texts and tables: failures and warnings, the summary, the context of the run.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "backends/base/record/kinds.h"
#include "backends/base/text.h"
#include "results/files/record_json.h"
#include "results/report/report_parts.h"
#include "results/tables/cost.h"
#include "results/tables/summary.h"
#include "results/tables/summary_parts.h"

namespace hopbench::report {
namespace {

using Json = nlohmann::json;

std::string plain_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return "-";
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Adds a row for each value, named "machine.cpu" and so on.
void flatten(const Json& value, const std::string& name, Table& table) {
  if (value.is_object()) {
    for (const auto& [key, inner] : value.items()) flatten(inner, name.empty() ? key : name + "." + key, table);
  } else if (name != "command") {  // it stands above, as it would be typed
    table.rows.push_back({name, plain_text(value)});
  }
}

std::string command_text(const Json& context) {
  if (!context.is_object() || !context.contains("command") || !context.at("command").is_array()) return "";
  std::vector<std::string> words;
  for (const Json& word : context.at("command")) words.push_back(shell_word(plain_text(word)));
  return join(words, " ");
}

/// The number of trials and the variants that have a mark, and its details beyond its name.
struct Marked {
  int trials = 0;
  std::set<std::string> variants, details;
};

constexpr const char* kAtTheEdge = "learning rate at the edge";

std::map<std::string, Marked> marks_by_name(const std::vector<Group>& groups,
                                            const std::set<std::string>& at_the_edge) {
  std::map<std::string, Marked> marks;
  for (const Group& group : groups) {
    for (const TrialRow* row : group.trials()) {
      std::vector<std::string> of_trial = marks_of(*row);
      if (row->labels.tuned && at_the_edge.contains(row->labels.variant)) of_trial.emplace_back(kAtTheEdge);
      if (row->labels.learns && !row->labels.tuned) of_trial.emplace_back("untuned");
      for (const std::string& mark : of_trial) {
        if (mark == "failed" || mark == "interrupted") continue;  // these have a table of their own
        Marked& marked = marks[mark];
        ++marked.trials;
        marked.variants.insert(row->labels.variant);
        for (const Warning& warning : row->record.warnings) {
          if (mark == to_string(warning.kind) && !warning.text.empty()) marked.details.insert(warning.text);
        }
      }
    }
  }
  return marks;
}

std::string mark_says(const std::string& mark, const Marked& marked) {
  if (mark == "untuned") return "learning rates are the suite's: they were not tuned with one budget for every variant";
  if (mark == kAtTheEdge)
    return "the best learning rate was the first or the last that hopbench tune tried: a better one may lie beyond";
  std::string text = meaning_of(mark);
  if (!marked.details.empty()) text += (text.empty() ? "" : "; ") + *marked.details.begin();
  return text;
}

}  // namespace

Made made_of(const std::string& context_json) {
  const Json context = Json::parse(context_json, nullptr, false);
  Made made;
  if (!context.is_object()) return made;
  if (context.contains("started")) made.when = plain_text(context.at("started"));
  if (!context.contains("hopbench") || !context.at("hopbench").is_object()) return made;
  const Json& program = context.at("hopbench");
  if (!program.contains("version")) return made;
  made.version = plain_text(program.at("version"));
  if (!program.contains("commit")) return made;
  const bool changed = program.contains("changed") && program.at("changed") == true;
  made.version +=
      fmt::format(" ({}{})", plain_text(program.at("commit")).substr(0, 12), changed ? ", with changes" : "");
  return made;
}

void add_warnings(Page& page, const std::vector<Group>& groups, const Drawn& drawn,
                  const std::set<std::string>& at_the_edge) {
  page.section("warnings", "Warnings");
  Table failures{.columns = {"trial", "how it ended", "why"}};
  for (const Group& group : groups) {
    for (const TrialRow* row : group.trials()) {
      if (row->record.status == TrialStatus::kOk) continue;
      failures.rows.push_back({row->record.id, to_string(row->record.status),
                               row->record.failure.text.empty() ? std::string("-") : row->record.failure.text});
    }
  }
  const std::map<std::string, Marked> marks = marks_by_name(groups, at_the_edge);
  std::set<std::string> all_variants;
  for (const Group& group : groups) {
    for (const Variant& variant : group.variants) all_variants.insert(variant.name);
  }
  if (const std::size_t n = failures.rows.size(); n > 0) {
    page.paragraph(fmt::format("{} trial{} did not end well.", n, n == 1 ? "" : "s"), "bad");
    page.table(failures, "bad text");
  }
  if (!marks.empty()) {
    Table table{.columns = {"mark", "trials", "of", "what it means"}};
    for (const auto& [mark, marked] : marks) {
      const std::vector<std::string> variants(marked.variants.begin(), marked.variants.end());
      const bool everybody = variants.size() > 1 && variants.size() == all_variants.size();
      table.rows.push_back({mark, fmt::format("{}", marked.trials), everybody ? "all variants" : join(variants, ", "),
                            mark_says(mark, marked)});
    }
    page.table(table, "text");
  }
  bool flawed = false;
  for (const Shown& shown : drawn.trials) {
    if (shown.digest.flaw.empty()) continue;
    page.paragraph(shown.digest.flaw, "bad");
    flawed = true;
  }
  if (failures.rows.empty() && marks.empty() && !flawed) page.paragraph("none");
}

namespace {

void show(Page& page, std::vector<Table> tables) {
  std::set<std::string> said;
  say_once(tables, said);
  for (const Table& table : tables) {
    page.heading(table.in_words());
    page.table(for_a_screen(table), "summary");
    for (const std::string& note : notes_of(table)) page.paragraph(note, "note");
  }
}

}  // namespace

void add_tables(Page& page, std::span<const TrialRow> rows, const std::string& reference) {
  page.section("summary", "Summary");
  show(page, summarise(rows, reference));
}

void add_who_pays(Page& page, std::span<const TrialRow> rows) {
  std::vector<Table> tables = skewed_who_pays(rows);
  if (tables.empty()) return;
  page.section("who-pays", "Who pays");
  show(page, std::move(tables));
}

void add_context(Page& page, const RunFolder& run, std::span<const TrialRow> rows) {
  page.section("context", "Context");
  const std::string text = run.context_json();
  const Json context = Json::parse(text, nullptr, false);
  std::set<std::uint64_t> seeds;
  std::set<std::uint32_t> repeats;
  bool virtual_time = false;
  for (const TrialRow& row : rows) {
    seeds.insert(row.labels.seed);
    repeats.insert(row.labels.repeat);
    virtual_time = virtual_time || row.labels.clock == "virtual";
  }
  std::vector<std::string> seed_texts;
  for (const std::uint64_t seed : seeds) seed_texts.push_back(fmt::format("{}", seed));
  Table again{.columns = {"to repeat it", ""}};
  again.rows.push_back({"command", command_text(context)});
  again.rows.push_back({"or", "hopbench run " + shell_word(run.path() + "/suite.toml")});
  again.rows.push_back({"seed", fmt::format("{}; repeats: {}", join(seed_texts, ", "), repeats.size())});
  if (virtual_time)
    again.rows.push_back({"virtual time", "the same program and seed give the same results, bit for bit"});
  page.table(again, "text");
  Table all{.columns = {"name", "value"}};
  if (context.is_discarded()) {
    page.paragraph("context.json is damaged: it is no JSON", "bad");
  } else {
    flatten(context, "", all);
  }
  page.table(all, "text");
}

}  // namespace hopbench::report
