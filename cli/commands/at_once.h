// Pieces of work of which several are under way at once, while their results are used in order.
#pragma once

#include <cstddef>
#include <functional>

namespace hopbench {

/// For i from 0 to n - 1, calls `work(i, t)` on thread t of `threads` (if that is 1, on the caller's, t = 0), and then
/// `use(i)` on the caller's thread, in rising order of i. Begins no work once `over()` holds, but uses what had begun.
/// Throws what `work` or `use` threw first, after all that had begun has ended.
void at_once(std::size_t n, int threads, const std::function<void(std::size_t, int)>& work,
             const std::function<void(std::size_t)>& use, const std::function<bool()>& over);

}  // namespace hopbench
