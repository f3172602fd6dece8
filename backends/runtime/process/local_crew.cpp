#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "backends/base/error.h"
#include "backends/runtime/process/crew.h"
#include "backends/runtime/process/spawn.h"

namespace hopbench {

LocalCrew::LocalCrew(std::string address, bool lent) : address_(std::move(address)), lent_(lent) {}

LocalCrew::~LocalCrew() { dismiss(); }

void LocalCrew::start(const CrewJob& job, Board& board, CrewEvents& events) {
  HB_ASSERT(members_.empty());
  board_ = &board;
  events_ = &events;
  killed_ = false;
  check_every_ = job.check_every;
  for (const CrewMember& member : job.members) members_.push_back(start_one(member, job));
}

LocalCrew::Member LocalCrew::start_one(const CrewMember& member, const CrewJob& job) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw environment_error(std::string("cannot open a channel to a rank: ") + std::strerror(errno) +
                            ": raise the limit on open files (ulimit -n)");
  }
  Member made;
  made.rank = member.rank;
  made.channel = std::make_unique<ControlChannel>(ends[0]);
  const ControlChannel theirs(ends[1]);
  const ControlChannel links(job.links != nullptr ? job.links->take_end(member.rank) : -1);
  made.pid = spawn_rank(job.command, {theirs.fd(), board_->fd(), links.fd()});
  made.channel->put(
      {ControlType::kPlace, member.local.number, member.local.ranks, lent_ ? std::string(kLent) + address_ : address_});
  made.channel->put({ControlType::kJob, member.rank, job.ranks, job.job});
  return made;
}

void LocalCrew::put(int rank, const ControlMessage& message) {
  for (Member& member : members_) {
    if (member.rank == rank && !member.reaped) member.channel->put(message);
  }
}

void LocalCrew::kill_all() {
  killed_ = true;
  for (const Member& member : members_) {
    if (member.reaped) continue;
    kill(-member.pid, SIGKILL);
    kill(member.pid, SIGKILL);
  }
}

void LocalCrew::watch(std::vector<pollfd>& wanted) const {
  for (const Member& member : members_) {
    const short events = member.channel->pending() ? POLLIN | POLLOUT : POLLIN;
    wanted.push_back({member.hung_up ? -1 : member.channel->fd(), events, 0});
  }
}

bool LocalCrew::burial_ahead() const {
  return std::any_of(members_.begin(), members_.end(), [&](const Member& member) {
    return !member.reaped && (killed_ || (member.hung_up && !board_->slot(member.rank).stopped));
  });
}

void LocalCrew::step(std::span<const pollfd> polled) {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (polled[i].revents != 0) read(members_[i]);
    reap(members_[i]);
  }
  const auto now = std::chrono::steady_clock::now();
  if (now - checked_ < check_every_) return;
  checked_ = now;
  check_stopped();
}

bool LocalCrew::all_ended() const {
  return std::all_of(members_.begin(), members_.end(), [](const Member& member) { return member.reaped; });
}

void LocalCrew::dismiss() {
  kill_all();
  for (const Member& member : members_) {
    if (!member.reaped) waitpid(member.pid, nullptr, 0);
  }
  members_.clear();
}

void LocalCrew::read(Member& member) {
  member.channel->flush();
  if (!member.channel->fill()) member.hung_up = true;
  while (auto message = member.channel->take()) events_->heard(member.rank, std::move(*message));
}

void LocalCrew::reap(Member& member) {
  if (member.reaped) return;
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(member.pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
  read(member);                // its last words
  kill(-member.pid, SIGKILL);  // its group, while no other process can have its number
  int status = 0;
  waitpid(member.pid, &status, 0);
  member.reaped = member.hung_up = true;
  member.channel->close();
  events_->ended(member.rank, status);
}

void LocalCrew::check_stopped() {
  for (const Member& member : members_) {
    if (member.reaped) continue;
    const char state = process_state(member.pid);
    board_->slot(member.rank).stopped = state == 'T' || state == 't';
  }
}

}  // namespace hopbench
