// A command line's overrides of a suite: lines of --set, the first one a profile's name.
#include <sstream>

#include "suites/language/suite.h"
#include "tests/fuzz/fuzz.h"

using namespace hopbench;

namespace {

constexpr const char* kSuite = R"(schema = 1
name = "fuzz"
[run]
world_size = 4
repeats = 2
[model]
name = "quadratic"
[transport]
name = "sim"
[compute]
pace = "1ms"
[[protocol]]
name = "hop"
[[protocol]]
name = "ps_ssp"
label = "ssp 3"
[[scenario]]
name = "slow"
compute = [{ kind = "constant", factor = 2.0, ranks = [1] }]
[[measure]]
name = "rate"
what = "rate"
[profile.quick.run]
repeats = 1
)";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::istringstream lines(fuzz::text_of(data, size));
  SuiteOptions options;
  std::getline(lines, options.profile);
  for (std::string line; options.sets.size() < 16 && std::getline(lines, line);) options.sets.push_back(line);
  Suite suite;
  if (!fuzz::accepts([&] { suite = parse_suite(kSuite, "fuzz.toml", options); })) return 0;
  const Suite again = parse_suite(suite.resolved, "resolved.toml", {});
  HB_ASSERT_MSG(again.resolved == suite.resolved, suite.resolved + "\nread and written again is\n" + again.resolved);
  HB_ASSERT(again.trials.size() == suite.trials.size());
  for (std::size_t i = 0; i < suite.trials.size() && i < 20; ++i)
    HB_ASSERT_MSG(again.trials[i].hash() == suite.trials[i].hash(), to_json(suite.trials[i]));
  return 0;
}
