// The folder of a run or baseline: its rows, its context, what a baseline says of itself, and all of it compared.
#include "results/files/run_folder.h"

#include "results/judge/baseline.h"
#include "results/judge/compare.h"
#include "results/judge/exact.h"
#include "results/report/trace.h"
#include "tests/fuzz/fuzz.h"

using namespace hopbench;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  const auto parts = fuzz::parts_of(fuzz::text_of(data, size), 4);
  std::filesystem::create_directories(folder.path() + "/base/events");
  folder.put("base/trials.jsonl", parts[0]);
  folder.put("base/context.json", parts[1]);
  folder.put("base/baseline.json", parts[2]);
  folder.put("base/suite.toml", "schema = 1\n");
  fuzz::accepts([&] { read_baseline(folder.path(), "base"); }, "base");
  fuzz::accepts([&] {
    const Results results = load_results(folder.path() + "/base", folder.path());
    compare(results, results, {});
    context_differences(results.context, parts[3]);
  });
  fuzz::accepts([&] {
    const RunFolder run = RunFolder::open(folder.path() + "/base");
    if (run.rows().size() != 1) return;
    const std::string log = run.event_log(run.rows()[0].record.id);
    const std::string name = "base/events/" + std::filesystem::path(log).filename().string();
    folder.put(name, parts[3]);
    compare_exact(run, run);
    fuzz::accepts([&] {
      TraceWriter trace([](const std::string&) {});
      trace.add(run, run.rows()[0]);
    });
    folder.put(name, "");
  });
  return 0;
}
