// The binary cache of a sparse data set: whatever the file says of its sizes, nothing outside of it is read.
#include "models/datasets/sparse_cache.h"

#include <cstring>

#include "tests/fuzz/fuzz.h"

using namespace hopbench;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  std::string file = fuzz::text_of(data, size);
  // No fuzzer guesses a checksum: the body's is put where it belongs, behind the magic number and the text's.
  constexpr std::size_t kTextSum = 8, kBodySum = 16, kHeader = 48;
  if (file.size() > kHeader) {
    const std::uint64_t body = checksum(std::span<const char>(file).subspan(kHeader)), text = 1;
    std::memcpy(file.data() + kTextSum, &text, sizeof text);
    std::memcpy(file.data() + kBodySum, &body, sizeof body);
  }
  const auto set = open_cached(folder.put("data.csr", file), 1);
  if (!set) return 0;
  const SparseArrays& arrays = set->arrays();
  const std::size_t all = arrays.offsets.size_bytes() + arrays.columns.size_bytes() + arrays.values.size_bytes() +
                          arrays.labels.size_bytes() + arrays.original.size_bytes();
  HB_ASSERT(all <= file.size() - kHeader);
  return 0;
}
