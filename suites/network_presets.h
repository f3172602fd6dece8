// Networks by name: what `network.preset` stands for. Each value is what the preset's key would be without one; what
// the suite says of such a key goes first.
#pragma once

#include <string>
#include <vector>

#include "suites/keys.h"

namespace hopbench {

struct PresetValue {
  const char* path;    // of the key: "network.bandwidth"
  const char* text;    // as a suite would say it
  const char* source;  // where the number is from
};

struct NetworkPreset {
  const char* name;
  const char* summary;
  std::vector<PresetValue> values;
};

/// All of them. The first one, "none", changes nothing.
const std::vector<NetworkPreset>& network_presets();

/// The values of the preset that has this name.
const Layer& preset_layer(const std::string& name);

}  // namespace hopbench
