#include "suites/claims/paper.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "backends/base/text.h"
#include "suites/claims/keyed_table.h"
#include "suites/language/document.h"

namespace hopbench {
namespace {

const std::vector<std::string> kConfidences{"paper", "code", "derived", "memory high", "memory medium", "memory low"};

ClaimVerdict verdict_of(const std::string& name) {
  return name == "holds" ? ClaimVerdict::kHolds : name == "differs" ? ClaimVerdict::kDiffers : ClaimVerdict::kUndecided;
}

Selection selection_of(const Value& value, const std::string& where, Mistakes& mistakes) {
  Selection selection;
  if (!value.is(Value::Type::kTable)) {
    mistakes.add(value.place, where + " is a table: { variant = \"hop\", scenario = \"random 6x\" }");
    return selection;
  }
  KeyedTable table(value, where, mistakes);
  for (const auto& [key, to] : {std::pair{"measure", &selection.measure}, std::pair{"scenario", &selection.scenario},
                                std::pair{"variant", &selection.variant}}) {
    if (const Value* part = table.find(key, Value::Type::kText)) *to = part->text;
  }
  return selection;
}

void read_ratio(const Value& value, Claim& claim, Mistakes& mistakes) {
  KeyedTable table(value, "ratio", mistakes);
  claim.kind = Claim::Kind::kRatio;
  for (const char* side : {"of", "over"}) {
    if (const Value* selection = table.need(side, Value::Type::kTable))
      claim.selections.push_back(selection_of(*selection, side, mistakes));
  }
}

void read_order(const Value& value, Claim& claim, Mistakes& mistakes) {
  claim.kind = Claim::Kind::kOrder;
  for (const Value& item : value.items) claim.selections.push_back(selection_of(item, "an item of order", mistakes));
  if (claim.selections.size() < 2) mistakes.add(value.place, "an order needs at least two variants");
}

/// Reads what is compared, which is one of the three kinds.
void read_kind(KeyedTable& table, Claim& claim, Mistakes& mistakes) {
  const Value* ratio = table.find("ratio", Value::Type::kTable);
  const Value* value = table.find("value", Value::Type::kTable);
  const Value* order = table.find("order", Value::Type::kArray);
  if ((ratio != nullptr) + (value != nullptr) + (order != nullptr) != 1) {
    mistakes.add(table.place(), "a claim has one of 'ratio', 'value' and 'order'");
    return;
  }
  if (ratio != nullptr) read_ratio(*ratio, claim, mistakes);
  if (order != nullptr) read_order(*order, claim, mistakes);
  if (value == nullptr) return;
  claim.kind = Claim::Kind::kValue;
  claim.selections.push_back(selection_of(*value, "value", mistakes));
}

void read_range(KeyedTable& table, Claim& claim, Mistakes& mistakes) {
  claim.at_least = table.number("at_least");
  claim.at_most = table.number("at_most");
  const std::optional<double> tolerance = table.number("tolerance");
  const bool order = claim.kind == Claim::Kind::kOrder;
  if (tolerance && !order) mistakes.add(table.place(), "'tolerance' is of an order");
  if (tolerance && (*tolerance < 0 || *tolerance >= 1)) mistakes.add(table.place(), "'tolerance' is a share, 0 to 1");
  claim.tolerance = tolerance.value_or(0);
  if (order) {
    if (claim.at_least || claim.at_most) mistakes.add(table.place(), "an order has no 'at_least' and no 'at_most'");
    return;
  }
  if (!claim.at_least && !claim.at_most) mistakes.add(table.place(), "a claim needs 'at_least' or 'at_most'");
  if (claim.at_least && claim.at_most && *claim.at_least > *claim.at_most)
    mistakes.add(table.place(), "'at_least' is above 'at_most'");
  if (!claim.confidence.starts_with("memory")) return;
  for (const auto& bound : {claim.at_least, claim.at_most}) {
    if (!bound || *bound == 1) continue;
    mistakes.add(table.place(), fmt::format("a number that is recalled ({}) decides nothing: at_least or at_most can "
                                            "only be 1.0, the direction, not {}",
                                            claim.confidence, *bound));
  }
}

std::optional<ClaimVerdict> expected_of(const Value& value, Mistakes& mistakes) {
  static const std::vector<std::string> kVerdicts{"holds", "differs", "undecided"};
  if (value.is(Value::Type::kText) && std::count(kVerdicts.begin(), kVerdicts.end(), value.text) == 1)
    return verdict_of(value.text);
  mistakes.add(value.place, value.is(Value::Type::kText) ? unknown("verdict", value.text, kVerdicts)
                                                         : "a verdict is \"holds\", \"differs\" or \"undecided\"");
  return std::nullopt;
}

void read_expectation(KeyedTable& table, Claim& claim, Mistakes& mistakes) {
  if (const Value* because = table.find("because", Value::Type::kText)) claim.because = because->text;
  const Value* expect = table.find("expect");
  if (expect != nullptr && expect->is(Value::Type::kTable)) {
    KeyedTable profiles(*expect, "expect", mistakes);
    for (const std::string& profile : paper_profiles()) {
      const Value* value = profiles.find(profile);
      if (value == nullptr) continue;
      if (const auto verdict = expected_of(*value, mistakes)) claim.expects[profile] = *verdict;
    }
    if (expect->entries.empty()) mistakes.add(expect->place, "'expect' names no profile: smoke, full or both");
  } else {
    const auto verdict = expect == nullptr ? ClaimVerdict::kHolds : expected_of(*expect, mistakes);
    for (const std::string& profile : paper_profiles()) claim.expects[profile] = verdict.value_or(ClaimVerdict::kHolds);
  }
  const bool other = std::any_of(claim.expects.begin(), claim.expects.end(),
                                 [](const auto& entry) { return entry.second != ClaimVerdict::kHolds; });
  if (other && claim.because.empty())
    mistakes.add(table.place(), "what is not expected to hold needs 'because': the reason, or what is known of it");
}

Claim read_claim(const Value& value, Mistakes& mistakes) {
  Claim claim;
  KeyedTable table(value, "[[claim]]", mistakes);
  claim.id = table.text("id");
  claim.figure = table.text("figure");
  claim.says = table.text("says");
  claim.published = table.text("published");
  claim.confidence = table.one_of("confidence", kConfidences);
  claim.suite = table.text("suite");
  claim.metric = table.text("metric");
  read_kind(table, claim, mistakes);
  read_range(table, claim, mistakes);
  read_expectation(table, claim, mistakes);
  return claim;
}

PaperSuite read_paper_suite(const Value& value, Mistakes& mistakes) {
  PaperSuite suite;
  KeyedTable table(value, "[[suite]]", mistakes);
  suite.place = value.place;
  suite.file = table.text("file");
  suite.memory = table.text("memory");
  suite.data = table.texts("data");
  if (const Value* minutes = table.need("minutes", Value::Type::kTable)) {
    KeyedTable profiles(*minutes, "minutes", mistakes);
    for (const auto& [key, to] : {std::pair{"smoke", &suite.smoke_minutes}, std::pair{"full", &suite.full_minutes}}) {
      const std::optional<double> measured = profiles.number(key);
      if (!measured || *measured < 0) mistakes.add(minutes->place, fmt::format("minutes needs '{}', 0 or more", key));
      *to = measured.value_or(0);
    }
  }
  return suite;
}

void check_unique(const Paper& paper, Mistakes& mistakes) {
  std::set<std::string> ids, files;
  std::vector<std::string> names;
  for (const PaperSuite& suite : paper.suites) {
    names.push_back(suite.file);
    if (!files.insert(suite.file).second) mistakes.add(suite.place, "two suites are the file " + suite.file);
  }
  for (std::size_t i = 0; i < paper.claims.size(); ++i) {
    const Claim& claim = paper.claims[i];
    if (!ids.insert(claim.id).second) mistakes.add(paper.places[i], "two claims are called '" + claim.id + "'");
    if (!claim.suite.empty() && !files.contains(claim.suite))
      mistakes.add(paper.places[i], unknown("suite", claim.suite, names));
  }
}

void check_selection(const Selection& selection, const Suite& suite, const std::string& profile,
                     const SourceLocation& place, Mistakes& mistakes) {
  std::vector<std::string> found, all;
  for (const TrialSpec& trial : suite.trials) {
    const Selection whole{trial.measure, trial.scenario_name, trial.label};
    const std::string name = whole.text();
    if (std::find(all.begin(), all.end(), name) != all.end()) continue;
    all.push_back(name);
    if (selection.finds(whole)) found.push_back(name);
  }
  if (found.size() == 1) return;
  const std::string where = fmt::format("'{}' in {} ({})", selection.text(), suite.name, profile);
  mistakes.add(place, found.empty() ? fmt::format("{} is nothing: there are {}", where, join(all, "; "))
                                    : fmt::format("{} is more than one: {}", where, join(found, "; ")));
}

}  // namespace

const PaperSuite& Paper::suite(const std::string& file) const {
  return *std::find_if(suites.begin(), suites.end(), [&](const PaperSuite& s) { return s.file == file; });
}

const std::vector<std::string>& paper_profiles() {
  static const std::vector<std::string> kProfiles{"smoke", "full"};
  return kProfiles;
}

SuiteOptions options_of_profile(const std::string& profile) {
  SuiteOptions options;
  if (profile != "full") options.profile = profile;
  return options;
}

Paper parse_paper(const std::string& text, const std::string& file, const std::string& folder) {
  Mistakes mistakes;
  const std::optional<Value> root = parse_document(text, file, mistakes);
  mistakes.throw_if_any();
  Paper paper;
  paper.folder = folder;
  paper.name = std::filesystem::path(folder).filename().string();
  {
    KeyedTable top(*root, "expected.toml", mistakes);
    if (const Value* head = top.need("paper", Value::Type::kTable)) {
      KeyedTable table(*head, "[paper]", mistakes);
      paper.title = table.text("title");
      paper.venue = table.text("venue");
      paper.sizes = table.text("sizes");
    }
    for (const Value& item : top.tables("suite")) paper.suites.push_back(read_paper_suite(item, mistakes));
    for (const Value& item : top.tables("claim")) {
      paper.places.push_back(item.place);
      paper.claims.push_back(read_claim(item, mistakes));
    }
  }
  check_unique(paper, mistakes);
  mistakes.throw_if_any();
  return paper;
}

Paper load_paper(const std::string& folder) {
  const std::string file = folder + "/expected.toml";
  return parse_paper(read_suite_file(file), file, folder);
}

std::string suite_name(const std::string& file) {
  Mistakes mistakes;
  const std::optional<Value> root = parse_document(read_suite_file(file), file, mistakes);
  mistakes.throw_if_any();
  const Entry* name = root->find("name");
  return name != nullptr && name->value.is(Value::Type::kText) ? name->value.text
                                                               : std::filesystem::path(file).stem().string();
}

void check_claims(const Paper& paper, const std::string& file, const std::string& profile, const Suite& suite) {
  Mistakes mistakes;
  for (std::size_t i = 0; i < paper.claims.size(); ++i) {
    const Claim& claim = paper.claims[i];
    if (claim.suite != file || !claim.expects.contains(profile)) continue;
    for (const Selection& selection : claim.selections)
      check_selection(selection, suite, profile, paper.places[i], mistakes);
  }
  mistakes.throw_if_any();
}

}  // namespace hopbench
