#include "suites/trial/npz.h"

#include <fmt/format.h>
#include <minizip/zip.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>

#include "backends/base/error.h"
#include "backends/base/printable.h"

namespace hopbench {
namespace {

static_assert(std::endian::native == std::endian::little, "the types of npz say '<'");

std::size_t size_of(const std::string& type) { return static_cast<std::size_t>(type.back() - '0'); }

/// Returns the head of a .npy file (NumPy Enhancement Proposal 1): a dictionary as text, padded so that the numbers
/// begin at a multiple of 64 bytes.
std::string head_of(const NpzArray& array) {
  std::string words =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}", array.type, array.count);
  constexpr std::size_t kBefore = 10, kStep = 64;
  words.append(kStep - 1 - (kBefore + words.size()) % kStep, ' ');
  words += '\n';
  std::string head = "\x93NUMPY";
  head += '\x01';
  head += '\0';
  head += static_cast<char>(words.size() & 0xff);
  head += static_cast<char>(words.size() >> 8);
  return head + words;
}

}  // namespace

void write_npz(const std::string& path, const std::vector<NpzArray>& arrays) {
  std::unique_ptr<void, int (*)(zipFile)> file(zipOpen64(path.c_str(), APPEND_STATUS_CREATE),
                                               [](zipFile open) { return zipClose(open, nullptr); });
  const auto check = [&](bool done) {
    if (!done)
      throw environment_error(
          fmt::format("cannot write {}: is its folder there and the disk not full?", printable(path)));
  };
  check(file != nullptr);
  const auto write = [&](const char* data, std::size_t bytes) {
    constexpr std::size_t kMost = 1U << 30;  // the sizes of minizip have 32 bits
    for (; bytes > 0; data += std::min(bytes, kMost), bytes -= std::min(bytes, kMost))
      check(zipWriteInFileInZip(file.get(), data, unsigned(std::min(bytes, kMost))) == ZIP_OK);
  };
  for (const NpzArray& array : arrays) {
    const zip_fileinfo info{};
    const std::string name = array.name + ".npy", head = head_of(array);
    constexpr int kStored = 0, kAsLargeAsNeeded = 1;
    check(zipOpenNewFileInZip64(file.get(), name.c_str(), &info, nullptr, 0, nullptr, 0, nullptr, kStored, 0,
                                kAsLargeAsNeeded) == ZIP_OK);
    write(head.data(), head.size());
    write(static_cast<const char*>(array.data), array.count * size_of(array.type));
    check(zipCloseFileInZip(file.get()) == ZIP_OK);
  }
  check(zipClose(file.release(), nullptr) == ZIP_OK);
}

}  // namespace hopbench
