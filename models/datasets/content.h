// The content of a data file, decompressed. A launcher decompresses a file once; its ranks map the result.
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

/// An immutable sequence of bytes. Copies share the bytes.
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

/// The size of a file's content by its format, which keeps a small compressed file from filling the memory.
struct ContentSize {
  std::size_t head = 0;  // bytes at the start that `of` examines; it gets fewer if the content is shorter
  /// Returns the size of the whole content. Throws (see corrupt()) if the head is not that of such a file.
  std::function<std::size_t(const std::filesystem::path&, std::span<const std::uint8_t>)> of;
};

/// The most bytes that a compressed file may hold if its format does not give a smaller number: 2 GiB. Files that are
/// not compressed may have any size.
inline constexpr std::size_t kLargestCompressed = std::size_t{1} << 31;

/// Returns the whole file, decompressed if it is gzip (which it must be if its name ends in .gz). Reads no more than
/// `size` allows. Throws Error(kUsage), with the file and the byte, if there is more content than that, or more than
/// `largest` in a compressed file.
Content read_content(const std::filesystem::path& path, const ContentSize& size = {},
                     std::size_t largest = kLargestCompressed);

/// Sets a variable in the environment of the processes that this one will start.
using SetForChildren = std::function<void(const std::string& name, const std::string& value)>;

/// Makes read_content() keep, from now on, what it reads in anonymous memory until this process ends. Later reads by
/// this process find it there, and so do those of its child processes, by the variable HB_CONTENTS that
/// `set_for_children` is called with. A file that changes meanwhile is not read again, so all trials of a run see the
/// same data. From then on, only one thread at a time may call read_content().
void keep_contents(SetForChildren set_for_children);

/// Throws Error(kUsage), a failure of the environment: "cannot use data file PATH: at byte N: WHY: get the file again".
[[noreturn]] void corrupt(const std::filesystem::path& path, std::size_t byte, const std::string& why);

}  // namespace hopbench
