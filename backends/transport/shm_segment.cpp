#include "backends/transport/shm_segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <new>
#include <random>
#include <sstream>

#include "backends/base/error.h"

namespace hopbench {
namespace {

constexpr std::size_t kHeader = 64;  // of a block: its number of readers, on a cache line of its own
constexpr std::size_t kPage = 4096;

std::size_t machine_bytes() {
  return std::size_t(sysconf(_SC_PHYS_PAGES)) * std::size_t(sysconf(_SC_PAGESIZE)) / kPage * kPage;
}

std::string because(const char* what) { return std::string(what) + ": " + std::strerror(errno); }

/// A memfd of the given size, mapped; or the reason why there is none.
struct Mapped {
  int fd = -1;
  char* base = nullptr;
  std::string wrong;
};

Mapped map_new(std::size_t bytes) {
  rlimit limit{};
  // Otherwise the kernel would end the process by SIGXFSZ.
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes)
    return {.wrong = "the limit on the size of files is too low for shared memory: ulimit -f unlimited"};
  Mapped mapped;
  mapped.fd = memfd_create("hopbench", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (mapped.fd < 0) return {.wrong = because("the kernel gives no shared memory (memfd_create)")};
  if (ftruncate(mapped.fd, off_t(bytes)) != 0) {
    mapped.wrong = because("shared memory cannot be made large enough");
  } else {
    // It never shrinks under a process that maps it.
    fcntl(mapped.fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, mapped.fd, 0);
    if (at != MAP_FAILED) return mapped.base = static_cast<char*>(at), mapped;
    mapped.wrong = because("shared memory cannot be mapped") + ": it takes " + std::to_string(bytes >> 20) +
                   " MiB of addresses a rank and peer: ulimit -v unlimited";
  }
  close(mapped.fd);
  mapped.fd = -1;
  return mapped;
}

}  // namespace

std::string ShmSegment::unavailable() {
  const std::size_t bytes = machine_bytes();
  const Mapped mapped = map_new(bytes);
  if (!mapped.wrong.empty()) return mapped.wrong;
  munmap(mapped.base, bytes);
  close(mapped.fd);
  return "";
}

ShmSegment& ShmSegment::mine() {
  // Never destroyed: vectors that outlive everything else lie in it.
  static ShmSegment& segment = *new ShmSegment();
  return segment;
}

ShmSegment::ShmSegment() : bytes_(machine_bytes()) {
  const Mapped mapped = map_new(bytes_);
  if (!mapped.wrong.empty()) throw environment_error("transport shm: " + mapped.wrong);
  fd_ = mapped.fd;
  base_ = mapped.base;
  struct stat status {};
  fstat(fd_, &status);
  // The inode distinguishes it from another file that took the number. The token distinguishes it from a segment of a
  // machine that is a clone of this one.
  std::random_device random;
  const std::uint64_t token = std::uint64_t(random()) << 32 | random();
  new (base_) std::uint64_t(token);
  used_ = kPage;
  std::ostringstream text;
  text << getpid() << ' ' << fd_ << ' ' << status.st_ino << ' ' << token;
  address_ = text.str();
}

ShmSegment::Readers& ShmSegment::readers_at(std::size_t block) const {
  return *reinterpret_cast<Readers*>(base_ + block);
}

std::map<std::size_t, ShmSegment::Block>::iterator ShmSegment::block_of(const void* memory) {
  const auto after = blocks_.upper_bound(offset_of(memory));
  HB_ASSERT(after != blocks_.begin());
  return std::prev(after);
}

void* ShmSegment::allocate(std::size_t bytes) {
  const std::size_t whole = (bytes + kHeader + kPage - 1) / kPage * kPage;
  const std::lock_guard lock(mutex_);
  for (auto block = blocks_.begin(); waiting_ > 0 && block != blocks_.end();) {
    const auto here = block++;
    if (!here->second.released || readers_at(here->first).load(std::memory_order_acquire) > 0) continue;
    --waiting_;
    free(here);
  }
  auto best = free_.end();
  for (auto piece = free_.begin(); piece != free_.end(); ++piece) {
    if (piece->second >= whole && (best == free_.end() || piece->second < best->second)) best = piece;
  }
  std::size_t at = used_;
  if (best != free_.end()) {
    at = best->first;
    const std::size_t rest = best->second - whole;
    free_.erase(best);
    if (rest > 0) free_[at + whole] = rest;
  } else {
    if (whole > bytes_ - used_) return nullptr;
    used_ += whole;
  }
  blocks_[at] = {.bytes = whole};
  readers_at(at).store(0, std::memory_order_relaxed);
  return base_ + at + kHeader;
}

/// Called with the mutex held.
void ShmSegment::free(std::map<std::size_t, Block>::iterator block) {
  auto [at, bytes] = std::pair(block->first, block->second.bytes);
  blocks_.erase(block);
  const auto after = free_.lower_bound(at);
  if (after != free_.end() && at + bytes == after->first) {
    bytes += after->second;
    free_.erase(after);
  }
  const auto before = free_.lower_bound(at);
  if (before != free_.begin() && std::prev(before)->first + std::prev(before)->second == at) {
    std::prev(before)->second += bytes;
  } else {
    free_[at] = bytes;
  }
}

bool ShmSegment::release(void* memory) noexcept {
  if (!contains(memory)) return false;
  const std::lock_guard lock(mutex_);
  const auto block = block_of(memory);
  if (readers_at(block->first).load(std::memory_order_acquire) == 0) {
    free(block);
  } else {
    block->second.released = true;
    ++waiting_;
  }
  return true;
}

bool ShmSegment::lent(const void* memory) noexcept {
  if (!contains(memory)) return false;
  const std::lock_guard lock(mutex_);
  return readers_at(block_of(memory)->first).load(std::memory_order_acquire) > 0;
}

std::uint64_t ShmSegment::lend(const void* memory) {
  const std::lock_guard lock(mutex_);
  const std::size_t block = block_of(memory)->first;
  readers_at(block).fetch_add(1, std::memory_order_relaxed);
  return block;
}

// --- Another process's segment

ShmView::ShmView(const std::string& address) {
  int fd = -1;
  unsigned long long inode = 0, token = 0;
  if (std::sscanf(address.c_str(), "%d %d %llu %llu", &pid_, &fd, &inode, &token) != 4)
    throw trial_error("the address of its shared memory is malformed");
  if (ShmSegment& own = ShmSegment::mine(); address == own.address()) {
    base_ = own.base_;
    bytes_ = own.bytes_;
    own_ = true;
    return;
  }
  const std::string path = "/proc/" + std::to_string(pid_) + "/fd/" + std::to_string(fd);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0)
    throw environment_error(because("its memory cannot be opened") +
                            ": ranks that share memory are processes of one user that see each other in /proc");
  struct stat status {};
  fstat(file, &status);
  bytes_ = std::size_t(status.st_size);
  void* at = MAP_FAILED;
  if (status.st_ino == inode) at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  const std::string why = because("its memory cannot be mapped");
  close(file);
  if (status.st_ino != inode) throw trial_error("it ended before its memory was mapped");
  if (at == MAP_FAILED) throw environment_error(why + ": ulimit -v unlimited");
  base_ = static_cast<char*>(at);
  if (*reinterpret_cast<const std::uint64_t*>(base_) == token) return;
  munmap(base_, bytes_);
  throw trial_error(
      "another process's memory was mapped in its place, as on a clone of its machine: give each machine a name of its "
      "own (HOPBENCH_HOST)");
}

ShmView::~ShmView() {
  if (!own_) munmap(base_, bytes_);
}

char* ShmView::at(std::uint64_t offset, std::uint64_t bytes) const {
  if (offset > bytes_ || bytes > bytes_ - offset) throw trial_error("a message points outside its sender's memory");
  return base_ + offset;
}

void ShmView::give_back(std::uint64_t block) const {
  reinterpret_cast<std::atomic<std::uint32_t>*>(at(block, sizeof(std::uint32_t)))
      ->fetch_sub(1, std::memory_order_release);
}

}  // namespace hopbench
