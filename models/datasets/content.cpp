#include "models/datasets/content.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "backends/base/error.h"

namespace hopbench {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::uint8_t>;

struct CloseGz {
  void operator()(gzFile file) const { gzclose_r(file); }
};
using GzFile = std::unique_ptr<gzFile_s, CloseGz>;

/// Adds `count` bytes of content, or what is left. Returns true if there were `count` bytes.
bool add_content(gzFile file, std::size_t count, Bytes& to, const Watch& watch) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  for (const std::size_t end = to.size() + count; to.size() < end;) {
    const std::size_t had = to.size(), wanted = std::min(kPiece, end - had);
    if (had + wanted > to.capacity()) to.reserve(std::min(end, 2 * to.capacity() + kPiece));
    to.resize(had + wanted);
    const int got = gzread(file, to.data() + had, static_cast<unsigned>(wanted));
    to.resize(had + static_cast<std::size_t>(std::max(got, 0)));
    if (got <= 0) return false;
    if (watch) watch(to);
  }
  return true;
}

void check_end(gzFile file, const fs::path& path, std::size_t content) {
  int code = Z_OK;
  const std::string text = gzerror(file, &code);  // "PATH: why"
  const auto offset = static_cast<std::size_t>(std::max<z_off_t>(gzoffset(file), 0));
  if (code == Z_BUF_ERROR)
    corrupt(path, offset, fmt::format("the gzip data end early, after {} bytes of content", content));
  if (code == Z_ERRNO) corrupt(path, offset, std::strerror(errno));
  if (code != Z_OK && code != Z_STREAM_END)
    corrupt(path, offset, "damaged gzip data: " + text.substr(text.rfind(": ") + 2));
}

/// `largest`: for compressed files.
Bytes read(const fs::path& path, const ContentSize& size, std::size_t largest, const Watch& watch) {
  const GzFile owner(gzopen(path.c_str(), "rb"));
  gzFile const file = owner.get();
  if (file == nullptr)
    throw usage_error(fmt::format("cannot open data file {}: {}", path.string(), std::strerror(errno)))
        .as(FailureKind::kEnvironment);
  gzbuffer(file, 1u << 17);
  std::error_code ignored;
  if (fs::file_size(path, ignored) == 0) corrupt(path, 0, "the file is empty");
  if (gzdirect(file) != 0) {
    if (path.extension() == ".gz") corrupt(path, 0, "not a gzip file, although its name says so");
    largest = std::numeric_limits<std::size_t>::max() / 2;
  }
  Bytes to;
  if (!add_content(file, size.head, to, nullptr)) check_end(file, path, to.size());
  const std::size_t promised = size.of ? size.of(path, to) : largest, most = std::min(promised, largest);
  if (to.size() <= most && !add_content(file, most + 1 - to.size(), to, watch)) {
    check_end(file, path, to.size());
    return to;
  }
  if (promised <= largest && size.of)
    corrupt(path, promised, fmt::format("the content should end here, after {} bytes, and goes on", promised));
  throw usage_error(
      fmt::format("cannot use data file {}: its content is larger than {} bytes, the most that a compressed file may "
                  "hold: decompress it (gunzip), or get the file again if it should be smaller",
                  path.string(), largest));
}

}  // namespace

void corrupt(const fs::path& path, std::size_t byte, const std::string& why) {
  throw usage_error(
      fmt::format("cannot use data file {}: at byte {}: {}: get the file again", path.string(), byte, why))
      .as(FailureKind::kEnvironment);
}

Content read_content(const fs::path& path, const ContentSize& size, std::size_t largest, const Watch& watch) {
  if (auto content = kept(path.string())) return *std::move(content);
  try {
    Content content(read(path, size, largest, watch));
    keep(path.string(), content);
    return content;
  } catch (const std::bad_alloc&) {
    throw environment_error(fmt::format(
        "cannot use data file {}: there is not enough memory for its content: allow more (ulimit -v)", path.string()));
  }
}

}  // namespace hopbench
