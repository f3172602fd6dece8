#include "suites/claims/published.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "backends/base/text.h"
#include "suites/claims/keyed_table.h"

namespace hopbench {
namespace {

const std::vector<std::string> kKinds{"ratio", "count", "bytes", "limit", "recorded"};
const std::vector<std::string> kNeeds{"quiet", "root", "gpu", "cores:N", "package:NAME", "program:NAME", "data:NAME"};

PublishedClaim::Kind kind_of(const std::string& name) {
  const auto found = std::find(kKinds.begin(), kKinds.end(), name);
  return found == kKinds.end() ? PublishedClaim::Kind::kRecorded : PublishedClaim::Kind(found - kKinds.begin());
}

/// Reads an ID, which is written into a comment of HTML and into a file's name.
std::string read_id(KeyedTable& table, Mistakes& mistakes) {
  std::string id = table.text("id");
  const bool plain = id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
  if (!plain || id == "runs")
    mistakes.add(table.place(), fmt::format("the ID '{}' must be of a-z, 0-9 and '-', and not 'runs'", id));
  return id;
}

void check_need(const std::string& need, const SourceLocation& place, Mistakes& mistakes) {
  const std::size_t colon = need.find(':');
  const std::string name = need.substr(0, colon), argument = colon == std::string::npos ? "" : need.substr(colon + 1);
  bool right = false;
  for (const std::string& known : kNeeds) {
    const std::size_t at = known.find(':');
    right = right || (name == known.substr(0, at) && (at == std::string::npos) == (colon == std::string::npos) &&
                      (at == std::string::npos || !argument.empty()));
  }
  if (name == "cores" && argument.find_first_not_of("0123456789") != std::string::npos) right = false;
  if (!right) mistakes.add(place, unknown("need", need, kNeeds));
}

Reading read_reading(KeyedTable& table, Mistakes& mistakes) {
  Reading reading;
  reading.value = table.text("value");
  reading.over = table.text_or("over", "");
  reading.times = table.text_or("times", "");
  reading.unit = table.number("unit").value_or(1);
  reading.show = table.text_or("show", "{}");
  reading.statistic = table.text_or("statistic", "median");
  try {
    check_reading(reading);
  } catch (const Error& error) {
    mistakes.add(table.place(), error.what());
  }
  return reading;
}

std::vector<int> read_exit_codes(KeyedTable& table) {
  std::vector<int> codes;
  const Value* list = table.need("exit_codes", Value::Type::kArray);
  if (list == nullptr) return codes;
  for (const Value& item : list->items) {
    if (item.is(Value::Type::kInteger) && item.integer >= 0 && item.integer < 256)
      codes.push_back(int(item.integer));
    else
      table.wrong(item, "exit_codes", "a list of integers from 0 to 255");
  }
  return codes;
}

PublishedRun read_run(const Value& value, Mistakes& mistakes) {
  PublishedRun run;
  KeyedTable table(value, "[[run]]", mistakes);
  run.id = read_id(table, mistakes);
  run.command = table.texts("command");
  run.json = table.texts("json");
  run.needs = table.texts("needs");
  for (const std::string& need : run.needs) check_need(need, value.place, mistakes);
  const std::optional<double> minutes = table.number("minutes");
  if (value.find("exit_codes") != nullptr) run.exit_codes = read_exit_codes(table);
  if (run.command.empty()) mistakes.add(value.place, "'command' is a list of words, the program first");
  if (!minutes || *minutes <= 0) mistakes.add(value.place, "[[run]] needs 'minutes', above 0");
  run.minutes = minutes.value_or(0);
  return run;
}

void check_range(const PublishedClaim& claim, const SourceLocation& place, Mistakes& mistakes) {
  const bool range = claim.at_least || claim.at_most;
  if (claim.kind == PublishedClaim::Kind::kRecorded && range)
    mistakes.add(place, "a 'recorded' claim is not judged: it has no 'at_least' and no 'at_most'");
  if (claim.kind != PublishedClaim::Kind::kRecorded && !range)
    mistakes.add(place, fmt::format("a '{}' claim needs 'at_least' or 'at_most'", to_string(claim.kind)));
  if (claim.at_least && claim.at_most && *claim.at_least > *claim.at_most)
    mistakes.add(place, "'at_least' is above 'at_most'");
  if ((claim.kind == PublishedClaim::Kind::kLimit) != claim.expected.has_value())
    mistakes.add(place, "'expected' belongs to a 'limit', and to nothing else");
  Published of_one;
  of_one.claims = {claim};
  for (const std::string& message : check_ranges(of_one, {})) mistakes.add(place, message);
}

PublishedClaim read_claim(const Value& value, Mistakes& mistakes) {
  PublishedClaim claim;
  KeyedTable table(value, "[[claim]]", mistakes);
  claim.id = read_id(table, mistakes);
  claim.says = table.text("says");
  claim.run = table.text("run");
  claim.kind = kind_of(table.one_of("kind", kKinds));
  claim.reading = read_reading(table, mistakes);
  claim.at_least = table.number("at_least");
  claim.at_most = table.number("at_most");
  claim.expected = table.number("expected");
  claim.widened = table.text_or("widened", "");
  check_range(claim, value.place, mistakes);
  return claim;
}

PublishedTable::Column read_column(const Value& value, Mistakes& mistakes) {
  PublishedTable::Column column;
  if (!value.is(Value::Type::kTable)) {
    mistakes.add(value.place, "a column is a table: { head = \"model\", value = \"/model\" }");
    return column;
  }
  KeyedTable table(value, "a column", mistakes);
  column.head = table.text_or("head", "");
  column.reading = read_reading(table, mistakes);
  return column;
}

PublishedTable read_table(const Value& value, Mistakes& mistakes) {
  PublishedTable result;
  KeyedTable table(value, "[[table]]", mistakes);
  result.id = read_id(table, mistakes);
  const Value* run = table.find("run");
  if (run != nullptr && run->is(Value::Type::kArray))
    result.runs = table.texts("run");
  else
    result.runs = {table.text("run")};
  result.rows = table.text("rows");
  result.where = table.text_or("where", "");
  if (value.find("by") != nullptr) result.by = table.texts("by");
  if (!result.rows.empty() && result.rows[0] != '/') mistakes.add(value.place, "'rows' does not begin with a slash");
  for (const Value& column : table.tables("columns")) result.columns.push_back(read_column(column, mistakes));
  if (result.columns.empty()) mistakes.add(value.place, "a table needs 'columns'");
  return result;
}

/// The IDs that were seen, for check_names.
struct Names {
  std::set<std::string> seen;
  void add(const std::string& what, const std::string& id, const SourceLocation& place, Mistakes& mistakes) {
    if (!id.empty() && !seen.insert(id).second) mistakes.add(place, fmt::format("two {} have the ID '{}'", what, id));
  }
};

void check_run(const std::string& id, const std::vector<std::string>& known, const SourceLocation& place,
               Mistakes& mistakes) {
  if (!id.empty() && std::find(known.begin(), known.end(), id) == known.end())
    mistakes.add(place, unknown("run", id, known));
}

/// Adds a mistake for each run that measures nothing, since it would be run in vain.
void check_used(const Published& published, const std::vector<SourceLocation>& places, Mistakes& mistakes) {
  for (std::size_t i = 0; i < published.runs.size(); ++i) {
    const std::string& id = published.runs[i].id;
    bool used = false;
    for (const PublishedClaim& claim : published.claims) used = used || claim.run == id;
    for (const PublishedTable& table : published.tables)
      used = used || std::find(table.runs.begin(), table.runs.end(), id) != table.runs.end();
    if (!used) mistakes.add(places[i], fmt::format("nothing is measured by the run '{}'", id));
  }
}

}  // namespace

Published parse_published(const std::string& text, const std::string& file) {
  Mistakes mistakes;
  const std::optional<Value> root = parse_document(text, file, mistakes);
  mistakes.throw_if_any();
  Published published;
  {
    KeyedTable top(*root, "figures.toml", mistakes);
    published.pages = top.texts("pages");
    std::vector<SourceLocation> places;
    std::vector<std::string> runs;
    Names names, ids;
    for (const Value& item : top.tables("run")) {
      places.push_back(item.place);
      published.runs.push_back(read_run(item, mistakes));
      runs.push_back(published.runs.back().id);
      names.add("runs", runs.back(), item.place, mistakes);
    }
    for (const Value& item : top.tables("claim")) {
      published.claims.push_back(read_claim(item, mistakes));
      check_run(published.claims.back().run, runs, item.place, mistakes);
      ids.add("entries", published.claims.back().id, item.place, mistakes);
    }
    if (root->find("table") != nullptr) {
      for (const Value& item : top.tables("table")) {
        published.tables.push_back(read_table(item, mistakes));
        for (const std::string& run : published.tables.back().runs) check_run(run, runs, item.place, mistakes);
        ids.add("entries", published.tables.back().id, item.place, mistakes);
      }
    }
    check_used(published, places, mistakes);
  }
  mistakes.throw_if_any();
  return published;
}

}  // namespace hopbench
