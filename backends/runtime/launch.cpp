#include "backends/runtime/launch.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include "backends/base/error.h"
#include "backends/base/text.h"
#include "backends/runtime/control.h"
#include "backends/runtime/spawn.h"

namespace hopbench {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kTick(50);        // how late an interrupt or a stall may be noticed; messages and deaths wake it
constexpr milliseconds kReapTick(2);     // between a rank's hanging up and its end
constexpr milliseconds kLookEvery(100);  // progress and stalls
constexpr milliseconds kCheckStoppedEvery(500);
constexpr milliseconds kAfterKill = std::chrono::seconds(10);  // for the kernel to bury the dead

std::string name_of(int rank) { return "rank " + std::to_string(rank); }

/// An error that begins with its rank says all.
std::string failure_of(int rank, const std::string& error) {
  return error.starts_with(name_of(rank) + " ") ? error : name_of(rank) + " failed: " + error;
}

std::string seconds_text(Duration d) { return duration_text(d.count()); }

std::string how_it_ended(int status) {
  if (!WIFSIGNALED(status)) {
    const int code = WEXITSTATUS(status);
    return code == kCannotExecute ? "could not be started (see ulimit -n and ulimit -u: open files and processes)"
                                  : "exited with code " + std::to_string(code);
  }
  const int signal = WTERMSIG(status);
  const char* name = sigabbrev_np(signal);
  return "was killed by signal " + std::to_string(signal) + (name != nullptr ? std::string(" (SIG") + name + ")" : "");
}

/// "while computing iteration 12", "while waiting in iteration 17: a token from a slower neighbour".
std::string what_it_did(const RankSlot& slot) {
  const Phase phase = slot.phase;
  const std::int64_t iteration = slot.iteration;
  std::string text = std::string("while ") + to_string(phase);
  if (iteration >= 0)
    text += (phase == Phase::kComputing ? " iteration " : " in iteration ") + std::to_string(iteration);
  if (phase == Phase::kWaiting) {
    const std::size_t n = strnlen(slot.waiting_for, sizeof slot.waiting_for);
    if (n > 0) text += ": " + std::string(slot.waiting_for, n);
  }
  return text;
}

struct Child {
  pid_t pid = -1;
  std::unique_ptr<ControlChannel> channel;
  bool reaped = false, hung_up = false;
  bool arrived = false, is_ready = false;  // at the meeting, at the start
  int blobs_awaited = 0;
  bool finished = false, failed = false;  // it said so
  std::optional<Clock::time_point> stopped_since;
  RankOutcome outcome;
};

class Supervisor {
 public:
  explicit Supervisor(const LaunchOptions& options)
      : options_(options), board_(Board::create(options.ranks, options.credits)), children_(options.ranks) {}

  ~Supervisor() {  // an exception on the way: leave nobody behind
    kill_all();
    for (Child& child : children_) {
      if (child.pid > 0 && !child.reaped) waitpid(child.pid, nullptr, 0);
    }
  }

  LaunchResult run() {
    for (int r = 0; r < options_.ranks; ++r) start(r);
    last_progress_ = Clock::now();
    while (!all_reaped()) {
      step();
      const auto now = Clock::now();
      check_interrupts();
      if (now - last_look_ >= kLookEvery) look(now);
      if (ending_ && !killed_ && now >= kill_at_) kill_all();
      if (killed_ && now >= kill_at_ + kAfterKill) break;
    }
    return result();
  }

 private:
  void start(int r) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
      throw environment_error(std::string("cannot open a channel to a rank: ") + std::strerror(errno) +
                              ": raise the limit on open files (ulimit -n)");
    }
    Child& child = children_[r];
    child.channel = std::make_unique<ControlChannel>(ends[0]);
    const ControlChannel theirs(ends[1]);
    const ControlChannel links(options_.links != nullptr ? options_.links->take_end(r) : -1);
    child.pid = spawn_rank(options_.command, {theirs.fd(), board_->fd(), links.fd()});
    child.channel->put({ControlType::kJob, r, options_.ranks, options_.job});
  }

  bool all_reaped() const {
    return std::all_of(children_.begin(), children_.end(), [](const Child& c) { return c.reaped; });
  }

  /// Waits for messages, room to write, or the next tick; deals with what came and buries the dead.
  void step() {
    std::vector<pollfd> wanted;
    bool burial_ahead = killed_;
    for (const Child& child : children_) {
      const short events = child.channel->pending() ? POLLIN | POLLOUT : POLLIN;
      wanted.push_back({child.hung_up ? -1 : child.channel->fd(), events, 0});
      burial_ahead = burial_ahead || (child.hung_up && !child.reaped && !child.stopped_since);
    }
    poll(wanted.data(), wanted.size(), static_cast<int>((burial_ahead ? kReapTick : kTick).count()));
    for (int r = 0; r < options_.ranks; ++r) {
      if (wanted[r].revents != 0) read(r);
      reap(r);
    }
  }

  void read(int r) {
    Child& child = children_[r];
    child.channel->flush();
    if (!child.channel->fill()) child.hung_up = true;
    while (auto message = child.channel->take()) {
      ++heard_;
      hear(r, std::move(*message));
    }
  }

  void hear(int r, ControlMessage message) {
    Child& child = children_[r];
    switch (message.type) {
      case ControlType::kBlob:
        child.arrived = true;
        ++child.blobs_awaited;
        if (message.peer >= 0 && message.peer < options_.ranks) blobs_.push_back({r, std::move(message)});
        return hand_out_blobs();
      case ControlType::kReady:
        child.arrived = child.is_ready = true;
        hand_out_blobs();
        return start_if_ready();
      case ControlType::kFinish:
        child.finished = true;
        child.outcome.result = std::move(message.text);
        return;
      case ControlType::kFail:
        if (std::exchange(child.failed, true)) return;
        child.outcome.error = std::move(message.text);
        return complain(failure_of(r, child.outcome.error), message.value);
      default:
        return;
    }
  }

  /// Nobody connects before all are there: so a late rank costs the others no time-out.
  void hand_out_blobs() {
    if (!std::all_of(children_.begin(), children_.end(), [](const Child& c) { return c.arrived; })) return;
    for (auto& [from, blob] : blobs_) {
      Child& to = children_[blob.peer];
      --to.blobs_awaited;
      to.channel->put({ControlType::kBlob, from, 0, std::move(blob.text)});
    }
    blobs_.clear();
  }

  void start_if_ready() {
    if (!std::all_of(children_.begin(), children_.end(), [](const Child& c) { return c.is_ready; })) return;
    started_ = true;
    last_progress_ = Clock::now();
    // Late enough for all to hear of it.
    const auto when = Clock::now() + milliseconds(20) + milliseconds(2) * options_.ranks;
    const std::int64_t start = Duration(when.time_since_epoch()).count();
    if (options_.links != nullptr) options_.links->start(start);
    for (Child& child : children_) child.channel->put({ControlType::kStart, -1, start, ""});
  }

  void reap(int r) {
    Child& child = children_[r];
    if (child.reaped) return;
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(child.pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
      return;
    read(r);                    // its last words
    kill(-child.pid, SIGKILL);  // its group, as long as its number cannot be anybody else's
    int status = 0;
    waitpid(child.pid, &status, 0);
    child.reaped = child.hung_up = true;
    child.channel->close();
    bury(r, status);
  }

  void bury(int r, int status) {
    Child& child = children_[r];
    const bool clean = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    // Told to end, a rank exits so; what else it does is its own.
    const bool obeyed = WIFEXITED(status) && WEXITSTATUS(status) == static_cast<int>(ExitCode::kInterrupted);
    const bool by_us = killed_ || (ending_ && (obeyed || clean));
    child.outcome.ok = clean && child.finished && !child.failed;
    if (child.outcome.ok || child.failed) return;
    const std::string doing = what_it_did(board_->slot(r));
    child.outcome.error = by_us ? "ended by the launcher " + doing : how_it_ended(status) + " " + doing;
    if (by_us) return;
    const std::string death = name_of(r) + " " + child.outcome.error;
    if (death_.empty()) death_ = death;
    if (!may_die(r)) end(death);
  }

  bool may_die(int r) const {
    if (!options_.survivors_go_on || !started_) return false;
    const std::vector<int>& crash = options_.may_crash;
    const bool named = std::find(crash.begin(), crash.end(), r) != crash.end();
    return crash.empty() || (named && board_->slot(r).crashed_ns >= 0);
  }

  /// Several ranks may fail over one cause; who said so first is nearest to it.
  void complain(const std::string& reason, std::int64_t when) {
    const bool first = !ending_;
    end(reason);
    if (!first && !(complaint_ && when < complained_)) return;
    complaint_ = true;
    complained_ = when;
    reason_ = reason;
  }

  /// The trial is over before its time: the first cause counts, those who still run are asked to end.
  void end(const std::string& reason) {
    if (std::exchange(ending_, true)) return;
    reason_ = reason;
    kill_at_ = Clock::now() + options_.grace;
    for (Child& child : children_) {
      if (!child.reaped) child.channel->put({ControlType::kEnd, -1, 0, ""});
    }
  }

  void kill_all() {
    if (!std::exchange(killed_, true)) kill_at_ = Clock::now();
    for (const Child& child : children_) {
      if (child.pid <= 0 || child.reaped) continue;
      kill(-child.pid, SIGKILL);
      kill(child.pid, SIGKILL);
    }
  }

  void check_interrupts() {
    const int interrupts = options_.interrupts == nullptr ? 0 : options_.interrupts->load();
    if (interrupts >= 1 && !ending_) {
      interrupted_ = true;
      end("interrupted");
    }
    if (interrupts >= 2 && !killed_) kill_all();
  }

  void look(Clock::time_point now) {
    last_look_ = now;
    if (options_.progress) options_.progress(*board_);
    if (ending_) return;
    const Duration check_every = std::min<Duration>(kCheckStoppedEvery, options_.stall_timeout / 4);
    if (now - last_check_ >= check_every) check_stopped(now);
    if (ending_) return;
    if (!started_ && now - begun_ >= options_.rendezvous_timeout) return end(missing_ranks());
    if (now - begun_ >= options_.trial_timeout) {
      return end("the trial took longer than its limit of " + seconds_text(options_.trial_timeout) +
                 ": raise --trial-timeout if it needs more (" + laggard() + ")");
    }
    std::int64_t progress = heard_;
    for (int r = 0; r < options_.ranks; ++r) progress += board_->slot(r).beats + (children_[r].reaped ? 1 : 0);
    if (std::exchange(progress_, progress) != progress) last_progress_ = now;
    if (started_ && now - last_progress_ >= options_.stall_timeout) {
      end("stalled: nothing happened for " + seconds_text(options_.stall_timeout) + ": " + laggard() +
          ": raise --stall-timeout if a step may take longer");
    }
  }

  void check_stopped(Clock::time_point now) {
    last_check_ = now;
    for (int r = 0; r < options_.ranks; ++r) {
      Child& child = children_[r];
      if (child.reaped) continue;
      const char state = process_state(child.pid);
      if (state != 'T' && state != 't') {
        child.stopped_since.reset();
        continue;
      }
      if (!child.stopped_since) child.stopped_since = now;
      if (now - *child.stopped_since >= options_.stall_timeout) {
        return end(name_of(r) + " has been stopped for " + seconds_text(options_.stall_timeout) + " " +
                   what_it_did(board_->slot(r)));
      }
    }
  }

  /// Those who keep the others waiting before the start: neither ready nor waiting for somebody's address themselves.
  std::string missing_ranks() const {
    std::vector<std::string> missing;
    for (int r = 0; r < options_.ranks; ++r) {
      const Child& child = children_[r];
      const bool waits = child.arrived && child.blobs_awaited > 0;
      if (!child.is_ready && !waits) missing.push_back(name_of(r) + " (" + to_string(board_->slot(r).phase) + ")");
    }
    return join(missing, ", ") + " not ready within " + seconds_text(options_.rendezvous_timeout) +
           ": raise --rendezvous-timeout if this machine is slow";
  }

  /// Whom to blame for a stall: who is stopped, else who is busy without getting anything done, else who is behind.
  std::string laggard() const {
    int worst = -1;
    std::tuple<int, std::int64_t> worst_key;
    for (int r = 0; r < options_.ranks; ++r) {
      if (children_[r].reaped) continue;
      const RankSlot& slot = board_->slot(r);
      const int order = children_[r].stopped_since ? 0 : slot.phase != Phase::kWaiting ? 1 : 2;
      const std::tuple key(order, slot.iteration.load());
      if (worst < 0 || key < worst_key) {
        worst = r;
        worst_key = key;
      }
    }
    if (worst < 0) return "all ranks have ended";
    return name_of(worst) + (children_[worst].stopped_since ? " is stopped " : " hangs ") +
           what_it_did(board_->slot(worst));
  }

  LaunchResult result() {
    LaunchResult result;
    bool lost = false, delivered = false;
    for (int r = 0; r < options_.ranks; ++r) {
      RankOutcome& outcome = children_[r].outcome;
      lost = lost || !outcome.ok;
      delivered = delivered || outcome.ok;
      outcome.crashed_ns = board_->slot(r).crashed_ns;
      outcome.iteration = board_->slot(r).iteration;
      result.ranks.push_back(std::move(outcome));
    }
    result.interrupted = interrupted_;
    result.ok = !ending_ && delivered && (!lost || options_.survivors_go_on);
    // Survivors may complain of a death before it is known here: then the death is the cause.
    result.reason = !death_.empty() && (complaint_ || !ending_) ? death_ : reason_;
    result.wall_s = std::chrono::duration<double>(Clock::now() - begun_).count();
    return result;
  }

  const LaunchOptions& options_;
  const Clock::time_point begun_ = Clock::now();
  std::unique_ptr<Board> board_;
  std::vector<Child> children_;
  std::vector<std::pair<int, ControlMessage>> blobs_;  // from whom; held until everybody is at the meeting

  bool started_ = false, ending_ = false, killed_ = false, interrupted_ = false;
  std::string reason_;      // why it is ending
  bool complaint_ = false;  // it is what a rank said of itself
  std::int64_t complained_ = 0;
  std::string death_;  // of the first rank that ended without a word
  Clock::time_point kill_at_{}, last_look_{}, last_check_{}, last_progress_{};
  std::int64_t heard_ = 0, progress_ = 0;
};

}  // namespace

LaunchResult launch(const LaunchOptions& options) { return Supervisor(options).run(); }

}  // namespace hopbench
