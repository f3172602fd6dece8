#include "cli/commands/at_once.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace hopbench {
namespace {

class Pieces {
 public:
  Pieces(std::size_t n, const std::function<void(std::size_t, int)>& work, const std::function<bool()>& over)
      : n_(n), work_(work), over_(over), done_(n, false) {}

  /// Does pieces until none is left.
  void run(int thread) {
    for (std::unique_lock lock(mutex_); next_ < n_ && !failed_ && !over_();) {
      const std::size_t mine = next_++;
      lock.unlock();
      std::exception_ptr thrown;
      try {
        work_(mine, thread);
      } catch (...) {
        thrown = std::current_exception();
      }
      lock.lock();
      if (thrown && !failed_) failed_ = thrown;
      done_[mine] = !thrown;
      changed_.notify_all();
    }
    const std::lock_guard lock(mutex_);
    ++ended_;
    changed_.notify_all();
  }

  /// Blocks until piece i is done. Returns false if it never will be, since all of `threads` have ended.
  bool wait(std::size_t i, std::size_t threads) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_[i] || ended_ == threads; });
    return done_[i];
  }

  void fail(std::exception_ptr thrown) {
    const std::lock_guard lock(mutex_);
    if (!failed_) failed_ = std::move(thrown);
  }

  void rethrow() const {
    if (failed_) std::rethrow_exception(failed_);
  }

 private:
  const std::size_t n_;
  const std::function<void(std::size_t, int)>& work_;
  const std::function<bool()>& over_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> done_;
  std::size_t next_ = 0, ended_ = 0;
  std::exception_ptr failed_;
};

}  // namespace

void at_once(std::size_t n, int threads, const std::function<void(std::size_t, int)>& work,
             const std::function<void(std::size_t)>& use, const std::function<bool()>& over) {
  if (threads == 1 || n <= 1) {
    for (std::size_t i = 0; i < n && !over(); ++i) {
      work(i, 0);
      use(i);
    }
    return;
  }
  Pieces pieces(n, work, over);
  std::vector<std::thread> team;
  try {
    while (team.size() < std::min(n, static_cast<std::size_t>(threads)))
      team.emplace_back([&, thread = int(team.size())] { pieces.run(thread); });
    for (std::size_t i = 0; i < n && pieces.wait(i, team.size()); ++i) use(i);
  } catch (...) {
    pieces.fail(std::current_exception());
  }
  for (std::thread& thread : team) thread.join();
  pieces.rethrow();
}

}  // namespace hopbench
