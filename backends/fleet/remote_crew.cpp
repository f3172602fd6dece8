#include "backends/fleet/remote_crew.h"

#include <algorithm>
#include <csignal>
#include <limits>
#include <utility>

#include "backends/base/error.h"
#include "backends/fleet/crew_text.h"

namespace hopbench {
namespace {

using Clock = std::chrono::steady_clock;

// An agent with a trial reports the state of its ranks ten times a second, one with errands that it is there.
constexpr auto kSilence = std::chrono::seconds(10);
constexpr int kPings = 16;

std::int64_t clock_ns() { return Duration(Clock::now().time_since_epoch()).count(); }

}  // namespace

RemoteCrew::RemoteCrew(std::unique_ptr<ControlChannel> channel, int number, std::string host, bool here,
                       std::function<void()> interrupted)
    : channel_(std::move(channel)),
      number_(number),
      host_(std::move(host)),
      here_(here),
      interrupted_(std::move(interrupted)) {}

std::string RemoteCrew::who() const { return "process " + std::to_string(number_) + " (" + host_ + ")"; }

/// Uses the quickest answer, the most precise one: the agent read its clock somewhere between question and answer.
void RemoteCrew::synchronise() {
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < kPings; ++i) {
    const std::int64_t asked = clock_ns();
    channel_->put({ControlType::kPing, -1, 0, ""});
    ControlMessage answer;
    if (!await(ControlType::kPing, answer)) throw environment_error(who() + " was lost: " + lost_);
    const std::int64_t took = clock_ns() - asked;
    if (took >= best) continue;
    best = took;
    offset_ns_ = answer.value - (asked + took / 2);
    error_ns_ = (took + 1) / 2;
  }
}

void RemoteCrew::say_bye(int exit_code) {
  if (!lost_.empty()) return;
  channel_->put({ControlType::kOver, -1, exit_code, ""});
  for (int i = 0; i < 100 && !channel_->flush(); ++i) {
    pollfd wanted{channel_->fd(), POLLOUT, 0};
    poll(&wanted, 1, 10);
  }
}

void RemoteCrew::begin_errand(std::int64_t number, const Errand& errand) {
  if (!lost_.empty()) return;  // why_lost() says so
  if (errands_++ == 0) heard_ = Clock::now();
  channel_->put({ControlType::kErrand, -1, number, to_text(errand)});
}

void RemoteCrew::interrupt_errands() {
  if (lost_.empty()) channel_->put({ControlType::kErrandEnd, -1, 0, ""});
}

void RemoteCrew::finish_errand(const ControlMessage& message) {
  if (errands_ == 0) return;
  LaunchResult result;
  if (!result_from_text(message.text, result))
    result.failure = {FailureKind::kError, -1, "the result that came from " + who() + " cannot be read"};
  --errands_;
  done_.emplace_back(message.value, std::move(result));
}

void RemoteCrew::start(const CrewJob& job, Board& board, CrewEvents& events) {
  HB_ASSERT(job.links == nullptr && !busy_);
  if (lost_.empty()) synchronise();
  if (!lost_.empty()) throw environment_error(who() + " was lost before this trial: " + lost_);
  board_ = &board;
  events_ = &events;
  busy_ = true;
  heard_ = Clock::now();
  for (const CrewMember& member : job.members) alive_.push_back(member.rank);
  channel_->put({ControlType::kLaunch, -1, 0, to_text(RemoteJob{job, board.credits().total()})});
}

void RemoteCrew::put(int rank, const ControlMessage& message) {
  ControlMessage there = message;
  if (there.type == ControlType::kStart) there.value += offset_ns_;
  channel_->put({ControlType::kToRank, rank, 0, to_bytes(there)});
}

void RemoteCrew::kill_all() {
  if (busy_ && lost_.empty()) channel_->put({ControlType::kKill, -1, 0, ""});
}

void RemoteCrew::watch(std::vector<pollfd>& wanted) const {
  const short events = channel_->pending() ? POLLIN | POLLOUT : POLLIN;
  wanted.push_back({lost_.empty() ? channel_->fd() : -1, events, 0});
}

void RemoteCrew::step(std::span<const pollfd> polled) {
  if (!lost_.empty()) return;
  bool there = true;
  if (polled.front().revents != 0) {
    channel_->flush();
    there = channel_->fill();
    if ((polled.front().revents & POLLIN) != 0) heard_ = Clock::now();  // also a part of a long message
  }
  while (const auto message = channel_->take()) hear(*message);
  if (!there) return lose("its connection has ended: its hopbench or its machine is gone");
  if ((busy_ || errands_ > 0) && Clock::now() - heard_ > kSilence) lose("nothing was heard of it for 10 s");
}

void RemoteCrew::hear(const ControlMessage& message) {
  heard_ = Clock::now();
  switch (message.type) {
    case ControlType::kInterrupt:
      return interrupted_();
    case ControlType::kCredits:
      return give_credits(message.value);
    case ControlType::kFromRank:
      return pass_on(message);
    case ControlType::kSlots:
      if (busy_) show_slots(message.text, -offset_ns_, alive_, *board_);
      return;
    case ControlType::kEnded:
      if (std::erase(alive_, message.peer) > 0) events_->ended(message.peer, static_cast<int>(message.value));
      return;
    case ControlType::kErrandDone:
      return finish_errand(message);
    case ControlType::kTrouble:
      if (busy_) events_->lost(std::exchange(alive_, {}), message.text);
      return;
    default:
      return;
  }
}

void RemoteCrew::give_credits(std::int64_t wanted) {
  if (!busy_) return;
  const std::int64_t given = board_->credits().take_up_to(wanted);
  channel_->put({ControlType::kCredits, -1, given, std::to_string(board_->credits().left())});
}

void RemoteCrew::pass_on(const ControlMessage& message) {
  ControlMessage said;
  if (!busy_ || std::find(alive_.begin(), alive_.end(), message.peer) == alive_.end()) return;
  if (!from_bytes(message.text, said)) return;
  if (said.type == ControlType::kFail) said.value -= offset_ns_;
  events_->heard(message.peer, std::move(said));
}

void RemoteCrew::lose(const std::string& why) {
  lost_ = why;
  errands_ = 0;
  channel_->close();
  if (busy_ && !alive_.empty()) events_->lost(std::exchange(alive_, {}), why);
}

/// Waits for such a message. If none comes for a while, the agent is lost, and this returns false.
bool RemoteCrew::await(ControlType type, ControlMessage& message) {
  const auto until = Clock::now() + kSilence;
  while (lost_.empty()) {
    while (auto said = channel_->take()) {
      if (said->type == type) return message = std::move(*said), true;
      if (said->type == ControlType::kInterrupt) interrupted_();
    }
    pollfd wanted{channel_->fd(), static_cast<short>(channel_->pending() ? POLLIN | POLLOUT : POLLIN), 0};
    poll(&wanted, 1, 100);
    channel_->flush();
    if (!channel_->fill()) {
      lose("its connection has ended: its hopbench or its machine is gone");
    } else if (Clock::now() > until) {
      lose("it did not answer for 10 s");
    }
  }
  return false;
}

void RemoteCrew::dismiss() {
  if (!std::exchange(busy_, false)) return;
  alive_.clear();
  board_ = nullptr;
  events_ = nullptr;
  if (!lost_.empty()) return;
  channel_->put({ControlType::kDismiss, -1, 0, ""});
  ControlMessage answer;
  await(ControlType::kDismiss, answer);
}

}  // namespace hopbench
