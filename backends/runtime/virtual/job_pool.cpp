#include "backends/runtime/virtual/job_pool.h"

#include <utility>

namespace hopbench {

void Job::run() noexcept {
  try {
    work_();
  } catch (...) {
    error_ = std::current_exception();
  }
  work_ = nullptr;  // what it refers to is released here, not when the strand gets to it
}

JobPool::~JobPool() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  queued_.notify_all();
  for (std::thread& t : threads_) t.join();
}

void JobPool::start(Job& job) {
  while (threads_.size() < static_cast<std::size_t>(size_)) threads_.emplace_back([this] { work(); });
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(&job);
  }
  queued_.notify_one();
}

void JobPool::run_here(Job& job) {
  job.run();
  job.done_ = true;
}

void JobPool::join(Job& job) {
  wait(job);
  if (job.error_) std::rethrow_exception(std::exchange(job.error_, nullptr));
}

void JobPool::wait(Job& job) noexcept {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] { return job.done_; });
}

void JobPool::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    queued_.wait(lock, [this] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Job* job = queue_.front();
    queue_.pop_front();
    lock.unlock();
    job->run();
    lock.lock();
    job->done_ = true;
    ended_.notify_all();
  }
}

}  // namespace hopbench
