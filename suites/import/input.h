// A file that is read from begin to end in little memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <streambuf>
#include <string>
#include <string_view>

namespace hopbench {

/// The content of a file, decompressed if it is gzip, without a byte order mark. Holds 64 KiB of it at a time.
class Input : public std::streambuf {
 public:
  /// Error(kUsage) if there is no such file, or it is a directory.
  explicit Input(const std::string& path);
  ~Input() override;
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  /// Reads the next line, without its end, into `line`. Returns false after the last one. Error(kUsage) as underflow().
  bool next_line(std::string& line);
  /// Returns true if the last line has no end: the file may have been cut in it.
  bool ends_in_line() const { return ends_in_line_; }
  /// Begins another token. A token is a line, or a number or text of JSON.
  void begin_token() { in_token_ = 0; }

 protected:
  /// Error(kUsage) if gzip data are damaged or end early, if a token has more than 16 MiB, or if the text is UTF-16.
  int_type underflow() override;

 private:
  struct File;
  std::unique_ptr<File> file_;
  std::size_t in_token_ = 0;  // bytes read since begin_token()
  bool ends_in_line_ = false;
};

/// Returns the integer that a text is, also if it is written as 3.0.
std::optional<std::int64_t> integer_in(std::string_view text);

}  // namespace hopbench
