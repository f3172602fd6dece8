// SVMlight's text: the same rows, whatever the size of the pieces that threads take. And what is kept of it in binary.
#include "models/datasets/svmlight.h"

#include <algorithm>

#include "models/datasets/sparse_cache.h"
#include "tests/fuzz/fuzz.h"

using namespace hopbench;

namespace {

bool same(const SparseArrays& a, const SparseArrays& b) {
  return std::ranges::equal(a.offsets, b.offsets) && std::ranges::equal(a.columns, b.columns) &&
         std::ranges::equal(a.values, b.values) && std::ranges::equal(a.labels, b.labels) &&
         std::ranges::equal(a.original, b.original);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  const std::string text = fuzz::text_of(data, size);
  const std::string file = folder.put("data", text);
  std::string first, second;
  const auto read = [&](std::size_t unit, std::string& error) -> std::optional<SparseDataset> {
    std::optional<SparseDataset> set;
    fuzz::accepts(
        [&] {
          try {
            set = read_svmlight(file, {.threads = 1, .unit = unit, .cache = false});
          } catch (const Error& e) {
            error = e.what();
            throw;
          }
        },
        file);
    return set;
  };
  const auto whole = read(std::size_t{1} << 20, first), pieces = read(7, second);
  HB_ASSERT_MSG(first == second, first + "; " + second);
  if (whole) {
    HB_ASSERT(same(whole->arrays(), pieces->arrays()));
    HB_ASSERT(write_cached(folder.path() + "/kept", 1, *whole));
    const auto kept = open_cached(folder.path() + "/kept", 1);
    HB_ASSERT(kept && same(kept->arrays(), whole->arrays()));
  }
  return 0;
}
