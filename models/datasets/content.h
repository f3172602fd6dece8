// The content of a data file, decompressed. A launcher decompresses a file once; its ranks map what it found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
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

/// The whole file, decompressed if it is gzip (which it must be if its name ends in .gz). Error(kUsage) with the byte.
Content read_content(const std::filesystem::path& path);

/// From now on what this process decompresses stays in anonymous memory until it ends; its own later reads and those of
/// its child processes find it there (named in the environment variable HB_CONTENTS). A file that changes meanwhile is
/// not looked at again: all trials of a run see the same data.
void keep_contents();

/// "cannot use data file PATH: at byte N: WHY: get the file again".
[[noreturn]] void corrupt(const std::filesystem::path& path, std::size_t byte, const std::string& why);

}  // namespace hopbench
