#include "backends/base/process/kept.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <sstream>

namespace hopbench {
namespace {

constexpr const char* kVariable = "HB_CONTENTS";  // pairs of lines: a name, where its content can be opened

/// The contents that are kept, in the form of the variable, and the way to child processes. Not set: nothing is kept.
std::string kept_lines;
SetForChildren tell_children;

std::optional<std::string> kept_at(const std::string& name) {
  const char* const inherited = std::getenv(kVariable);
  std::istringstream lines((inherited == nullptr ? "" : inherited) + kept_lines);
  for (std::string kept, memory; std::getline(lines, kept) && std::getline(lines, memory);) {
    if (kept == name) return memory;
  }
  return std::nullopt;
}

}  // namespace

Content::Content(std::vector<std::uint8_t> bytes) {
  const auto owner = std::make_shared<const std::vector<std::uint8_t>>(std::move(bytes));
  bytes_ = *owner;
  owner_ = owner;
}

void keep_contents(SetForChildren set_for_children) { tell_children = std::move(set_for_children); }

bool keeps_contents() { return tell_children != nullptr; }

std::optional<Content> kept(const std::string& name) {
  const std::optional<std::string> memory = kept_at(name);
  const Descriptor fd(memory ? ::open(memory->c_str(), O_RDONLY | O_CLOEXEC) : -1);
  struct stat status {};
  if (fd.get() < 0 || ::fstat(fd.get(), &status) != 0 || status.st_size <= 0) return std::nullopt;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd.get(), 0);
  if (at == MAP_FAILED) return std::nullopt;
  std::shared_ptr<const void> owner(at, [size](const void* p) { ::munmap(const_cast<void*>(p), size); });
  return Content(std::move(owner), {static_cast<const std::uint8_t*>(at), size});
}

void keep(const std::string& name, const Content& content) {
  if (!keeps_contents()) return;
  Descriptor fd(::memfd_create("hopbench data", MFD_CLOEXEC));
  if (fd.get() < 0 || name.find('\n') != std::string::npos) return;
  for (std::size_t done = 0; done < content.size();) {
    const ssize_t written = ::write(fd.get(), content.data() + done, content.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    done += static_cast<std::size_t>(written);
  }
  kept_lines += fmt::format("{}\n/proc/{}/fd/{}\n", name, ::getpid(), fd.release());
  const char* const inherited = std::getenv(kVariable);
  tell_children(kVariable, (inherited == nullptr ? "" : inherited) + kept_lines);
}

}  // namespace hopbench
