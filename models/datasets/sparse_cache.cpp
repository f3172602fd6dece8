#include "models/datasets/sparse_cache.h"

#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "models/datasets/mapped_file.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace hopbench {
namespace {

namespace fs = std::filesystem;

/// The header of a cache file. Another byte order, or another layout of these fields, gives another magic number.
struct Header {
  std::uint64_t magic = 0x0031'5253'4342'4800;  // "HBCSR1" and a version: change it with the format
  std::uint64_t text_checksum = 0, body_checksum = 0;
  std::uint64_t rows = 0, nonzeros = 0, columns = 0;
};

template <class T>
std::size_t padded(std::size_t count) {
  return (count * sizeof(T) + 7) / 8 * 8;
}

std::size_t body_size(const Header& h) {
  return padded<std::uint64_t>(h.rows + 1) + padded<std::uint32_t>(h.nonzeros) + padded<float>(h.nonzeros) +
         padded<float>(h.rows) + padded<std::uint32_t>(h.columns);
}

template <class T>
void append(std::string& body, std::span<const T> from) {
  body.append(reinterpret_cast<const char*>(from.data()), from.size_bytes());
  body.append(padded<T>(from.size()) - from.size_bytes(), '\0');
}

template <class T>
std::span<const T> take(const char*& at, std::size_t count) {
  const auto* first = reinterpret_cast<const T*>(at);  // mapped at a page, each array at a multiple of 8
  at += padded<T>(count);
  return {first, count};
}

/// Returns true if a file of this name exists that no version of hopbench wrote.
bool is_of_the_users(const fs::path& file) {
  constexpr std::size_t kName = 6;  // of the magic number: a zero and "HBCSR"; what follows is the version
  const auto mapped = MappedFile::open(file);
  if (!mapped) return false;
  const std::uint64_t magic = Header{}.magic;
  return mapped->text().size() < kName || std::memcmp(mapped->text().data(), &magic, kName) != 0;
}

bool write_all(int fd, const char* from, std::size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(fd, from, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    from += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

}  // namespace

std::uint64_t checksum(std::span<const char> text) { return XXH3_64bits(text.data(), text.size()); }

fs::path cache_beside(const fs::path& text) { return text.string() + ".csr"; }

fs::path cache_elsewhere(std::uint64_t text_checksum) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const fs::path base = cache != nullptr && *cache == '/' ? fs::path(cache) : fs::path(home ? home : "/") / ".cache";
  return base / "hopbench" / fmt::format("{:016x}.csr", text_checksum);
}

std::optional<SparseDataset> open_cached(const fs::path& file, std::uint64_t text_checksum) {
  const auto mapped = MappedFile::open(file);
  Header h;
  if (!mapped || mapped->text().size() < sizeof h) return std::nullopt;
  const std::span<const char> body = mapped->text().subspan(sizeof h);
  std::memcpy(&h, mapped->text().data(), sizeof h);
  const std::uint64_t largest = body.size();  // keeps nonsense from overflowing body_size
  if (h.magic != Header{}.magic || h.text_checksum != text_checksum || h.rows > largest || h.nonzeros > largest ||
      h.columns > largest || body_size(h) != body.size() || checksum(body) != h.body_checksum)
    return std::nullopt;
  const char* at = body.data();
  SparseArrays arrays;
  arrays.offsets = take<std::uint64_t>(at, h.rows + 1);
  arrays.columns = take<std::uint32_t>(at, h.nonzeros);
  arrays.values = take<float>(at, h.nonzeros);
  arrays.labels = take<float>(at, h.rows);
  arrays.original = take<std::uint32_t>(at, h.columns);
  return SparseDataset(mapped, arrays);
}

bool write_cached(const fs::path& file, std::uint64_t text_checksum, const SparseDataset& data) {
  if (is_of_the_users(file)) return false;
  const SparseArrays& a = data.arrays();
  Header h{.text_checksum = text_checksum, .rows = data.rows(), .nonzeros = data.nonzeros(), .columns = data.columns()};
  std::string body;
  body.reserve(body_size(h));
  append(body, a.offsets);
  append(body, a.columns);
  append(body, a.values);
  append(body, a.labels);
  append(body, a.original);
  h.body_checksum = checksum(body);
  std::error_code failed;
  fs::create_directories(file.parent_path(), failed);
  std::string partial = file.string() + ".XXXXXX";
  const int fd = ::mkstemp(partial.data());
  if (fd < 0) return false;
  const bool written = write_all(fd, reinterpret_cast<const char*>(&h), sizeof h) &&
                       write_all(fd, body.data(), body.size()) && ::fchmod(fd, 0644) == 0;
  if (::close(fd) == 0 && written && ::rename(partial.c_str(), file.c_str()) == 0) return true;
  ::unlink(partial.c_str());
  return false;
}

}  // namespace hopbench
