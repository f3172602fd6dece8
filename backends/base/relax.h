// A pause for loops that wait until another thread has written a word.
#pragma once

namespace hopbench {

/// Tells the processor that this thread waits in a loop; returns at once.
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");  // `yield` does nothing on most of these processors; this takes as long as x86's pause
#endif
}

}  // namespace hopbench
