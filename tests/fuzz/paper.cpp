// The claims of a paper, its expected.toml, and the figures that the documentation publishes: figures.toml.
#include "suites/claims/paper.h"
#include "suites/claims/published.h"

#include "tests/fuzz/fuzz.h"

using namespace hopbench;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  Published published;
  if (fuzz::accepts([&] { published = parse_published(text, "fuzz/figures.toml"); }, "fuzz/figures.toml")) {
    for (const PublishedClaim& claim : published.claims) HB_ASSERT(published.run(claim.run).id == claim.run);
  }
  Paper paper;
  if (!fuzz::accepts([&] { paper = parse_paper(text, "fuzz/expected.toml", "fuzz"); }, "fuzz/expected.toml")) return 0;
  HB_ASSERT(paper.places.size() == paper.claims.size());
  for (const Claim& claim : paper.claims) HB_ASSERT(paper.suite(claim.suite).file == claim.suite);
  return 0;
}
