#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/base/error.h"
#include "backends/base/printable.h"
#include "backends/base/text.h"
#include "cli/commands.h"
#include "example_protocol.h"
#include "protocols/node/protocol.h"
#include "results/files/context.h"
#include "results/files/files.h"

namespace hopbench {
namespace {

namespace fs = std::filesystem;

// Turns "my_gossip" into "MyGossip", for the names of tests.
std::string camel_case(const std::string& name) {
  std::string text;
  bool upper = true;
  for (const char c : name) {
    if (c != '_') text += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = c == '_';
  }
  return text;
}

/// Words that cannot name a function in namespace hopbench.
constexpr std::string_view kWordsOfCpp[] = {
    "alignas",   "alignof",  "and",      "asm",     "auto",      "bitand",    "bitor",    "bool",      "break",
    "case",      "catch",    "char",     "class",   "compl",     "concept",   "const",    "consteval", "constexpr",
    "constinit", "continue", "decltype", "default", "delete",    "do",        "double",   "else",      "enum",
    "explicit",  "export",   "extern",   "false",   "float",     "for",       "friend",   "goto",      "if",
    "inline",    "int",      "long",     "main",    "mutable",   "namespace", "new",      "noexcept",  "not",
    "nullptr",   "operator", "or",       "private", "protected", "public",    "register", "requires",  "return",
    "short",     "signed",   "sizeof",   "static",  "std",       "struct",    "switch",   "template",  "this",
    "throw",     "true",     "try",      "typedef", "typeid",    "typename",  "union",    "unsigned",  "using",
    "virtual",   "void",     "volatile", "while",   "xor"};

void check_name(const std::string& name) {
  bool good = !name.empty() && std::islower(static_cast<unsigned char>(name[0])) != 0 && name.size() <= 40;
  for (const char c : name) {
    good = good && (std::islower(static_cast<unsigned char>(c)) != 0 ||
                    std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '_');
  }
  if (!good || name.ends_with("_test")) {
    throw usage_error(
        fmt::format("'{}' is not a name for a protocol: lower case letters, digits and underscores, a letter "
                    "first, at most 40, not ending in _test",
                    name));
  }
  if (std::find(std::begin(kWordsOfCpp), std::end(kWordsOfCpp), name) != std::end(kWordsOfCpp))
    throw usage_error(fmt::format("'{}' means something in C++: choose another name", name));
  for (const Protocol* protocol : protocols()) {
    if (protocol->name == name)
      throw usage_error(fmt::format("there is a protocol '{}' already: choose another name", name));
  }
}

/// Returns true if the current folder or $HOPBENCH_ROOT has hopbench's source, with which a protocol is compiled.
bool source_is_here() {
  const char* const root = std::getenv("HOPBENCH_ROOT");
  const bool named = root != nullptr && *root != '\0' && fs::exists(fs::path(root) / "ci/setup");
  return named || fs::exists("ci/setup");
}

void print_how_to_run(fs::path folder, fs::path suite) {
  if (!source_is_here()) {
    fmt::print(
        "To build a protocol you need hopbench's source, which is not here (no ci/setup): clone its repository "
        "(version\n"
        "{}). ci/hopbench there installs everything else. In the clone:\n",
        version_with_commit());
    folder = fs::absolute(folder);
    suite = fs::absolute(suite);
  }
  fmt::print("run it:   ci/hopbench --protocols {0} run {1}\ntest it:  ci/test --protocols {0}\n", folder.string(),
             suite.string());
}

}  // namespace

int command_new(const NewOptions& options) {
  check_name(options.name);
  const fs::path folder =
      (options.folder.empty() ? fs::path(options.name) : fs::path(options.folder)).lexically_normal();
  const ExampleProtocol& example = options.asynchronous ? kAsynchronousExample : kSynchronousExample;
  const std::vector<std::pair<fs::path, const char*>> files = {{folder / (options.name + ".cpp"), example.source},
                                                               {folder / (options.name + "_test.cpp"), example.test},
                                                               {folder / (options.name + ".toml"), example.suite}};
  for (const auto& [path, text] : files) {
    if (fs::exists(fs::symlink_status(path)))
      throw usage_error(path.string() + " is there already: choose another name or folder");
  }
  std::error_code error;
  fs::create_directories(folder, error);
  for (const auto& [path, text] : files) {
    write_file(path.string(), replaced(replaced(text, example.name, options.name), camel_case(example.name),
                                       camel_case(options.name)));
    fmt::print("wrote {}\n", printable(path.string()));
  }
  print_how_to_run(folder, files[2].first);
  return 0;
}

}  // namespace hopbench
