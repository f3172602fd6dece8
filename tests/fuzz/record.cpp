// Records as JSON: of a rank, of a trial, of a row of trials.jsonl, of a whole run. Written again they are the same.
#include "results/files/record_json.h"

#include "results/files/csv.h"
#include "results/files/outcome.h"
#include "tests/fuzz/fuzz.h"

using namespace hopbench;

namespace {

template <class Record>
void check(const std::string& text, Record (*read)(const std::string&)) {
  Record record;
  if (!fuzz::accepts([&] { record = read(text); })) return;
  const std::string written = to_json(record);
  const std::string again = to_json(read(written));
  HB_ASSERT_MSG(again == written, written + "\nread and written again is\n" + again);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  check<RankRecord>(text, rank_from_json);
  check<TrialRecord>(text, record_from_json);
  check<TrialRow>(text, row_from_json);
  RunDocument run;
  if (!fuzz::accepts([&] { run = run_from_json(text, "fuzz.json"); }, "fuzz.json")) return 0;
  const std::string written = run_to_json(run.rows, run.context_json);
  const RunDocument again = run_from_json(written, "again.json");
  HB_ASSERT_MSG(run_to_json(again.rows, again.context_json) == written, written);
  HB_ASSERT(outcomes_in_order(run.rows).size() == run.rows.size());
  for (const auto table : {ranks_csv, curve_csv, host_csv}) read_csv(table(run.rows), "table");
  return 0;
}
