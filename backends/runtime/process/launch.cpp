#include "backends/runtime/process/launch.h"

#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "backends/base/error.h"
#include "backends/base/text.h"
#include "backends/runtime/process/crew.h"
#include "backends/runtime/process/launch_text.h"
#include "backends/runtime/process/spawn.h"

namespace hopbench {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kTick(50);        // latest notice of an interrupt or a stall; messages and deaths wake it
constexpr milliseconds kReapTick(2);     // between a rank's hanging up and its end
constexpr milliseconds kLookEvery(100);  // progress and stalls
constexpr milliseconds kCheckStoppedEvery(500);
constexpr milliseconds kAfterKill = std::chrono::seconds(10);  // for the kernel to end the killed processes

struct Child {
  Crew* crew = nullptr;
  bool ended = false;
  bool arrived = false, is_ready = false;  // at the meeting, at the start
  int blobs_awaited = 0;
  bool finished = false, failed = false;  // as it reported
  std::optional<Clock::time_point> stopped_since;
  RankOutcome outcome;
};

class Supervisor : private CrewEvents {
 public:
  explicit Supervisor(const LaunchOptions& options)
      : options_(options), board_(Board::create(options.ranks, options.credits)), children_(options.ranks) {
    if (options.placement.crews.empty()) own_ = std::make_unique<LocalCrew>();
    crews_ = own_ != nullptr ? std::vector<Crew*>{own_.get()} : options.placement.crews;
  }

  ~Supervisor() override {  // no process is left behind, whatever the way out
    for (Crew* crew : crews_) crew->dismiss();
  }

  LaunchResult run() {
    start();
    last_progress_ = Clock::now();
    while (!all_ended()) {
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
  void start() {
    const Placement& placement = options_.placement;
    std::vector<CrewJob> jobs(crews_.size());
    for (CrewJob& job : jobs) {
      job.command = options_.command;
      job.job = options_.job;
      job.ranks = options_.ranks;
      job.check_every = std::min<Duration>(kCheckStoppedEvery, options_.stall_timeout / 4);
      job.links = options_.links;
    }
    for (int r = 0; r < options_.ranks; ++r) {
      const auto at = static_cast<std::size_t>(r);
      const auto crew = static_cast<std::size_t>(own_ != nullptr ? 0 : placement.crew_of.at(at));
      children_[at].crew = crews_.at(crew);
      const LocalPlace here = options_.ranks == 1 ? options_.alone : LocalPlace{r, options_.ranks};
      jobs[crew].members.push_back({r, own_ != nullptr ? here : placement.local.at(at)});
    }
    for (std::size_t i = 0; i < crews_.size(); ++i) {
      if (!jobs[i].members.empty()) crews_[i]->start(jobs[i], *board_, *this);
    }
  }

  /// Returns "rank 3", and its machine if that is another one.
  std::string name_of(int r) const {
    const Crew* crew = children_[r].crew;
    return rank_name(r) + (crew == nullptr || crew->host().empty() ? "" : " (" + crew->host() + ")");
  }

  bool all_ended() const {
    return std::all_of(children_.begin(), children_.end(), [](const Child& c) { return c.ended; });
  }

  /// Waits for messages, room to write, or the next tick. Crews handle what came.
  void step() {
    std::vector<pollfd> wanted;
    std::vector<std::size_t> begins;
    bool burial_ahead = killed_;
    for (const Crew* crew : crews_) {
      begins.push_back(wanted.size());
      crew->watch(wanted);
      burial_ahead = burial_ahead || crew->burial_ahead();
    }
    begins.push_back(wanted.size());
    poll(wanted.data(), wanted.size(), static_cast<int>((burial_ahead ? kReapTick : kTick).count()));
    for (std::size_t i = 0; i < crews_.size(); ++i)
      crews_[i]->step(std::span(wanted).subspan(begins[i], begins[i + 1] - begins[i]));
  }

  void heard(int r, ControlMessage message) override {
    ++heard_;
    hear(r, std::move(message));
  }

  void lost(const std::vector<int>& ranks, const std::string& why) override {
    for (const int r : ranks) {
      Child& child = children_[r];
      child.ended = true;
      if (child.failed) continue;
      child.outcome.error = "was lost: " + why + ", " + what_it_did(board_->slot(r));
      note_death({FailureKind::kLost, r, name_of(r) + " " + child.outcome.error});
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
        if (!std::exchange(child.failed, true)) complain(r, failure_from_bytes(message.text), message.value);
        return;
      default:
        return;
    }
  }

  /// No rank connects before all are there, so that a late rank costs the others no time-out.
  void hand_out_blobs() {
    if (!std::all_of(children_.begin(), children_.end(), [](const Child& c) { return c.arrived; })) return;
    for (auto& [from, blob] : blobs_) {
      Child& to = children_[blob.peer];
      --to.blobs_awaited;
      to.crew->put(blob.peer, {ControlType::kBlob, from, 0, std::move(blob.text)});
    }
    blobs_.clear();
  }

  void start_if_ready() {
    if (!std::all_of(children_.begin(), children_.end(), [](const Child& c) { return c.is_ready; })) return;
    started_ = true;
    last_progress_ = Clock::now();
    // Late enough for all ranks to hear of it.
    const auto when = Clock::now() + milliseconds(20) + milliseconds(2) * options_.ranks;
    const std::int64_t start = Duration(when.time_since_epoch()).count();
    if (options_.links != nullptr) options_.links->start(start);
    for (int r = 0; r < options_.ranks; ++r) children_[r].crew->put(r, {ControlType::kStart, -1, start, ""});
  }

  void ended(int r, int status) override {
    Child& child = children_[r];
    child.ended = true;
    const bool clean = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    // A rank that was asked to end exits in this way. Any other end is its own.
    const bool obeyed = WIFEXITED(status) && WEXITSTATUS(status) == static_cast<int>(ExitCode::kInterrupted);
    const bool by_us = killed_ || (ending_ && (obeyed || clean));
    child.outcome.ok = clean && child.finished && !child.failed;
    if (child.outcome.ok || child.failed) return;
    const std::string doing = what_it_did(board_->slot(r));
    child.outcome.error = by_us ? "ended by the launcher " + doing : how_it_ended(status) + " " + doing;
    if (!by_us) note_death({kind_of_end(status), r, name_of(r) + " " + child.outcome.error});
  }

  void note_death(const Failure& death) {
    const bool others_go_on = may_die(death.rank);
    Failure& first = others_go_on ? survived_ : death_;
    if (first.rank < 0) first = death;
    if (!others_go_on && end(death)) ended_by_death_ = true;
  }

  bool may_die(int r) const {
    if (!options_.survivors_go_on || !started_) return false;
    const std::vector<int>& crash = options_.may_crash;
    const bool named = std::find(crash.begin(), crash.end(), r) != crash.end();
    return crash.empty() || (named && board_->slot(r).crashed_ns >= 0);
  }

  /// Several ranks may fail from one cause. The rank that reported first is nearest to it.
  void complain(int r, const Failure& said, std::int64_t when) {
    children_[r].outcome.error = said.text;
    const Failure failure{said.kind, r, said.rank == r ? said.text : name_of(r) + " failed: " + said.text};
    const bool first = end(failure);
    if (!first && !(complaint_ && when < complained_)) return;
    complaint_ = said;
    complained_ = when;
    failure_ = failure;
  }

  /// Ends the trial before its time: the first cause counts, and ranks that still run are asked to end. Returns false
  /// if it is over already.
  bool end(const Failure& failure) {
    if (std::exchange(ending_, true)) return false;
    failure_ = failure;
    kill_at_ = Clock::now() + options_.grace;
    for (int r = 0; r < options_.ranks; ++r) {
      if (!children_[r].ended) children_[r].crew->put(r, {ControlType::kEnd, -1, 0, ""});
    }
    return true;
  }

  void kill_all() {
    if (!std::exchange(killed_, true)) kill_at_ = Clock::now();
    for (Crew* crew : crews_) crew->kill_all();
  }

  void check_interrupts() {
    const int interrupts = options_.interrupts == nullptr ? 0 : options_.interrupts->load();
    if (interrupts >= 1 && !ending_) {
      interrupted_ = true;
      end({FailureKind::kInterrupted, -1, "interrupted"});
    }
    if (interrupts >= 2 && !killed_) kill_all();
  }

  void look(Clock::time_point now) {
    last_look_ = now;
    if (options_.progress) options_.progress(*board_);
    if (ending_) return;
    if (check_stopped(now); ending_) return;
    if (check_limits(now); ending_) return;
    std::int64_t progress = heard_;
    for (int r = 0; r < options_.ranks; ++r) progress += board_->slot(r).beats + (children_[r].ended ? 1 : 0);
    if (std::exchange(progress_, progress) != progress) last_progress_ = now;
    if (started_ && now - last_progress_ >= options_.stall_timeout) {
      const bool stopped = std::any_of(children_.begin(), children_.end(),
                                       [](const Child& child) { return !child.ended && child.stopped_since; });
      end({FailureKind::kStalled, -1,
           "stalled: nothing happened for " + seconds_text(options_.stall_timeout) + ": " + laggard() +
               (stopped ? "" : ": raise --stall-timeout if a step may take longer") + everybody()});
    }
  }

  void check_limits(Clock::time_point now) {
    if (!started_ && now - begun_ >= options_.rendezvous_timeout) {
      end({FailureKind::kNotReady, -1, missing_ranks()});
    } else if (now - begun_ >= options_.trial_timeout) {
      end({FailureKind::kTimeLimit, -1,
           "the trial took longer than its limit of " + seconds_text(options_.trial_timeout) +
               ": raise --trial-timeout if it needs more (" + laggard(" is still ") + ")"});
    }
  }

  void check_stopped(Clock::time_point now) {
    for (int r = 0; r < options_.ranks; ++r) {
      Child& child = children_[r];
      if (child.ended) continue;
      if (!board_->slot(r).stopped) {
        child.stopped_since.reset();
        continue;
      }
      if (!child.stopped_since) child.stopped_since = now;
      if (now - *child.stopped_since >= options_.stall_timeout) {
        end({FailureKind::kStopped, r,
             name_of(r) + " has been stopped for " + seconds_text(options_.stall_timeout) + " " +
                 what_it_did(board_->slot(r)) + everybody()});
        return;
      }
    }
  }

  /// Returns a line for each rank, with its activity and since when, like virtual time's reports of deadlocks.
  std::string everybody() const {
    std::string text;
    const std::int64_t now = link_clock_ns();
    for (int r = 0; r < options_.ranks; ++r) {
      const RankSlot& slot = board_->slot(r);
      const char* const how = !children_[r].ended   ? (children_[r].stopped_since ? "stopped, " : "")
                              : slot.crashed_ns < 0 ? "has ended, "
                                                    : "was killed by the scenario, ";
      text += "\n  " + name_of(r) + ": " + how + doing(slot) + since(slot, now);
    }
    return text;
  }

  /// Returns the ranks that delay the start: neither ready nor waiting for another rank's address themselves.
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

  /// Names the rank to blame for a stall: a stopped one, else a busy one that makes no progress, else the last one.
  std::string laggard(const char* does = " hangs while ") const {
    int worst = -1;
    std::tuple<int, std::int64_t> worst_key;
    for (int r = 0; r < options_.ranks; ++r) {
      if (children_[r].ended) continue;
      const RankSlot& slot = board_->slot(r);
      const int order = children_[r].stopped_since ? 0 : slot.phase != Phase::kWaiting ? 1 : 2;
      const std::tuple key(order, slot.iteration.load());
      if (worst < 0 || key < worst_key) {
        worst = r;
        worst_key = key;
      }
    }
    if (worst < 0) return "all ranks have ended";
    const RankSlot& slot = board_->slot(worst);
    const bool warming_up = slot.iteration >= 0 && slot.iteration < options_.warm_up;
    return name_of(worst) + (children_[worst].stopped_since ? " is stopped while " : does) + doing(slot) +
           (warming_up ? ", in its warm-up of " + std::to_string(options_.warm_up) + " iterations" : "");
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
      outcome.samples = board_->slot(r).samples;
      result.ranks.push_back(std::move(outcome));
    }
    result.interrupted = interrupted_;
    result.ok = !ending_ && delivered && (!lost || options_.survivors_go_on);
    // Survivors may report a death before it is known here. Then the death is the cause.
    const bool died = death_.rank >= 0 && (complaint_ || ended_by_death_);
    result.failure = result.ok ? survived_ : died ? death_ : failure_;
    result.died = !result.ok && died ? death_.rank : -1;
    if (!result.ok && !died) result.complaint = complaint_;
    result.wall_s = std::chrono::duration<double>(Clock::now() - begun_).count();
    return result;
  }

  const LaunchOptions& options_;
  const Clock::time_point begun_ = Clock::now();
  std::unique_ptr<Board> board_;
  std::vector<Child> children_;
  std::unique_ptr<LocalCrew> own_;
  std::vector<Crew*> crews_;
  std::vector<std::pair<int, ControlMessage>> blobs_;  // with the sender; held until all ranks are at the meeting

  bool started_ = false, ending_ = false, killed_ = false, interrupted_ = false;
  Failure failure_;                   // why it is ending
  std::optional<Failure> complaint_;  // set if that is a rank's own report, in its words
  std::int64_t complained_ = 0;
  Failure death_, survived_;  // of the first rank that ended without a report; of the one that the others survived
  bool ended_by_death_ = false;
  Clock::time_point kill_at_{}, last_look_{}, last_progress_{};
  std::int64_t heard_ = 0, progress_ = 0;
};

}  // namespace

LaunchResult launch(const LaunchOptions& options) { return Supervisor(options).run(); }

}  // namespace hopbench
