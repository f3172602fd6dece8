#include "suites/import/input.h"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "backends/base/error.h"
#include "backends/base/printable.h"

namespace hopbench {

struct Input::File {
  std::string path;
  gzFile file = nullptr;
  std::array<char, std::size_t{1} << 16> bytes{};
  ~File() {
    if (file != nullptr) gzclose_r(file);
  }
};

Input::Input(const std::string& path) : file_(new File{path, nullptr, {}}) {
  std::error_code none;
  if (std::filesystem::is_directory(path, none))
    throw usage_error(fmt::format("{} cannot be read: it is a directory", printable(path)));
  file_->file = gzopen(path.c_str(), "rb");
  if (file_->file == nullptr)
    throw usage_error(fmt::format("{} cannot be read: {}", printable(path), std::strerror(errno)));
  gzbuffer(file_->file, 1u << 16);
}

Input::~Input() = default;

Input::int_type Input::underflow() {
  constexpr std::size_t kLongestToken = std::size_t{16} << 20;
  if (gptr() < egptr()) return traits_type::to_int_type(*gptr());
  if (in_token_ > kLongestToken)
    throw usage_error(
        fmt::format("{} cannot be read: a line or text of it has more than 16 MiB", printable(file_->path)));
  const int got = gzread(file_->file, file_->bytes.data(), unsigned(file_->bytes.size()));
  if (got <= 0) {
    int code = Z_OK;
    const std::string why = gzerror(file_->file, &code);  // "PATH: why"
    if (code == Z_BUF_ERROR)
      throw usage_error(
          fmt::format("{} cannot be read: its gzip data end early: get the file again", printable(file_->path)));
    if (code != Z_OK && code != Z_STREAM_END)
      throw usage_error(fmt::format("{} cannot be read: {}: get the file again", printable(file_->path),
                                    code == Z_ERRNO ? std::strerror(errno) : why.substr(why.rfind(": ") + 2)));
    return traits_type::eof();
  }
  in_token_ += std::size_t(got);
  setg(file_->bytes.data(), file_->bytes.data(), file_->bytes.data() + got);
  return traits_type::to_int_type(*gptr());
}

bool Input::next_line(std::string& line) {
  line.clear();
  begin_token();
  bool any = false;
  while (underflow() != traits_type::eof()) {
    any = true;
    const auto length = std::size_t(egptr() - gptr());
    const void* end = std::memchr(gptr(), '\n', length);
    const std::size_t taken = end == nullptr ? length : std::size_t(static_cast<const char*>(end) - gptr());
    line.append(gptr(), taken);
    setg(eback(), gptr() + taken + (end == nullptr ? 0 : 1), egptr());
    if (end == nullptr) continue;
    break;
  }
  if (line.ends_with('\r')) line.pop_back();
  return any;
}

}  // namespace hopbench
