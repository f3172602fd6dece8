// The content of a data file, decompressed. A launcher decompresses a file once; its ranks map the result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

#include "backends/base/process/kept.h"

namespace hopbench {

/// The size of a file's content by its format, which keeps a small compressed file from filling the memory.
struct ContentSize {
  std::size_t head = 0;  // bytes at the start that `of` examines; it gets fewer if the content is shorter
  /// Returns the size of the whole content. Throws (see corrupt()) if the head is not that of such a file.
  std::function<std::size_t(const std::filesystem::path&, std::span<const std::uint8_t>)> of;
};

/// The most bytes that a compressed file may hold if its format does not give a smaller number: 2 GiB. Files that are
/// not compressed may have any size.
inline constexpr std::size_t kLargestCompressed = std::size_t{1} << 31;

/// Looks at the content of a gzip file while it is decompressed: at all there is so far. May throw, which ends it.
using Watch = std::function<void(std::span<const std::uint8_t> so_far)>;

/// Returns the whole file, decompressed if it is gzip (which it must be if its name ends in .gz). Reads no more than
/// `size` allows, and keeps it for child processes (kept.h). Throws Error(kUsage), with the file and the byte, if there
/// is more content than that, or more than `largest` in a compressed file; Error(kEnvironment), with the file, if the
/// memory does not suffice. `watch` is called for each MiB, unless the content is kept already.
Content read_content(const std::filesystem::path& path, const ContentSize& size = {},
                     std::size_t largest = kLargestCompressed, const Watch& watch = nullptr);

/// Throws Error(kUsage), a failure of the environment: "cannot use data file PATH: at byte N: WHY: get the file again".
[[noreturn]] void corrupt(const std::filesystem::path& path, std::size_t byte, const std::string& why);

}  // namespace hopbench
