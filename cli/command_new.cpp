#include <fmt/format.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "backends/base/error.h"
#include "backends/base/printable.h"
#include "backends/base/text.h"
#include "cli/scaffold.h"
#include "example_protocol.h"
#include "protocols/protocol.h"

namespace hopbench {
namespace {

namespace fs = std::filesystem;

// "my_gossip" -> "MyGossip", for the names of tests.
std::string camel_case(const std::string& name) {
  std::string text;
  bool upper = true;
  for (const char c : name) {
    if (c != '_') text += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = c == '_';
  }
  return text;
}

void check_name(const std::string& name) {
  bool good = !name.empty() && std::islower(static_cast<unsigned char>(name[0])) != 0 && name.size() <= 40;
  for (const char c : name) {
    good = good && (std::islower(static_cast<unsigned char>(c)) != 0 ||
                    std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '_');
  }
  if (!good || name.ends_with("_test")) {
    throw usage_error(
        fmt::format("'{}' is no name for a protocol: lower case letters, digits and underscores, a letter "
                    "first, at most 40, not ending in _test",
                    name));
  }
  for (const Protocol* protocol : protocols()) {
    if (protocol->name == name)
      throw usage_error(fmt::format("there is a protocol '{}' already: choose another name", name));
  }
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
    std::ofstream file(path, std::ios::binary);
    file << replaced(replaced(text, example.name, options.name), camel_case(example.name), camel_case(options.name));
    file.close();
    if (!file) throw environment_error("cannot write " + path.string() + ": is the folder writable?");
    fmt::print("wrote {}\n", printable(path.string()));
  }
  fmt::print("run it:   ci/hopbench --protocols {0} run {1}\ntest it:  ci/test --protocols {0}\n", folder.string(),
             files[2].first.string());
  return 0;
}

}  // namespace hopbench
