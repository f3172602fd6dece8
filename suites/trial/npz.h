// NumPy's archives of arrays, which np.load() reads.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace hopbench {

/// An array of one dimension, with numbers in this machine's byte order.
struct NpzArray {
  std::string name;
  std::string type;  // as NumPy writes it: "<f4", "<u4", "<i8", "<f8"
  const void* data = nullptr;
  std::size_t count = 0;
};

/// Writes an uncompressed archive. Throws Error(kEnvironment) if that is not possible.
void write_npz(const std::string& path, const std::vector<NpzArray>& arrays);

}  // namespace hopbench
