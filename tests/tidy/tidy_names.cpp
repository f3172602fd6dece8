// One name, one type: two types of one name in one program are undefined behaviour, and no linker reports them.
#include <map>
#include <regex>

#include "tests/tidy/tidy.h"

namespace hopbench::tidy {
namespace {

/// A brace that is open.
struct Scope {
  bool named = false;  // a namespace or a type, whose name is of all files
  std::string name;
};

/// Returns the scope that a brace opens after this text.
Scope scope_of(const std::string& head) {
  static const std::regex kNamespace("\\bnamespace\\s+([\\w:]+)$");
  static const std::regex kType(
      "\\b(?:struct|class|union|enum(?:\\s+class|\\s+struct)?)\\s+(?:\\[\\[\\w+\\]\\]\\s*|alignas\\([^)]*\\)\\s*)*"
      "(\\w[\\w:]*)(?:\\s+final)?(?:\\s*:[^;{}()=]*)?$");
  std::smatch found;
  if (std::regex_search(head, found, kNamespace) || std::regex_search(head, found, kType))
    return {true, found[1].str()};
  return {};
}

/// Returns the types that a file defines outside functions and anonymous namespaces, and their lines.
std::map<std::string, int> types_of(const std::string& text) {
  std::map<std::string, int> types;
  std::vector<Scope> open;
  std::string head;  // the text since the last brace or semicolon
  int line = 1;
  bool directive = false;  // from # to the end of its line
  for (const char c : code_only(text)) {
    directive = c != '\n' && (directive || c == '#');
    if (directive) continue;
    line += c == '\n' ? 1 : 0;
    if (c == '{') {
      open.push_back(scope_of(trimmed(head)));
      std::string name;
      bool of_all_files = true;
      for (const Scope& scope : open) {
        of_all_files = of_all_files && scope.named;
        name += (name.empty() ? "" : "::") + scope.name;
      }
      if (of_all_files && head.find("namespace") == std::string::npos) types.emplace(name, line);
    } else if (c == '}' && !open.empty()) {
      open.pop_back();
    }
    head.push_back(c);
    if (c == '{' || c == '}' || c == ';') head.clear();
  }
  return types;
}

}  // namespace

std::vector<std::string> check_names(const std::vector<Source>& sources) {
  std::map<std::string, std::string> known;  // type -> where it is defined
  std::vector<std::string> found;
  for (const Source& source : sources) {
    if (!source.path.ends_with(".cpp") && !source.path.ends_with(".h")) continue;
    for (const auto& [name, line] : types_of(source.text)) {
      const auto [place, fresh] = known.emplace(name, source.path + ":" + std::to_string(line));
      if (!fresh) found.push_back(at(source, line, name + " is defined in " + place->second + " too"));
    }
  }
  return found;
}

}  // namespace hopbench::tidy
