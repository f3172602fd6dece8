// The rules of protocols/: short files, few includes, nothing twice.
#include <algorithm>
#include <cctype>
#include <map>
#include <regex>

#include "tests/tidy/tidy.h"

namespace hopbench::tidy {
namespace {

bool of_protocols(const Source& source) { return source.path.rfind("protocols/", 0) == 0; }

// Returns true for files that all protocols stand on, and that are no part of any of them.
bool framework(const Source& source) { return source.path.rfind("protocols/node/", 0) == 0; }

/// Returns true for records and events, which are for observers. A protocol that read them could decide by them.
bool for_observers(const std::string& header) { return header.starts_with("backends/base/record/"); }

struct Line {
  int number;
  std::string text;
};

// Lines of code, without comments and what is around them.
std::vector<Line> code_lines(const Source& source) {
  std::vector<Line> lines;
  int number = 0;
  for (const std::string& line : lines_of(without_comments(source.text))) {
    ++number;
    if (std::string text = trimmed(line); !text.empty()) lines.push_back({number, std::move(text)});
  }
  return lines;
}

// Returns true if a line may count as copied. Closing braces, includes, namespaces and access labels may not: they are
// alike in files that have no step of a protocol in common. Neither do they part the lines before and after them.
bool says_something(const std::string& text) {
  for (const char* common : {"#", "namespace ", "public:", "protected:", "private:"}) {
    if (text.rfind(common, 0) == 0) return false;
  }
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) != 0; });
}

bool brings_a_protocol(const Source& source) { return source.text.find("_protocol() {") != std::string::npos; }

/// Finds the functions that a file defines in its own namespace, from a line that fits `own` on, and names nowhere
/// else. No compiler reports them, because they do not lie in an unnamed namespace.
void find_unused(const Source& source, const std::regex& own, std::vector<std::string>& complaints) {
  static const std::regex kFunction("^[A-Za-z][^=(]* &?(\\w+)\\(");
  const std::string code = code_only(source.text);
  int number = 0;
  bool within = false;
  std::smatch match;
  for (const std::string& line : lines_of(source.text)) {
    ++number;
    within = (within || std::regex_match(line, own)) && !line.starts_with("}  // namespace");
    if (!within || !std::regex_search(line, match, kFunction) || match[1].str().ends_with("_protocol")) continue;
    const std::regex name("\\b" + match[1].str() + "\\b(?!( \\{|  //|::))");
    const auto uses = std::distance(std::sregex_iterator(code.begin(), code.end(), name), std::sregex_iterator());
    if (uses < 2) complaints.push_back(at(source, number, match[1].str() + " is not used"));
  }
}

}  // namespace

std::vector<std::string> check_protocol(const Source& source) {
  constexpr int kFileLines = 150;
  std::vector<std::string> complaints;
  if (!of_protocols(source) || framework(source)) return complaints;
  const auto length = lines_of(source.text).size();
  if (length > kFileLines) {
    complaints.push_back(
        at(source, kFileLines, "has " + std::to_string(length) + " lines, a protocol's file at most 150"));
  }
  for (const Include& include : includes(source.text)) {
    const bool own = include.name.rfind("protocols/", 0) == 0 ||
                     (include.name.rfind("backends/base/", 0) == 0 && !for_observers(include.name));
    const bool of_language = include.name.find_first_of("./") == std::string::npos;
    if (include.angled ? of_language : own) continue;
    complaints.push_back(at(source, include.line,
                            "includes " + include.name + ", which is neither in protocols/ nor in backends/base/"));
  }
  return complaints;
}

std::vector<std::string> check_private(const Source& source) {
  static const std::regex kPath("protocols/(\\w+)/(\\w+)\\.cpp");
  std::vector<std::string> complaints;
  std::smatch path;
  if (framework(source) || !std::regex_match(source.path, path, kPath)) return complaints;
  const std::regex own("namespace (hopbench::" + path[1].str() + "::)?" + path[2].str() + " \\{");
  int number = 0;
  for (const std::string& line : lines_of(source.text)) {
    ++number;
    if (line == "namespace hopbench {" || line == "namespace {")
      complaints.push_back(at(source, number, "is not inside a namespace " + path[2].str()));
  }
  find_unused(source, own, complaints);
  return complaints;
}

std::vector<std::string> check_median(const std::vector<Source>& sources) {
  constexpr std::size_t kCodeLines = 90;
  std::vector<std::size_t> lengths;
  for (const Source& source : sources) {
    if (of_protocols(source) && !framework(source) && brings_a_protocol(source)) {
      lengths.push_back(code_lines(source).size());
    }
  }
  if (lengths.empty()) return {};
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  if (*middle < kCodeLines) return {};
  return {"protocols/: half of the files that bring a protocol have " + std::to_string(*middle) +
          " lines of code or more, 90 are too many"};
}

std::vector<std::string> check_copies(const std::vector<Source>& sources) {
  constexpr std::size_t kLines = 6;
  std::vector<std::string> complaints;
  std::map<std::string, std::string> known;  // so many lines -> where they stood first
  for (const Source& source : sources) {
    if (!of_protocols(source)) continue;
    std::vector<Line> lines = code_lines(source);
    std::erase_if(lines, [](const Line& line) { return !says_something(line.text); });
    for (std::size_t i = 0; i + kLines <= lines.size(); ++i) {
      std::string text;
      for (std::size_t k = i; k < i + kLines; ++k) text += lines[k].text + "\n";
      const auto [first, is_new] = known.emplace(text, at(source, lines[i].number, ""));
      if (is_new) continue;
      complaints.push_back(at(source, lines[i].number, "six lines that are also at " + first->second + "share them"));
      i += kLines - 1;
    }
  }
  return complaints;
}

}  // namespace hopbench::tidy
