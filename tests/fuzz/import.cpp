// Recordings of training jobs: a table, and two documents of events, each as files of ranks and as one of all ranks.
// The rows that are read are written, and read again they are as many.
#include <sstream>

#include "backends/runtime/trace.h"
#include "suites/import/decompose.h"
#include "suites/import/readers.h"
#include "tests/fuzz/fuzz.h"

using namespace hopbench;

namespace {

template <class Read>
void check_import(const fuzz::Folder& folder, const Read& read) {
  Imported imported;
  const auto finish = [&] {
    read(imported);
    finish_rows(imported, folder.path());
  };
  if (!fuzz::accepts(finish)) return;
  std::ostringstream text;
  write_trace(imported.rows, "fuzz", text);
  const std::string path = folder.put("written.csv", text.str());
  Imported again;
  read_csv_recording({path}, {}, again);
  HB_ASSERT_MSG(again.rows.size() == imported.rows.size(), text.str());
  const Decomposition decomposition = decompose(imported.rows);
  if (decomposition.steps > 0) HB_ASSERT(Trace::read(path)->steps() == decomposition.steps);
  const Fit fit = fit_scenario(decomposition, "x.csv");
  HB_ASSERT(to_snippet(fit).find("nan") == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  const std::vector<std::string> parts = fuzz::parts_of(fuzz::text_of(data, size), 3);
  const std::string table = folder.put("table.csv", parts[0]);
  const std::vector<std::string> documents{folder.put("rank0.json", parts[1]), folder.put("rank1.json", parts[2])};
  Imported unused;
  fuzz::accepts([&] { read_csv_recording({table}, {}, unused); }, table);
  fuzz::accepts([&] { read_csv_recording({table}, {.rank = "a", .step = "b", .seconds = "c", .unit = "ns"}, unused); },
                table);
  for (const std::string& document : documents)
    fuzz::accepts([&] { read_perfetto({document}, {}, true, unused); }, document);
  check_import(folder, [&](Imported& to) { read_csv_recording({table}, {}, to); });
  for (const int replicas : {0, 1, 2}) {
    const Layout layout{.replicas = replicas};
    check_import(folder, [&](Imported& to) { read_kineto(documents, layout, to); });
    check_import(folder, [&](Imported& to) { read_perfetto(documents, layout, replicas == 1, to); });
  }
  fuzz::accepts([&] { parse_layout(parts[0]); }, "--parallel");
  return 0;
}
