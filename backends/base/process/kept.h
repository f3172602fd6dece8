// The contents of files that a process has read once, for itself and for the child processes that it starts. They map
// the same memory.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hopbench {

/// A file descriptor, which the destructor closes.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

/// An immutable sequence of bytes. Copies share the bytes.
class Content {
 public:
  explicit Content(std::vector<std::uint8_t> bytes);
  Content(std::shared_ptr<const void> owner, std::span<const std::uint8_t> bytes)
      : owner_(std::move(owner)), bytes_(bytes) {}
  const std::uint8_t* data() const { return bytes_.data(); }
  std::size_t size() const { return bytes_.size(); }
  std::uint8_t operator[](std::size_t i) const { return bytes_[i]; }

 private:
  std::shared_ptr<const void> owner_;
  std::span<const std::uint8_t> bytes_;
};

/// Sets a variable in the environment of the processes that this one will start.
using SetForChildren = std::function<void(const std::string& name, const std::string& value)>;

/// Makes keep() keep contents, from now on, in anonymous memory until this process ends. This process finds them there,
/// and so do its child processes, by the variable HB_CONTENTS that `set_for_children` is called with.
void keep_contents(SetForChildren set_for_children);

bool keeps_contents();

/// Keeps the content for later calls of kept(), if keep_contents() was called. If there is no memory for it, every
/// process makes it for itself. Only one thread at a time may call it.
void keep(const std::string& name, const Content& content);

/// Returns the content that this process or the one that started it keeps by that name.
std::optional<Content> kept(const std::string& name);

}  // namespace hopbench
