// `hopbench new`: a first version of the user's own protocol, which builds, runs and is tested.
#pragma once

#include <string>

namespace hopbench {

struct NewOptions {
  std::string what = "protocol";
  std::string name;    // lower case, digits, underscores
  std::string folder;  // empty: ./NAME
  bool asynchronous = false;
};
/// Writes NAME.cpp, NAME_test.cpp and NAME.toml. Error(kUsage) for a bad or taken name or a file that is there already.
int command_new(const NewOptions& options);

}  // namespace hopbench
