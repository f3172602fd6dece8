// A message's frame over Gloo. One that is read and whole makes the same frame when it is written.
#include "backends/transport/gloo_frame.h"

#include <cstring>
#include <vector>

#include "tests/fuzz/fuzz.h"

using namespace hopbench;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<char> frame(data, data + size);
  ReadFrame read;
  if (!fuzz::accepts([&] { read = read_frame(frame, 3); }, "rank 3")) return 0;
  if (!read.whole) return 0;
  HB_ASSERT(read.message.body.stored() == read.floats);
  std::vector<char> written(size), again(size);
  const std::size_t bytes = write_frame(read.message, read.message.body, read.bye, written, size);
  const ReadFrame second = read_frame(written, 3);
  HB_ASSERT(write_frame(second.message, second.message.body, second.bye, again, size) == bytes);
  HB_ASSERT(std::memcmp(written.data(), again.data(), bytes) == 0);
  return 0;
}
