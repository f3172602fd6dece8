// The rule that no decision depends on a text: failures and warnings have kinds for that (docs/architecture.md).
#include <algorithm>
#include <iterator>
#include <regex>

#include "tests/tidy.h"

namespace hopbench::tidy {
namespace {

// Rows from before schema 1.2 have nothing but texts.
constexpr const char* kMayLook = "results/older_rows.cpp";
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

}  // namespace hopbench::tidy
