#include "backends/runtime/virtual/strand.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "backends/base/error.h"

namespace hopbench {
namespace {

class ThreadStrand final : public Strand {
 public:
  explicit ThreadStrand(std::function<void()> body) : body_(std::move(body)) {}

  ~ThreadStrand() override { HB_ASSERT(!thread_.joinable()); }

  void resume() override {
    HB_ASSERT(!done_);
    {
      std::unique_lock lock(mutex_);
      inside_ = true;
      if (thread_.joinable()) {
        turn_.notify_all();
      } else {
        thread_ = std::thread([this] { run(); });
      }
      turn_.wait(lock, [this] { return !inside_; });
    }
    if (!done_) return;
    thread_.join();
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

  void suspend() override {
    std::unique_lock lock(mutex_);
    inside_ = false;
    turn_.notify_all();
    turn_.wait(lock, [this] { return inside_; });
  }

  bool done() const override { return done_; }

 private:
  void run() {
    { std::unique_lock lock(mutex_); }  // the starter holds it until it waits
    try {
      body_();
    } catch (...) {
      error_ = std::current_exception();
    }
    body_ = nullptr;
    std::unique_lock lock(mutex_);
    done_ = true;
    inside_ = false;
    turn_.notify_all();
  }

  std::function<void()> body_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable turn_;
  bool inside_ = false;
  bool done_ = false;
  std::exception_ptr error_;
};

}  // namespace

std::unique_ptr<Strand> make_strand(StrandKind kind, std::function<void()> body, std::size_t stack_bytes) {
  if (kind == StrandKind::kThreads) return std::make_unique<ThreadStrand>(std::move(body));
  if (!detail::fibers_available())
    throw environment_error(
        "fibers are not in this build: Boost.Context is missing or TSan is on: use --strands=threads");
  return detail::make_fiber(std::move(body), stack_bytes);
}

bool strand_kind_available(StrandKind kind) { return kind == StrandKind::kThreads || detail::fibers_available(); }

}  // namespace hopbench
