#include "suites/campaign/at_once.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace hopbench {
namespace {

constexpr std::chrono::milliseconds kLookIfOver(50);  // while a thread waits for a piece that may be given back

class SharedPieces : public Pieces {
 public:
  SharedPieces(std::size_t n, const std::function<void(std::size_t, int)>& work, const std::function<bool()>& over)
      : n_(n), work_(work), over_(over), done_(n, false) {}

  /// Does pieces until none is left, and none can be given back.
  void run(int thread) {
    std::unique_lock lock(mutex_);
    while (!failed_ && !over_()) {
      const std::optional<std::size_t> mine = next();
      if (!mine && away_ == 0) break;
      if (!mine) {
        changed_.wait_for(lock, kLookIfOver);
        continue;
      }
      lock.unlock();
      std::exception_ptr thrown;
      try {
        work_(*mine, thread);
      } catch (...) {
        thrown = std::current_exception();
      }
      lock.lock();
      if (thrown && !failed_) failed_ = thrown;
      done_[*mine] = !thrown;
      changed_.notify_all();
    }
    ++ended_;
    changed_.notify_all();
  }

  /// Runs the helper. If it throws, the pieces that it has taken are not done.
  void help(const std::function<void(Pieces&)>& helper) {
    std::exception_ptr thrown;
    try {
      helper(*this);
    } catch (...) {
      thrown = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    if (thrown && !failed_) failed_ = thrown;
    away_ = 0;
    ++ended_;
    changed_.notify_all();
  }

  std::optional<std::size_t> take() override {
    const std::lock_guard lock(mutex_);
    if (failed_ || over_()) return std::nullopt;
    const std::optional<std::size_t> mine = next();
    if (mine) ++away_;
    return mine;
  }
  void done(std::size_t piece) override {
    const std::lock_guard lock(mutex_);
    done_[piece] = true;
    --away_;
    changed_.notify_all();
  }
  void give_back(std::size_t piece) override {
    const std::lock_guard lock(mutex_);
    returned_.push_back(piece);
    --away_;
    changed_.notify_all();
  }
  bool failed() override {
    const std::lock_guard lock(mutex_);
    return failed_ != nullptr;
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
  std::optional<std::size_t> next() {
    if (!returned_.empty()) {
      const std::size_t piece = returned_.front();
      returned_.pop_front();
      return piece;
    }
    if (next_ < n_) return next_++;
    return std::nullopt;
  }

  const std::size_t n_;
  const std::function<void(std::size_t, int)>& work_;
  const std::function<bool()>& over_;
  std::mutex mutex_;  // protects the members below
  std::condition_variable changed_;
  std::vector<bool> done_;
  std::size_t next_ = 0, ended_ = 0;
  std::size_t away_ = 0;              // number of pieces that the helper has
  std::deque<std::size_t> returned_;  // by the helper
  std::exception_ptr failed_;
};

}  // namespace

void at_once(std::size_t n, int threads, const std::function<void(std::size_t, int)>& work,
             const std::function<void(std::size_t)>& use, const std::function<bool()>& over,
             const std::function<void(Pieces&)>& helper) {
  if (n <= 1 || (threads == 1 && helper == nullptr)) {
    for (std::size_t i = 0; i < n && !over(); ++i) {
      work(i, 0);
      use(i);
    }
    return;
  }
  SharedPieces pieces(n, work, over);
  std::vector<std::thread> team;
  try {
    const std::size_t here = std::min(n, static_cast<std::size_t>(threads));
    if (helper != nullptr) team.emplace_back([&] { pieces.help(helper); });
    while (team.size() < here + (helper != nullptr ? 1 : 0))
      team.emplace_back([&, thread = int(team.size()) - (helper != nullptr ? 1 : 0)] { pieces.run(thread); });
    for (std::size_t i = 0; i < n && pieces.wait(i, team.size()); ++i) use(i);
  } catch (...) {
    pieces.fail(std::current_exception());
  }
  for (std::thread& thread : team) thread.join();
  pieces.rethrow();
}

}  // namespace hopbench
