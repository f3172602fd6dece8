// Durations, rates and words. A duration that is printed and read again is the same.
#include "backends/base/text.h"

#include <cmath>

#include "tests/fuzz/fuzz.h"

using namespace hopbench;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  long long ns = 0;
  if (parse_duration(text, ns)) {
    long long again = 0;
    HB_ASSERT_MSG(parse_duration(duration_text(ns), again) && again == ns, duration_text(ns));
  }
  double rate = 0;
  if (parse_rate(text, rate)) HB_ASSERT(std::isfinite(rate) && rate >= 0);
  static const std::vector<std::string> kKnown{"world_size", "batch", "hop", "dpsgd", text.substr(0, 40)};
  HB_ASSERT(nearest(text, std::vector<std::string>{text}) == text);
  did_you_mean(text, kKnown);
  HB_ASSERT(!shell_word(text).empty());
  HB_ASSERT(replaced(replaced(text, "a", "<>"), "<>", "a").size() <= text.size());
  return 0;
}
