#include "backends/transport/shm_channel.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace hopbench {
namespace {

// Not std::atomic::wait: libstdc++'s works within one process only.
long futex(std::atomic<std::uint32_t>& word, int what, std::uint32_t value, const timespec* timeout) {
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), what, value, timeout, nullptr, 0);
}

}  // namespace

void ShmBell::ring(bool urgent) {
  const std::uint32_t now = rung_.fetch_add(1, std::memory_order_seq_cst) + 1;
  if (sleeping_.load(std::memory_order_seq_cst) == 0) return;
  const bool reached = static_cast<std::int32_t>(now - due_.load(std::memory_order_seq_cst)) >= 0;
  if (urgent || reached) futex(rung_, FUTEX_WAKE, INT_MAX, nullptr);
}

void ShmBell::sleep(std::uint32_t seen, std::uint32_t more, Duration timeout) {
  const std::int64_t ns = std::max<std::int64_t>(0, timeout.count());
  const timespec limit{ns / 1'000'000'000, ns % 1'000'000'000};
  due_.store(seen + more, std::memory_order_seq_cst);
  sleeping_.store(1, std::memory_order_seq_cst);
  futex(rung_, FUTEX_WAIT, seen, &limit);
  sleeping_.store(0, std::memory_order_seq_cst);
}

}  // namespace hopbench
