// Rules about texts. No decision depends on one: failures and warnings have kinds for that (docs/architecture.md). And
// no comment begins with a word that makes it a fragment.
#include <algorithm>
#include <iterator>
#include <regex>

#include "tests/tidy/tidy.h"

namespace hopbench::tidy {
namespace {

// Rows from before schema 1.2 have nothing but texts.
constexpr const char* kMayLook = "results/files/older_rows.cpp";
constexpr const char* kFolders[] = {"cli/", "suites/", "results/", "models/", "protocols/", "backends/"};

/// An expression that is the text of a failure, a warning or a note: failure.text, reason, in_words(warning).
const std::string kText =
    "(\\b\\w*([Ff]ailure|[Ww]arning|[Cc]omplaint|[Dd]eath)\\w*(\\(\\))?(\\.|->)text\\b"
    "|\\b([a-z_]+_)?(reason|warning|note)_?\\b"
    "|\\b(in_words|what_happened)\\([^()]*\\))";

const std::regex& comparison() {
  static const std::regex kComparison(
      kText +
      "\\s*((==|!=)(?!\\s*nullptr)|\\.(r?find|starts_with|ends_with|contains|compare|substr|find_\\w+)\\s*\\()" +
      "|(==|!=)\\s*" + kText + "(?!\\w|\\.|->|\\()" + "|\\bfind\\s*\\([^;]*\\bwarnings\\b|\\bregex_\\w+\\s*\\([^;]*" +
      kText);
  return kComparison;
}

}  // namespace

std::vector<std::string> check_texts(const Source& source) {
  const bool product = std::any_of(std::begin(kFolders), std::end(kFolders),
                                   [&](const char* folder) { return source.path.starts_with(folder); });
  if (!product || source.path == kMayLook) return {};
  std::vector<std::string> complaints;
  int line = 0;
  for (const std::string& content : lines_of(code_only(source.text))) {
    ++line;
    if (std::regex_search(content, comparison()))
      complaints.push_back(at(source, line, "compares a text that is for people: go by its kind"));
  }
  return complaints;
}

// Only where a comment begins: a sentence within one may begin as it likes.
std::vector<std::string> check_openings(const Source& source) {
  static const std::regex kOpening("(^\\s*|  )///? *(Of|What|Who|Whoever|Whether|Those|To be|As|None)\\b");
  static const std::regex kComment("^\\s*//");
  std::vector<std::string> complaints;
  if (!source.path.ends_with(".h") && !source.path.ends_with(".cpp")) return complaints;
  int line = 0;
  bool within = false;
  for (const std::string& content : lines_of(source.text)) {
    ++line;
    std::smatch match;
    if (!within && std::regex_search(content, match, kOpening)) {
      complaints.push_back(at(source, line,
                              "a comment begins with '" + match[2].str() +
                                  "': begin with a verb in the third person, or with the thing itself"));
    }
    within = std::regex_search(content, kComment);
  }
  return complaints;
}

}  // namespace hopbench::tidy
