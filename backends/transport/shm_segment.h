// Memory of this process that other ranks on the machine map: a memfd. It has no name, so no process finds leftovers of
// another, and /dev/shm may be of any size. It is gone with its last user, however that ends.
//
// Once it is made, large vectors of host_space() lie in it, so that a message lends a vector instead of copying it. The
// message counts a reader in front of the vector. The receiver reads the vector in place, and takes the reader away
// again. Until then the vector does not change (copy on write, see vec.h) and its memory is not reused. Vectors that a
// rank held when it died stay held.
//
// The segment is as large as the machine's memory, but pages are taken when they are first written.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "backends/base/space.h"

namespace hopbench {

class ShmSegment : public SharedMemory {
 public:
  /// Returns why no process here could have a segment, or "" if it could.
  static std::string unavailable();
  /// Returns this process's segment, made by the first call and never destroyed. Throws Error (environment).
  static ShmSegment& mine();

  // Any thread may call these.
  void* allocate(std::size_t bytes) override;
  bool release(void* memory) noexcept override;
  bool lent(const void* memory) noexcept override;

  bool contains(const void* memory) const { return memory >= base_ && memory < base_ + bytes_; }
  std::uint64_t offset_of(const void* memory) const { return std::uint64_t(static_cast<const char*>(memory) - base_); }
  /// Counts one more reader of the block that contains `memory`, before that reader is notified.
  std::uint64_t lend(const void* memory);

  /// Returns the address at which other processes find it, to be sent to those that are to find it.
  const std::string& address() const { return address_; }

 private:
  friend class ShmView;
  using Readers = std::atomic<std::uint32_t>;
  struct Block {
    std::size_t bytes = 0;
    bool released = false;  // by this process; but another one may be reading it
  };

  ShmSegment();
  Readers& readers_at(std::size_t block) const;
  std::map<std::size_t, Block>::iterator block_of(const void* memory);
  void free(std::map<std::size_t, Block>::iterator block);

  int fd_ = -1;
  std::size_t bytes_ = 0;
  char* base_ = nullptr;
  std::string address_;

  std::mutex mutex_;                         // protects the members below
  std::size_t used_ = 0;                     // nothing above it was ever allocated
  std::map<std::size_t, Block> blocks_;      // by their first offset
  std::map<std::size_t, std::size_t> free_;  // offset, bytes; no two are adjacent
  std::size_t waiting_ = 0;                  // blocks that are released but read
};

/// Another process's segment, mapped. Stays readable when that process is gone. (Or this process's own, as it is: if
/// ranks are threads of a test, a sanitizer then sees both sides of what they share.)
class ShmView {
 public:
  /// `address` is that segment's. Throws Error saying why it cannot be mapped.
  explicit ShmView(const std::string& address);
  ~ShmView();
  ShmView(const ShmView&) = delete;
  ShmView& operator=(const ShmView&) = delete;

  /// Throws Error if this range is not all inside the segment.
  char* at(std::uint64_t offset, std::uint64_t bytes) const;
  /// Ends a loan: `block` is what lend() returned there.
  void give_back(std::uint64_t block) const;
  int pid() const { return pid_; }
  /// Returns true if it is this process's segment.
  bool own() const { return own_; }

 private:
  int pid_ = 0;
  std::size_t bytes_ = 0;
  char* base_ = nullptr;
  bool own_ = false;
};

}  // namespace hopbench
