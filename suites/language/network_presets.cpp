#include "suites/language/network_presets.h"

#include <map>
#include <optional>

#include "backends/base/error.h"

namespace hopbench {
namespace {

// An Ethernet frame takes 1538 bytes of a link: 1500 of IP, 14 of head, 4 of checksum, 8 of preamble, 12 of gap (IEEE
// 802.3). Of these 1448 are payload: IP and TCP take 20 each, and TCP's timestamps 12 (RFC 7323).
constexpr PresetValue kGoodput{"network.goodput", "0.941",
                               "1448 bytes of payload in 1538 on the link (IEEE 802.3, RFC 7323)"};
constexpr PresetValue kZoneLatency{"network.latency", "\"100us\"",
                                   "half a round trip in one zone of a cloud, 0.20 to 0.26 ms on average (orensol.com, "
                                   "2009/05/24): measure yours with `hopbench calibrate --hosts`"};

}  // namespace

const std::vector<NetworkPreset>& network_presets() {
  static const std::vector<NetworkPreset> all = {
      {"none", "the keys as they are", {}},
      {"1G", "Ethernet of 1 Gbit/s", {{"network.bandwidth", "\"1Gbit/s\"", "IEEE 802.3ab"}, kGoodput, kZoneLatency}},
      {"10G", "Ethernet of 10 Gbit/s", {{"network.bandwidth", "\"10Gbit/s\"", "IEEE 802.3ae"}, kGoodput, kZoneLatency}},
      {"25G two racks",
       "Ethernet of 25 Gbit/s, two racks with uplinks that four hosts a rack oversubscribe 3:1",
       {{"network.bandwidth", "\"25Gbit/s\"", "IEEE 802.3by"},
        {"network.racks", "2", "the preset's name"},
        {"network.uplink", "\"33.3Gbit/s\"",
         "what four hosts have of four uplinks of 100 Gbit/s that a rack of 48 hosts shares: 3:1, the upper end of "
         "what is usual for leaf and spine. It stays the same with more hosts or fewer: set `uplink` then"},
        kGoodput,
        kZoneLatency}},
      {"WAN 100 Mbit/s",
       "hosts on two continents",
       {{"network.bandwidth", "\"100Mbit/s\"", "the preset's name"},
        {"network.latency", "\"40ms\"",
         "half of the 80.5 ms round trip between the regions US East and Ireland of Amazon (their table of 2017, at "
         "acomputerscientistlearnsaws.blogspot.com)"},
        kGoodput}},
  };
  return all;
}

const Layer& preset_layer(const std::string& name) {
  static const std::map<std::string, Layer> layers = [] {
    std::map<std::string, Layer> made;
    Mistakes mistakes;
    for (const NetworkPreset& preset : network_presets()) {
      Layer& layer = made[preset.name];
      for (const PresetValue& is : preset.values) {
        const SuiteKey* const key = find_key(is.path);
        HB_ASSERT_MSG(key != nullptr, is.path);
        const std::optional<Value> value = parse_value(is.text, {"(preset)", 0, 0}, mistakes);
        HB_ASSERT_MSG(value && check_value(*key, *value, mistakes), is.path);
        layer[is.path] = *value;
      }
    }
    return made;
  }();
  return layers.at(name);
}

}  // namespace hopbench
