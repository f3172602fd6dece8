#include "backends/fleet/fleet.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "backends/base/error.h"
#include "backends/base/text.h"
#include "backends/fleet/remote_crew.h"
#include "backends/fleet/socket.h"

namespace hopbench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kToIntroduce = std::chrono::seconds(5);  // for a process that has connected
constexpr std::uint64_t kIntroductionBytes = 1024 * 1024;
constexpr std::size_t kStrangers = 256;  // number of them that may wait to be let in at once

/// Compares in the same time wherever the texts differ.
bool same_token(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference =
        static_cast<unsigned char>(difference | (static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i])));
  return difference == 0;
}

struct Arrival {
  std::unique_ptr<ControlChannel> channel;
  Introduction about;
};

/// The listening side while the processes of a run come in.
class Door {
 public:
  Door(const FleetOptions& options, MeetingPoint& meeting)
      : options_(options), meeting_(meeting), listener_(listen_on(listening_address(), meeting.port())) {
    invitation_ = {addresses(), port_of(listener_), fresh_secret(), fresh_secret()};
    if (meeting.port() == 0) return;
    invitation_.token = meeting.look()->token;  // a process that knows the address knows that token
    invitation_.answer = "";
  }
  ~Door() {
    close(listener_);  // stops listening
    try {
      meeting_.clear(invitation_);
    } catch (const Error&) {
    }
  }
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  std::map<int, Arrival> let_all_in() {
    meeting_.leave(invitation_);
    const Deadline deadline = Clock::now() + options_.timeout;
    while (static_cast<int>(arrived_.size()) + 1 < options_.size) {
      wait();
      drop_silent();
      std::erase_if(arrived_, [](const auto& arrival) { return !arrival.second.channel->fill(); });  // left again
      if (options_.interrupts != nullptr && options_.interrupts->load() > 0)
        throw Error(ExitCode::kInterrupted, "interrupted");
      if (const std::string trouble = meeting_.trouble(); !trouble.empty()) throw environment_error(trouble);
      if (Clock::now() >= deadline) throw environment_error(missing());
    }
    return std::move(arrived_);
  }

 private:
  struct Stranger {
    std::unique_ptr<ControlChannel> channel;
    Deadline until;
  };

  std::string listening_address() const {
    if (options_.one_machine) return "127.0.0.1";
    if (meeting_.port() != 0) {
      if (std::string host = meeting_.look()->addresses.front(); is_loopback(host)) return host;
    }
    return options_.interface.empty() ? "" : machine_addresses(options_.interface).front();
  }
  std::vector<std::string> addresses() const {
    if (options_.one_machine) return {"127.0.0.1"};
    std::vector<std::string> all = machine_addresses(options_.interface);
    // Another machine that used a loopback address would find another process, on itself.
    if (!is_loopback(all.front())) std::erase_if(all, is_loopback);
    return all;
  }

  void wait() {
    std::vector<pollfd> wanted{{listener_, POLLIN, 0}};
    for (const Stranger& stranger : strangers_) wanted.push_back({stranger.channel->fd(), POLLIN, 0});
    poll(wanted.data(), wanted.size(), 50);
    for (std::size_t i = strangers_.size(); i-- > 0;) {
      if (wanted[i + 1].revents != 0 && !still_strange(strangers_[i]))
        strangers_.erase(strangers_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (wanted.front().revents == 0) return;
    const int fd = accept_by(listener_, Clock::now());
    if (fd < 0) return;
    if (strangers_.size() >= kStrangers) strangers_.erase(strangers_.begin());
    strangers_.push_back({std::make_unique<ControlChannel>(fd, kIntroductionBytes), Clock::now() + kToIntroduce});
  }

  void drop_silent() {
    std::erase_if(strangers_, [](const Stranger& stranger) { return Clock::now() > stranger.until; });
  }

  /// Returns false if it has come in or is to be shut out.
  bool still_strange(Stranger& stranger) {
    const bool there = stranger.channel->fill();
    const std::optional<ControlMessage> hello = stranger.channel->take();
    if (!hello) return there;
    Introduction about;
    if (hello->type != ControlType::kHello || !from_text(hello->text, about)) return false;
    if (!same_token(about.token, invitation_.token)) {  // from another run, or from none
      another_token_ = other_address(stranger.channel->fd());
      return false;
    }
    if (const std::string why = objection(*hello, about); !why.empty()) {
      stranger.channel->put({ControlType::kRefused, -1, 0, why});
      throw environment_error("process " + std::to_string(hello->peer) + " on " + about.machine + ": " + why);
    }
    stranger.channel->put({ControlType::kWelcome, -1, 0, invitation_.answer});
    stranger.channel->set_limit(ControlChannel::kNoLimit);
    arrived_[hello->peer] = {std::move(stranger.channel), about};
    return false;
  }

  std::string objection(const ControlMessage& hello, const Introduction& about) const {
    if (hello.value != options_.size)
      return "it takes the run for one of " + std::to_string(hello.value) + " processes, process 0 for one of " +
             std::to_string(options_.size) + ": start all with the same launcher";
    if (hello.peer < 1 || hello.peer >= options_.size || arrived_.contains(hello.peer))
      return "there are two of this number, or there can be none: does each have a number of its own" +
             std::string(meeting_.is_shared() ? ", and each run that meets there a HOPBENCH_JOB of its own?" : "?");
    if (about.program != options_.about.program)
      return "it runs hopbench " + about.program + ", process 0 runs " + options_.about.program +
             ": install the same on all machines";
    return "";
  }

  std::string missing() const {
    std::vector<std::string> numbers;
    for (int i = 1; i < options_.size; ++i) {
      if (!arrived_.contains(i)) numbers.push_back(meeting_.process(i));
    }
    const bool one = numbers.size() == 1;
    const std::string who = std::string(one ? "process " : "processes ") + join(numbers, ", ") + " of " +
                            std::to_string(options_.size) + " did not come to " + meeting_.name() + " within " +
                            duration_text(Duration(options_.timeout).count());
    if (const std::string why = what_became_of_the_invitation(); !why.empty()) return who + ": " + why;
    if (!another_token_.empty() && meeting_.knows_token_from_environment())
      return who + ": a process on " + another_token_ +
             " sent another token: set HOPBENCH_TOKEN to the same text in all processes";
    return who + ": look at what " + (one ? "it" : "they") + " said, whether the machines reach each other (--iface)" +
           (meeting_.is_shared() ? ", whether another run meets there (HOPBENCH_JOB tells them apart)" : "") +
           ", or raise --rendezvous-timeout";
  }

  /// Returns "" if the invitation is where it was left.
  std::string what_became_of_the_invitation() const {
    if (!meeting_.is_shared()) return "";
    try {
      const std::optional<Invitation> there = meeting_.look();
      if (!there) return "the invitation that was left there is gone: was it removed, or the place emptied?";
      if (there->token == invitation_.token) return "";
    } catch (const Error& error) {
      return error.what();
    }
    return "another process 0 has invited to the same place: does each process have a number of its own, and each run "
           "that meets there a HOPBENCH_JOB of its own?";
  }

  const FleetOptions& options_;
  MeetingPoint& meeting_;
  const int listener_;
  Invitation invitation_;
  std::vector<Stranger> strangers_;
  std::map<int, Arrival> arrived_;  // by process number
  std::string another_token_;       // the address of a process that came with a wrong token; empty: there was none
};

class Gathered : public Fleet {
 public:
  Gathered(const FleetOptions& options, std::map<int, Arrival> arrivals) : slots_(options.slots) {
    members_.push_back({options.about.machine, own_end(options, arrivals), 0, 0, 0, options.about.context});
    std::vector<std::pair<std::string, std::string>> hosts{{options.about.boot, options.about.machine}};
    local_ = std::make_unique<LocalCrew>(members_.front().address);
    for (auto& [number, arrival] : arrivals) {
      const Introduction& about = arrival.about;
      const std::pair key{about.boot, about.machine};
      auto host = std::find(hosts.begin(), hosts.end(), key);
      if (host == hosts.end()) host = hosts.insert(host, key);
      const std::string address = about.address.empty() ? other_address(arrival.channel->fd()) : about.address;
      const bool here = host == hosts.begin();
      auto crew =
          std::make_unique<RemoteCrew>(std::move(arrival.channel), number, about.machine, here, options.interrupted);
      crew->synchronise();
      members_.push_back({about.machine, is_loopback(address) ? "" : address, static_cast<int>(host - hosts.begin()),
                          crew->clock_offset_ns(), crew->clock_error_ns(), about.context});
      remote_.push_back(std::move(crew));
    }
  }
  ~Gathered() override {
    for (const auto& crew : remote_) crew->say_bye(exit_code_);
  }

  const std::vector<FleetMember>& members() const override { return members_; }
  Crew& crew(int number) override {
    if (number == 0) return *local_;
    return remote(number);
  }
  void set_exit_code(int code) override { exit_code_ = code; }

  void begin_errand(int process, std::int64_t number, const Errand& errand) override {
    remote(process).begin_errand(number, errand);
  }
  std::vector<EndedErrand> await_errands(Duration patience) override {
    std::vector<pollfd> wanted;
    for (const auto& crew : remote_) crew->watch(wanted);
    poll(wanted.data(), wanted.size(), static_cast<int>(patience / std::chrono::milliseconds(1)));
    std::vector<EndedErrand> ended;
    for (std::size_t i = 0; i < remote_.size(); ++i) {
      remote_[i]->step(std::span(wanted).subspan(i, 1));
      for (auto& [number, result] : remote_[i]->take_done())
        ended.push_back({static_cast<int>(i) + 1, number, std::move(result)});
    }
    return ended;
  }
  void interrupt_errands() override {
    for (const auto& crew : remote_) {
      if (crew->errands() > 0) crew->interrupt_errands();
    }
  }
  const std::string& why_lost(int process) const override {
    return remote_.at(static_cast<std::size_t>(process) - 1)->why_lost();
  }

  Places places() const override {
    Places places{{}, slots_};
    for (const FleetMember& member : members_) places.host_of.push_back(member.host);
    return places;
  }

 private:
  RemoteCrew& remote(int process) { return *remote_.at(static_cast<std::size_t>(process) - 1); }

  /// Returns the address at which other processes reach this one: its end of a connection from another machine.
  static std::string own_end(const FleetOptions& options, const std::map<int, Arrival>& arrivals) {
    if (!options.about.address.empty()) return options.about.address;
    for (const auto& [number, arrival] : arrivals) {
      std::string address = own_address(arrival.channel->fd());
      if (!is_loopback(address)) return address;
    }
    return "";
  }

  const std::vector<int> slots_;
  std::vector<FleetMember> members_;
  std::unique_ptr<LocalCrew> local_;
  std::vector<std::unique_ptr<RemoteCrew>> remote_;
  int exit_code_ = static_cast<int>(ExitCode::kInterrupted);
};

}  // namespace

std::unique_ptr<Fleet> Fleet::gather(const FleetOptions& options, MeetingPoint& meeting) {
  std::map<int, Arrival> arrivals = Door(options, meeting).let_all_in();
  return std::make_unique<Gathered>(options, std::move(arrivals));
}

int Fleet::hosts() const {
  int last = 0;
  for (const FleetMember& member : members()) last = std::max(last, member.host);
  return last + 1;
}

}  // namespace hopbench
