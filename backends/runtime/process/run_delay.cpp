#include "backends/runtime/process/run_delay.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <system_error>

namespace hopbench {
namespace {

/// The schedstat file of a thread. It stays open and goes on reporting on the thread that opened it.
class Schedstat {
 public:
  explicit Schedstat(const char* file) : fd_(open(file, O_RDONLY | O_CLOEXEC)) {}
  ~Schedstat() {
    if (fd_ >= 0) close(fd_);
  }
  Schedstat(const Schedstat&) = delete;
  Schedstat& operator=(const Schedstat&) = delete;

  Duration read() const {  // "time on a core, time waiting for one, slices"
    char text[96];
    const ssize_t n = fd_ < 0 ? -1 : pread(fd_, text, sizeof text, 0);
    if (n <= 0) return Duration{};
    const char* at = text;
    const char* const end = text + n;
    while (at < end && *at != ' ') ++at;
    std::int64_t delay = 0;
    if (at < end) std::from_chars(at + 1, end, delay);
    return Duration(delay);
  }

 private:
  const int fd_;
};

}  // namespace

Duration run_delay() {
  thread_local const Schedstat schedstat("/proc/thread-self/schedstat");
  return schedstat.read();
}

Duration process_run_delay() {
  Duration sum{};
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    sum += Schedstat((task.path() / "schedstat").c_str()).read();
  }
  return sum;
}

}  // namespace hopbench
