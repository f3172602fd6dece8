// Networks by name, for `network.preset`. A preset gives each of its keys a value; a value that the suite itself gives
// to such a key wins.
#pragma once

#include <string>
#include <vector>

#include "suites/language/keys.h"

namespace hopbench {

struct PresetValue {
  const char* path;    // of the key: "network.bandwidth"
  const char* text;    // as a suite would write it
  const char* source;  // where the number is from
};

struct NetworkPreset {
  const char* name;
  const char* summary;
  std::vector<PresetValue> values;
};

/// Returns all of them. The first one, "none", changes nothing.
const std::vector<NetworkPreset>& network_presets();

/// Returns the values of the preset that has this name.
const Layer& preset_layer(const std::string& name);

}  // namespace hopbench
