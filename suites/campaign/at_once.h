// Pieces of work of which several are under way at once, while their results are used in order.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

namespace hopbench {

/// The pieces of a work, as a helper sees them that has some of them done elsewhere. Any thread may call it.
class Pieces {
 public:
  virtual ~Pieces() = default;
  /// Takes a piece. Returns nothing if there is none to begin now, or the work is over.
  virtual std::optional<std::size_t> take() = 0;
  /// Reports a piece that was taken as done.
  virtual void done(std::size_t piece) = 0;
  /// Gives a piece back that was taken and will not be done. It is the next one to be taken, here or by the helper.
  virtual void give_back(std::size_t piece) = 0;
  /// Returns true if something has thrown: nobody will use what is done.
  virtual bool failed() = 0;
};

/// For i from 0 to n - 1, calls `work(i, t)` on thread t of `threads` (if that is 1, on the caller's, t = 0), and then
/// `use(i)` on the caller's thread, in rising order of i. Begins no work once `over()` holds, but uses what had begun.
/// Throws what `work` or `use` threw first, after all that had begun has ended. `helper`, if there is one, runs on a
/// thread of its own (then none of the threads is the caller's) and may do some of the pieces. It must return once
/// there is no piece for it to take and none that it has taken.
void at_once(std::size_t n, int threads, const std::function<void(std::size_t, int)>& work,
             const std::function<void(std::size_t)>& use, const std::function<bool()>& over,
             const std::function<void(Pieces&)>& helper = nullptr);

}  // namespace hopbench
