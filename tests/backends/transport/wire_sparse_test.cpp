// Sparse vectors over every transport for real processes.
#include "tests/backends/transport/wire_fixture.h"

namespace hopbench {
namespace {

INSTANTIATE_TEST_SUITE_P(Sparse, WireTest, testing::ValuesIn(wire_names()));

/// So many entries in every third column.
Vec thirds(std::size_t entries) {
  Vec v = Vec::sparse_with_room(3 * entries + 1, entries);
  for (std::size_t i = 0; i < entries; ++i) v.room()[i] = {std::uint32_t(3 * i), float(i) + 0.5f};
  v.keep(entries);
  return v;
}

TEST_P(WireTest, CarriesSparseVectorsAsTheyAre) {
  const std::vector<std::size_t> sizes = {0, 1, 100, 4000, 5000, 300'000, 7};  // in a frame and beside it
  run(2, [&](Wire& wire, int r) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const Vec sent = thirds(sizes[i]);
      if (r == 0) {
        Message m{.from = -1, .kind = kData, .iter = Iter(i), .words = {}, .body = sent.share()};
        m.bytes = bytes_with(m.body);
        send(wire, 1, m);
        send(wire, 1, message_of(kData, 5, 10));  // a dense one behind it
        continue;
      }
      const Message m = next(wire);
      ASSERT_TRUE(m.body.sparse());
      EXPECT_EQ(m.body.size(), sent.size());
      EXPECT_EQ(m.bytes, kHeaderBytes + 8 * std::int64_t(sizes[i])) << "eight bytes an entry";
      EXPECT_EQ(Vec::copy_of(m.body).to_host(), sent.to_host());
      EXPECT_TRUE(whole(next(wire), 10));
    }
    wire.close(seconds(10));
  });
}

}  // namespace
}  // namespace hopbench
