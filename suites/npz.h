// NumPy's archives of arrays: what np.load() reads.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace hopbench {

/// One array of one dimension, of numbers in this machine's order.
struct NpzArray {
  std::string name;
  std::string type;  // as NumPy writes it: "<f4", "<u4", "<i8", "<f8"
  const void* data = nullptr;
  std::size_t count = 0;
};

/// Writes an uncompressed archive. Error(kEnvironment) if that is not possible.
void write_npz(const std::string& path, const std::vector<NpzArray>& arrays);

}  // namespace hopbench
