// A file mapped into memory.
#pragma once

#include <filesystem>
#include <memory>
#include <span>

namespace hopbench {

class MappedFile {
 public:
  /// Returns nullptr, with errno set, if the file cannot be opened, is not a regular file, or is empty (errno 0).
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const char> text() const { return text_; }

 private:
  explicit MappedFile(std::span<const char> text) : text_(text) {}
  std::span<const char> text_;
};

}  // namespace hopbench
