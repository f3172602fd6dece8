#include "models/datasets/sparse_cache.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/base/process/kept.h"

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

/// Calls f(array, its length by the header) for each array of a cache, in order.
template <class F>
void for_arrays(SparseArrays& arrays, const Header& h, const F& f) {
  f(arrays.offsets, h.rows + 1);
  f(arrays.columns, h.nonzeros);
  f(arrays.values, h.nonzeros);
  f(arrays.labels, h.rows);
  f(arrays.original, h.columns);
}

std::size_t body_size(const Header& h) {
  SparseArrays none;
  std::size_t size = 0;
  for_arrays(none, h, [&]<class T>(std::span<const T>&, std::size_t count) { size += padded<T>(count); });
  return size;
}

/// Returns true if a file of this name exists that no version of hopbench wrote.
bool is_of_the_users(const fs::path& file) {
  constexpr std::size_t kName = 6;  // of the magic number: a zero and "HBCSR"; what follows is the version
  const auto mapped = map_file(file);
  if (!mapped) return false;
  const std::uint64_t magic = Header{}.magic;
  return mapped->size() < kName || std::memcmp(mapped->data(), &magic, kName) != 0;
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

std::shared_ptr<const std::span<const char>> map_file(const fs::path& path) {
  // Opens without blocking, because the path may be a pipe without a writer.
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (fd.get() < 0 || ::fstat(fd.get(), &status) != 0) return nullptr;
  errno = S_ISREG(status.st_mode) ? 0 : EINVAL;
  const auto size = static_cast<std::size_t>(status.st_size);
  if (errno != 0 || size == 0) return nullptr;
  void* const at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (at == MAP_FAILED) return nullptr;
  return {new std::span(static_cast<const char*>(at), size), [](const std::span<const char>* mapped) {
            ::munmap(const_cast<char*>(mapped->data()), mapped->size());
            delete mapped;
          }};
}

std::uint64_t checksum(std::span<const char> text) { return XXH3_64bits(text.data(), text.size()); }

fs::path cache_beside(const fs::path& text) { return text.string() + ".csr"; }

fs::path cache_elsewhere(std::uint64_t text_checksum) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const fs::path base = cache != nullptr && *cache == '/' ? fs::path(cache) : fs::path(home ? home : "/") / ".cache";
  return base / "hopbench" / fmt::format("{:016x}.csr", text_checksum);
}

std::optional<SparseDataset> open_cached(const fs::path& file, std::uint64_t text_checksum) {
  const auto mapped = map_file(file);
  Header h;
  if (!mapped || mapped->size() < sizeof h) return std::nullopt;
  const std::span<const char> body = mapped->subspan(sizeof h);
  std::memcpy(&h, mapped->data(), sizeof h);
  const std::uint64_t largest = body.size();  // keeps nonsense from overflowing body_size
  if (h.magic != Header{}.magic || h.text_checksum != text_checksum || h.rows > largest || h.nonzeros > largest ||
      h.columns > largest || body_size(h) != body.size() || checksum(body) != h.body_checksum)
    return std::nullopt;
  const char* at = body.data();
  SparseArrays arrays;
  for_arrays(arrays, h, [&]<class T>(std::span<const T>& array, std::size_t count) {
    array = {reinterpret_cast<const T*>(at), count};  // mapped at a page, each array at a multiple of 8
    at += padded<T>(count);
  });
  return SparseDataset(mapped, arrays);
}

bool write_cached(const fs::path& file, std::uint64_t text_checksum, const SparseDataset& data) {
  if (is_of_the_users(file)) return false;
  SparseArrays arrays = data.arrays();
  Header h{.text_checksum = text_checksum, .rows = data.rows(), .nonzeros = data.nonzeros(), .columns = data.columns()};
  std::string body;
  body.reserve(body_size(h));
  for_arrays(arrays, h, [&]<class T>(const std::span<const T>& array, std::size_t count) {
    body.append(reinterpret_cast<const char*>(array.data()), array.size_bytes());
    body.append(padded<T>(count) - array.size_bytes(), '\0');
  });
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
