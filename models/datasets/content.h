// The content of a data file, decompressed. A launcher decompresses a file once; its ranks map what it found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace hopbench {

/// Immutable; copies share the bytes.
class Content {
 public:
  explicit Content(std::vector<std::uint8_t> bytes);
  Content(std::shared_ptr<const void> owner, std::span<const std::uint8_t> bytes)
      : owner_(std::move(owner)), bytes_(bytes) {}
  const std::uint8_t* data() const { return bytes_.data(); }
  std::size_t size() const { return bytes_.size(); }
  std::uint8_t operator[](std::size_t i) const { return bytes_[i]; }

 private:
  std::shared_ptr<const void> owner_;
  std::span<const std::uint8_t> bytes_;
};

/// How much content a file of some format has, so that a small compressed file cannot fill the memory.
struct ContentSize {
  std::size_t head = 0;  // bytes at the begin that `of` looks at; it gets fewer if the content is shorter
  /// Returns the size of the whole content. Throws (see corrupt()) for a head that is no such file's.
  std::function<std::size_t(const std::filesystem::path&, std::span<const std::uint8_t>)> of;
};

/// Bytes that a compressed file may hold if its format does not say a smaller number: 2 GiB. Files that are not
/// compressed may have any size.
inline constexpr std::size_t kLargestCompressed = std::size_t{1} << 31;

/// Returns the whole file, decompressed if it is gzip (which it must be if its name ends in .gz). No more than `size`
/// says is read. Error(kUsage) names the file and the byte if there is more content than that, or more than `largest`
/// in a compressed file.
Content read_content(const std::filesystem::path& path, const ContentSize& size = {},
                     std::size_t largest = kLargestCompressed);

/// From now on what this process decompresses stays in anonymous memory until it ends; its own later reads and those of
/// its child processes find it there (named in the environment variable HB_CONTENTS). A file that changes meanwhile is
/// not looked at again: all trials of a run see the same data.
void keep_contents();

/// "cannot use data file PATH: at byte N: WHY: get the file again".
[[noreturn]] void corrupt(const std::filesystem::path& path, std::size_t byte, const std::string& why);

}  // namespace hopbench
