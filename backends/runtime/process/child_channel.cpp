#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "backends/base/error.h"
#include "backends/base/ran_out.h"
#include "backends/runtime/process/control.h"
#include "backends/runtime/process/launch.h"

namespace hopbench {
namespace {

std::atomic<ChildChannel*> open_channel{nullptr};  // of this process

bool is_socket(int fd) {
  int type = 0;
  socklen_t length = sizeof type;
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM;
}

/// Sets how the rank is scheduled. Called before any thread is started, so that all threads inherit it.
void prepare_process() {
  std::signal(SIGPIPE, SIG_IGN);
  // Avoids the wake-up preemption of the default policy: with more ranks than cores, a message would take milliseconds
  // longer. Needs no privilege. If it is refused, only that advantage is lost.
  const sched_param no_priority{};
  sched_setscheduler(0, SCHED_BATCH, &no_priority);
  prctl(PR_SET_TIMERSLACK, 1UL);  // paced slots end on time
}

/// Tells the launcher of an exception that left a thread, and ends the process. Threads of libraries (Gloo's) catch
/// nothing, for example when memory runs out. Without an exception the process aborts as usual.
[[noreturn]] void tell_and_end() noexcept;

class LaunchedChannel : public ChildChannel {
 public:
  LaunchedChannel() : channel_(kControlFd) {
    const ControlMessage place = next_message(ControlType::kPlace);
    local_ = {place.peer, static_cast<int>(place.value)};
    lent_ = place.text.starts_with(kLent);
    address_ = place.text.substr(lent_ ? kLent.size() : 0);
    ControlMessage job = next_message(ControlType::kJob);
    rank_ = job.peer;
    size_ = static_cast<int>(job.value);
    job_ = std::move(job.text);
    board_ = Board::attach(kBoardFd, size_);
    try {
      reader_ = std::thread([this] { read_all(); });
    } catch (const std::exception& error) {  // no channel exists yet through which callers could say so
      LaunchedChannel::fail(failure_of(error));
      throw;
    }
    open_channel = this;
    std::set_terminate(tell_and_end);
  }

  ~LaunchedChannel() override {
    open_channel = nullptr;
    closing_ = true;
    shutdown(channel_.fd(), SHUT_RD);  // wakes the reader
    reader_.join();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  const std::string& job() const override { return job_; }
  LocalPlace local() const override { return local_; }
  bool lent() const override { return lent_; }
  const std::string& address() const override { return address_; }
  Board& board() override { return *board_; }

  std::vector<std::string> exchange(const std::vector<int>& peers, const std::vector<std::string>& blobs) override {
    HB_ASSERT(peers.size() == blobs.size());
    board_->slot(rank_).phase = Phase::kConnecting;
    for (std::size_t i = 0; i < peers.size(); ++i) say({ControlType::kBlob, peers[i], 0, blobs[i]});
    std::vector<std::string> theirs;
    std::unique_lock lock(mutex_);
    for (int peer : peers) {
      std::deque<std::string>& here = blobs_[peer];
      changed_.wait(lock, [&] { return !here.empty() || ended_; });
      if (here.empty()) {
        throw trial_error("rank " + std::to_string(rank_) + " met no rank " + std::to_string(peer) +
                          ": the launcher ended the trial")
            .as(FailureKind::kError, rank_);
      }
      theirs.push_back(std::move(here.front()));
      here.pop_front();
    }
    return theirs;
  }

  std::int64_t ready() override {
    board_->slot(rank_).phase = Phase::kReady;
    say({ControlType::kReady, -1, 0, ""});
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return start_ != 0 || ended_; });
    if (start_ == 0) throw trial_error("the launcher ended the trial before its start");
    return start_;
  }

  void finish(const std::string& result) override {
    say({ControlType::kFinish, -1, 0, result});
    board_->slot(rank_).phase = Phase::kDone;
  }

  void fail(const Failure& failure) override {
    const Duration now = std::chrono::steady_clock::now().time_since_epoch();
    say({ControlType::kFail, -1, now.count(), to_bytes(failure)});
  }

  void on_end(std::function<void()> action) override {
    std::unique_lock lock(mutex_);
    end_action_ = std::move(action);
    if (ended_ && end_action_) end_action_();
  }

 private:
  ControlMessage next_message(ControlType expected) {
    while (true) {
      if (auto message = channel_.take()) {
        if (message->type == ControlType::kEnd) _exit(static_cast<int>(ExitCode::kInterrupted));
        HB_ASSERT(message->type == expected);
        return std::move(*message);
      }
      wait_for_bytes();
      if (!channel_.fill()) _exit(static_cast<int>(ExitCode::kInterrupted));
    }
  }

  void wait_for_bytes() {
    pollfd wanted{channel_.fd(), POLLIN, 0};
    poll(&wanted, 1, -1);
  }

  void say(const ControlMessage& message) {
    const std::lock_guard lock(say_mutex_);
    if (!write_control(channel_.fd(), message)) {
      throw environment_error("rank " + std::to_string(rank_) + " lost its launcher")
          .as(FailureKind::kEnvironment, rank_);
    }
  }

  void read_all() {
    bool there = true;
    while (true) {
      while (auto message = channel_.take()) hear(std::move(*message));  // at first messages that came with the job
      if (!there || closing_) break;
      wait_for_bytes();
      there = channel_.fill();
    }
    if (!closing_) end();
  }

  void hear(ControlMessage message) {
    if (message.type == ControlType::kEnd) return end();
    const std::lock_guard lock(mutex_);
    if (message.type == ControlType::kBlob) {
      blobs_[message.peer].push_back(std::move(message.text));
    } else if (message.type == ControlType::kStart) {
      start_ = message.value;
    }
    changed_.notify_all();
  }

  void end() {
    const std::lock_guard lock(mutex_);
    if (std::exchange(ended_, true)) return;
    if (!end_action_) _exit(static_cast<int>(ExitCode::kInterrupted));
    end_action_();
    changed_.notify_all();
  }

  ControlChannel channel_;
  int rank_ = 0, size_ = 0;
  LocalPlace local_;
  bool lent_ = false;
  std::string job_, address_;
  std::unique_ptr<Board> board_;
  std::atomic<bool> closing_{false};

  std::mutex say_mutex_;
  std::mutex mutex_;  // protects the members below
  std::condition_variable changed_;
  std::map<int, std::deque<std::string>> blobs_;
  std::int64_t start_ = 0;
  bool ended_ = false;
  std::function<void()> end_action_;
  std::thread reader_;
};

void tell_and_end() noexcept {
  ChildChannel* const channel = open_channel;
  if (const std::exception_ptr left = std::current_exception(); left && channel != nullptr) {
    try {
      std::rethrow_exception(left);
    } catch (const std::exception& error) {
      channel->fail(failure_of(error));
      _exit(static_cast<int>(ExitCode::kTrialsFailed));
    }
  }
  std::abort();
}

}  // namespace

std::unique_ptr<ChildChannel> ChildChannel::open() {
  if (!is_socket(kControlFd)) {
    throw usage_error("this command is for processes that hopbench starts itself: use `hopbench run`");
  }
  prepare_process();
  return std::make_unique<LaunchedChannel>();
}

}  // namespace hopbench
