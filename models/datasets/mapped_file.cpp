#include "models/datasets/mapped_file.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hopbench {

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  // Opens without blocking, because the path may be a pipe without a writer.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return nullptr;
  struct stat status {};
  void* at = MAP_FAILED;
  errno = 0;
  if (::fstat(fd, &status) == 0 && !S_ISREG(status.st_mode)) errno = EINVAL;
  const auto size = static_cast<std::size_t>(status.st_size);
  if (errno == 0 && size > 0) at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  const int why = errno;
  ::close(fd);
  errno = why;
  if (at == MAP_FAILED) return nullptr;
  return std::shared_ptr<const MappedFile>(new MappedFile({static_cast<const char*>(at), size}));
}

MappedFile::~MappedFile() { ::munmap(const_cast<char*>(text_.data()), text_.size()); }

}  // namespace hopbench
