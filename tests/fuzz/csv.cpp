// CSV as text, and trials.csv as somebody published it.
#include "results/files/csv.h"

#include "results/files/outcome.h"
#include "tests/fuzz/fuzz.h"

using namespace hopbench;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  std::vector<std::vector<std::string>> lines;
  if (fuzz::accepts([&] { lines = read_csv(text, "fuzz.csv"); }, "fuzz.csv")) {
    std::string written;
    for (const auto& line : lines) {
      for (const std::string& field : line) written += (&field == line.data() ? "" : ",") + csv_field(field);
      written += '\n';
    }
    HB_ASSERT_MSG(read_csv(written, "again.csv") == lines, written);
  }
  std::vector<Outcome> outcomes;
  if (!fuzz::accepts([&] { outcomes = outcomes_from_csv(text, "fuzz.csv"); }, "fuzz.csv")) return 0;
  for (const Outcome& outcome : outcomes) {
    for (const auto& [column, cell] : outcome.cells) outcome.number(column);
  }
  return 0;
}
