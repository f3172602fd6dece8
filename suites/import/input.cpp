#include "suites/import/input.h"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <utility>

#include "backends/base/error.h"
#include "backends/base/files/csv.h"
#include "backends/base/printable.h"

namespace hopbench {

struct Input::File {
  std::string path;
  gzFile file = nullptr;
  std::array<char, std::size_t{1} << 16> bytes{};
  bool begun = false;
  ~File() {
    if (file != nullptr) gzclose_r(file);
  }
  Error unreadable(const std::string& why) const {
    return usage_error(fmt::format("{} cannot be read: {}", printable(path), why));
  }
};

Input::Input(const std::string& path) : file_(new File{path, nullptr, {}, false}) {
  std::error_code none;
  if (std::filesystem::is_directory(path, none)) throw file_->unreadable("it is a directory");
  file_->file = gzopen(path.c_str(), "rb");
  if (file_->file == nullptr) throw file_->unreadable(std::strerror(errno));
  gzbuffer(file_->file, 1u << 16);
}

Input::~Input() = default;

Input::int_type Input::underflow() {
  constexpr std::size_t kLongestToken = std::size_t{16} << 20;
  if (gptr() < egptr()) return traits_type::to_int_type(*gptr());
  if (in_token_ > kLongestToken) throw file_->unreadable("a line or text of it has more than 16 MiB");
  const int got = gzread(file_->file, file_->bytes.data(), unsigned(file_->bytes.size()));
  if (got <= 0) {
    int code = Z_OK;
    const std::string why = gzerror(file_->file, &code);  // "PATH: why"
    if (code == Z_BUF_ERROR) throw file_->unreadable("its gzip data end early: get the file again");
    if (code != Z_OK && code != Z_STREAM_END)
      throw file_->unreadable((code == Z_ERRNO ? std::strerror(errno) : why.substr(why.rfind(": ") + 2)) +
                              ": get the file again");
    return traits_type::eof();
  }
  in_token_ += std::size_t(got);
  const std::string_view read(file_->bytes.data(), std::size_t(got));
  const bool at_begin = !std::exchange(file_->begun, true);
  if (at_begin && (read.starts_with("\xff\xfe") || read.starts_with("\xfe\xff")))
    throw file_->unreadable("its byte order mark says that it is UTF-16: save it as UTF-8");
  const int mark = at_begin && read.starts_with("\xef\xbb\xbf") ? 3 : 0;  // of UTF-8, which spreadsheets write
  setg(file_->bytes.data(), file_->bytes.data() + mark, file_->bytes.data() + got);
  if (mark == got) return underflow();
  return traits_type::to_int_type(*gptr());
}

bool Input::next_line(std::string& line) {
  line.clear();
  begin_token();
  bool any = false;
  ends_in_line_ = true;
  while (underflow() != traits_type::eof()) {
    any = true;
    const auto length = std::size_t(egptr() - gptr());
    const void* end = std::memchr(gptr(), '\n', length);
    const std::size_t taken = end == nullptr ? length : std::size_t(static_cast<const char*>(end) - gptr());
    line.append(gptr(), taken);
    setg(eback(), gptr() + taken + (end == nullptr ? 0 : 1), egptr());
    if (end == nullptr) continue;
    ends_in_line_ = false;
    break;
  }
  if (line.ends_with('\r')) line.pop_back();
  return any;
}

std::optional<std::int64_t> integer_in(std::string_view text) {
  constexpr double kMostExact = 9007199254740992.0;  // 2^53
  if (const auto integer = number_in<std::int64_t>(text)) return integer;
  const auto real = number_in<double>(text);
  const bool whole = real && std::abs(*real) <= kMostExact && *real == std::floor(*real);
  return whole ? std::optional(std::int64_t(*real)) : std::nullopt;
}

}  // namespace hopbench
