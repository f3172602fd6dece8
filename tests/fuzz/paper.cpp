// The claims of a paper: its expected.toml.
#include "suites/claims/paper.h"

#include "tests/fuzz/fuzz.h"

using namespace hopbench;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  Paper paper;
  if (!fuzz::accepts([&] { paper = parse_paper(text, "fuzz/expected.toml", "fuzz"); }, "fuzz/expected.toml")) return 0;
  HB_ASSERT(paper.places.size() == paper.claims.size());
  for (const Claim& claim : paper.claims) HB_ASSERT(paper.suite(claim.suite).file == claim.suite);
  return 0;
}
