// The common part of the fuzz targets. A target is a file of this folder with one function over any bytes; see
// docs/fuzzing.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "backends/base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace hopbench::fuzz {

inline std::string text_of(const std::uint8_t* data, std::size_t size) {
  return size == 0 ? "" : std::string(reinterpret_cast<const char*>(data), size);
}

/// Returns true if a reader takes its input. If not it throws Error that says what is wrong and names `where`; whatever
/// else it throws is a bug, which the fuzzer reports as a crash.
template <class Read>
bool accepts(const Read& read, std::string_view where = "") {
  try {
    read();
    return true;
  } catch (const Error& error) {
    const std::string_view message = error.what();
    HB_ASSERT_MSG(!message.empty() && message.find(where) != std::string_view::npos,
                  "'" + std::string(message) + "' does not name '" + std::string(where) + "'");
    return false;
  }
}

/// Some texts in one input, cut at lines of "----": so they stay readable, and no cut is none.
inline std::vector<std::string> parts_of(const std::string& text, std::size_t count) {
  constexpr std::string_view kCut = "\n----\n";
  std::vector<std::string> parts(count);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < count && begin <= text.size(); ++i) {
    const std::size_t end = i + 1 < count ? text.find(kCut, begin) : std::string::npos;
    parts[i] = text.substr(begin, end == std::string::npos ? end : end - begin);
    if (end == std::string::npos) break;
    begin = end + kCut.size();
  }
  return parts;
}

/// A folder of this process's in $TMPDIR, for readers that want files. Gone with the process unless that is killed.
class Folder {
 public:
  Folder();
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }
  /// Its path. An empty file is none.
  std::string put(const std::string& name, std::string_view content) const;

 private:
  std::string path_;
};

}  // namespace hopbench::fuzz
