// Threads for the pure arithmetic of virtual time. The simulation starts a job when its virtual time begins and joins
// it when that time is over. In between it goes on with other events.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace hopbench {

/// A job and its end. It must be joined before it is destroyed. An exception that it threw waits here meanwhile.
class Job {
 public:
  explicit Job(std::function<void()> work) : work_(std::move(work)) {}

 private:
  friend class JobPool;
  void run() noexcept;
  std::function<void()> work_;
  std::exception_ptr error_;
  bool done_ = false;  // under the pool's mutex
};

class JobPool {
 public:
  explicit JobPool(int threads) : size_(threads) {}
  ~JobPool();

  void start(Job& job);
  /// Runs the job now on the caller's thread, instead of start.
  void run_here(Job& job);
  /// Blocks until the job has ended. Throws what the job threw (once).
  void join(Job& job);
  /// Does the same, and forgets what the job threw.
  void wait(Job& job) noexcept;

 private:
  void work();

  int size_;
  std::vector<std::thread> threads_;  // started with the first job
  std::mutex mutex_;
  std::condition_variable queued_, ended_;
  std::deque<Job*> queue_;
  bool closing_ = false;
};

}  // namespace hopbench
