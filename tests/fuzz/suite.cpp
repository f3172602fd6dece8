// A suite: read, checked, expanded; written out it is the same suite, and each of its trials survives the way to a
// rank.
#include "suites/language/suite.h"

#include "tests/fuzz/fuzz.h"

using namespace hopbench;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  Suite suite;
  if (!fuzz::accepts([&] { suite = parse_suite(text, "fuzz.toml", {}); }, "fuzz.toml")) return 0;
  const Suite again = parse_suite(suite.resolved, "resolved.toml", {});
  HB_ASSERT_MSG(again.resolved == suite.resolved, suite.resolved + "\nread and written again is\n" + again.resolved);
  HB_ASSERT(again.trials.size() == suite.trials.size());
  for (std::size_t i = 0; i < suite.trials.size() && i < 20; ++i) {
    const TrialSpec& trial = suite.trials[i];
    HB_ASSERT_MSG(again.trials[i].hash() == trial.hash(), to_json(trial) + "\nis not\n" + to_json(again.trials[i]));
    HB_ASSERT_MSG(to_json(trial_from_json(to_json(trial))) == to_json(trial), to_json(trial));
  }
  return 0;
}
