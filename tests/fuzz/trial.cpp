// The messages between a launcher and its ranks, and a trial as a baseline keeps it.
#include "suites/trial/trial.h"

#include "cli/bench/transport_bench.h"
#include "suites/trial/child_task.h"
#include "tests/fuzz/fuzz.h"

using namespace hopbench;

namespace {

template <class Value>
void check(const std::string& text, Value (*read)(const std::string&), std::string (*write)(const Value&)) {
  Value value;
  if (!fuzz::accepts([&] { value = read(text); })) return;
  const std::string written = write(value), again = write(read(written));
  HB_ASSERT_MSG(again == written, written + "\nread and written again is\n" + again);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  check<TrialSpec>(text, trial_from_json, to_json);
  check<ChildTask>(text, task_from_text, to_text);
  check<RankResult>(text, rank_result_from_text, to_text);
  check<WayBench>(text, way_bench_from_text, to_text);
  return 0;
}
