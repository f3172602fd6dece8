// An event log, plain or gzip: read, as a trace, and compared with another.
#include "results/files/event_reader.h"

#include "results/judge/exact.h"
#include "results/report/trace.h"
#include "tests/fuzz/fuzz.h"

using namespace hopbench;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  const std::vector<std::string> logs = fuzz::parts_of(fuzz::text_of(data, size), 2);
  const std::string log = folder.put("log", logs[0]), other = folder.put("other", logs[1]);
  fuzz::accepts(
      [&] {
        EventReader events(log, TrialRow{});
        while (events.next()) {
        }
      },
      log);
  fuzz::accepts([&] { first_difference(log, other); });
  return 0;
}
