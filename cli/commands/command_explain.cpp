// `hopbench explain`: what a word of the tables, a column of the files or a name that a suite uses means.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <sstream>
#include <string_view>

#include "backends/base/error.h"
#include "backends/base/printable.h"
#include "backends/base/text.h"
#include "cli/commands.h"
#include "results/files/columns.h"
#include "results/tables/drawing.h"
#include "results/tables/terms.h"

namespace hopbench {
namespace {

constexpr std::size_t kWidth = 98;  // of a definition, with its indent

std::string paragraph(const std::string& text) { return "  " + fitted_text(text, kWidth); }

/// Returns the words of the tables, then the columns of the files.
std::vector<Column> all_words() {
  std::vector<Column> words = table_words();
  words.insert(words.end(), columns().begin(), columns().end());
  return words;
}

std::string place_of(const Column& word) {
  const std::string where = word.table, unit = word.unit;
  if (where == "advice") return "a word of the tables of hopbench advise and whatif";
  if (where == "figure") return "a figure of the protocol's own, a column of trials.csv (mean) and ranks.csv";
  if (where == "mark") return "a mark";
  if (where == "column" || where == "row" || where == "sign") return "a " + where + " of the tables of hopbench run";
  return "a column of " + (where.empty() ? "every file" : where) + (unit.empty() ? "" : ", in " + unit);
}

bool alike(std::string_view a, std::string_view b) {
  const auto same = [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

/// Returns all that the word is, a paragraph each; "" if it is nothing. The head of a column as it is printed will do:
/// "loss: mean / median / worst rank", "samples heard/s [90 %]", "gain over allreduce".
std::string explanation_of_word(std::string word) {
  if (word.starts_with("gain over ")) word = "gain";
  std::string text;
  for (const Column& known : all_words()) {
    if (!alike(known.name, word) && (known.title == nullptr || !alike(known.title, word))) continue;
    text += fmt::format("{}: {}\n{}", known.name, place_of(known), paragraph(known.meaning));
    word = known.name;
  }
  for (const ListEntry& entry : find_in_lists(word))
    text += fmt::format("{}: in hopbench list {} -v\n{}", entry.name, entry.list, paragraph(entry.summary));
  return text;
}

/// Returns the marks of a cell as it is printed, "not steady (1 of 3), diverged", explained; "" if one is unknown.
std::string explanation_of_marks(std::string cell) {
  std::string text;
  for (cell += ", "; !cell.empty();) {
    const std::size_t end = cell.find(", ");
    const std::string mark = cell.substr(0, std::min(end, cell.find(" (")));
    const std::string found = explanation_of_word(mark);
    if (found.empty()) return "";
    text += found;
    cell.erase(0, end + 2);
  }
  return text;
}

std::vector<std::string> words_of(const std::string& name) {
  std::istringstream text(name);
  return {std::istream_iterator<std::string>(text), {}};
}

/// Returns the names that are nearest to `word` as a whole or in one of their words: " Did you mean 'not steady'?" for
/// "stedy"; "" if none is near.
std::string similar(const std::string& word, const std::vector<std::string>& names) {
  std::vector<std::string> words = names;
  for (const std::string& name : names) {
    for (const std::string& part : words_of(name)) {
      if (part.size() >= 3) words.push_back(part);
    }
  }
  const std::string found = nearest(word, words);
  const auto has_it = [&](const std::string& name) {
    const std::vector<std::string> parts = words_of(name);
    return name == found || std::find(parts.begin(), parts.end(), found) != parts.end();
  };
  std::vector<std::string> similar;
  for (const std::string& name : names) {
    if (!found.empty() && has_it(name)) similar.push_back("'" + name + "'");
  }
  return similar.empty() ? "" : " Did you mean " + join(similar, " or ") + "?";
}

Error unknown(const std::string& word) {
  std::vector<std::string> candidates = explainable();
  for (std::string& name : names_in_lists()) candidates.push_back(std::move(name));
  std::erase_if(candidates, [](const std::string& name) { return name.size() < 3; });
  return usage_error("no column, row, sign, mark, protocol or key is called '" + quotable(word) + "'." +
                     similar(word, candidates) +
                     " hopbench explain shows all words of the tables, hopbench list what a suite may name");
}

void print_all() {
  for (const Column& word : table_words()) fmt::print("{} ({})\n{}", word.name, word.table, paragraph(word.meaning));
  fmt::print("\nColumns of trials.csv and the other files: hopbench list columns\n");
}

}  // namespace

std::vector<std::string> explainable() {
  std::vector<std::string> words;
  for (const Column& word : all_words()) {
    if (std::find(words.begin(), words.end(), word.name) == words.end()) words.emplace_back(word.name);
  }
  return words;
}

int command_explain(const ExplainOptions& options) {
  if (options.words.empty()) print_all();
  const std::string all = join(options.words, " ");  // most names have blanks, and few are quoted
  std::string text = explanation_of_marks(all);
  if (text.empty()) text = explanation_of_word(all);
  for (const std::string& word : text.empty() ? options.words : std::vector<std::string>()) {
    const std::string found = explanation_of_word(word);
    if (found.empty()) throw unknown(options.words.size() > 1 ? join(options.words, " ") : word);
    text += found;
  }
  fmt::print("{}", text);
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace hopbench
