// A file that is read from begin to end in little memory.
#pragma once

#include <cstddef>
#include <memory>
#include <streambuf>
#include <string>

namespace hopbench {

/// The content of a file, decompressed if it is gzip. Holds 64 KiB of it at a time.
class Input : public std::streambuf {
 public:
  /// Error(kUsage) if there is no such file, or it is a directory.
  explicit Input(const std::string& path);
  ~Input() override;
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  /// Reads the next line, without its end, into `line`. Returns false after the last one. Error(kUsage) as underflow().
  bool next_line(std::string& line);
  /// Begins another token. A token is a line, or a number or text of JSON.
  void begin_token() { in_token_ = 0; }

 protected:
  /// Error(kUsage) if gzip data are damaged or end early, or if a token has more than 16 MiB.
  int_type underflow() override;

 private:
  struct File;
  std::unique_ptr<File> file_;
  std::size_t in_token_ = 0;  // bytes read since begin_token()
};

}  // namespace hopbench
