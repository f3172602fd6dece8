#include "backends/fleet/agent.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "backends/base/error.h"
#include "backends/base/text.h"
#include "backends/fleet/crew_text.h"
#include "backends/fleet/errand.h"
#include "backends/fleet/socket.h"
#include "backends/runtime/process/crew.h"

namespace hopbench {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kTick(50), kCreditsTick(5), kReapTick(2), kTellEvery(100), kLookAgain(50), kAliveEvery(1000);
constexpr auto kOneAttempt = std::chrono::seconds(2);  // to connect to an address
constexpr auto kVerdict = std::chrono::seconds(5);     // to be let in by a listener
constexpr std::uint64_t kVerdictBytes = 64 * 1024;

class Agent : private CrewEvents {
 public:
  Agent(std::unique_ptr<ControlChannel> launcher, const AgentOptions& options)
      : launcher_(std::move(launcher)),
        options_(options),
        crew_(address(), true),
        errands_(options.command, options.prepare) {}

  int serve() {
    hear_all();  // messages that came with the welcome
    while (!exit_code_) {
      poll_all();
      pass_on_interrupt();
      report_errands();
      if (board_ == nullptr) continue;
      if (const auto now = Clock::now(); now - told_ >= kTellEvery) tell_slots(now);
      ask_for_credits();
    }
    return *exit_code_;
  }

 private:
  /// Returns the address at which this machine was reached, or wants to be reached.
  std::string address() const {
    const std::string& wanted = options_.about.address;
    const std::string address = wanted.empty() ? own_address(launcher_->fd()) : wanted;
    return is_loopback(address) ? "" : address;
  }

  void poll_all() {
    const short events = launcher_->pending() ? POLLIN | POLLOUT : POLLIN;
    std::vector<pollfd> wanted{{launcher_->fd(), events, 0}};
    wanted.push_back({errands_.fd(), POLLIN, 0});
    crew_.watch(wanted);
    const bool credits = board_ != nullptr && board_->credits().more_may_come();
    const milliseconds tick = crew_.burial_ahead() ? kReapTick : credits ? kCreditsTick : kTick;
    poll(wanted.data(), wanted.size(), static_cast<int>(tick.count()));
    crew_.step(std::span(wanted).subspan(2));
    if (wanted.front().revents == 0) return;
    launcher_->flush();
    const bool there = launcher_->fill();
    hear_all();
    if (!there && !exit_code_)
      throw environment_error(
          "process 0 is gone: its connection has ended. Its last messages say why, unless it was killed");
  }

  void hear_all() {
    while (!exit_code_) {
      const auto message = launcher_->take();
      if (!message) return;
      hear(*message);
    }
  }

  void hear(const ControlMessage& message) {
    switch (message.type) {
      case ControlType::kPing:
        return launcher_->put({ControlType::kPing, -1, Duration(Clock::now().time_since_epoch()).count(), ""});
      case ControlType::kLaunch:
        return begin(message.text);
      case ControlType::kToRank:
        if (ControlMessage inner; from_bytes(message.text, inner)) crew_.put(message.peer, inner);
        return;
      case ControlType::kCredits:
        if (board_ == nullptr) return;
        asked_ = false;
        if (message.value == 0) return board_->credits().no_more();
        return add_credits(message);
      case ControlType::kKill:
        return crew_.kill_all();
      case ControlType::kDismiss:
        crew_.dismiss();
        board_.reset();
        return launcher_->put({ControlType::kDismiss, -1, 0, ""});
      case ControlType::kErrand:
        return begin_errand(message);
      case ControlType::kErrandEnd:
        return errands_.interrupt();
      case ControlType::kOver:
        exit_code_ = static_cast<int>(message.value);
        return;
      default:
        return;
    }
  }

  void begin(const std::string& text) {
    RemoteJob remote;
    if (!from_text(text, remote) || board_ != nullptr)
      return launcher_->put({ControlType::kTrouble, -1, 0, "it did not understand the trial that it was sent"});
    remote.job.command = options_.command;
    members_ = remote.job.members;
    asked_ = false;
    try {
      board_ = Board::create_elsewhere(remote.job.ranks, remote.credits);
      crew_.start(remote.job, *board_, *this);
    } catch (const Error& error) {
      crew_.dismiss();
      launcher_->put({ControlType::kTrouble, -1, 0, error.what()});
    }
  }

  void begin_errand(const ControlMessage& message) {
    Errand errand;
    if (from_text(message.text, errand)) return errands_.begin(message.value, errand);
    LaunchResult result;
    result.failure = {FailureKind::kError, -1, "the agent did not understand the trial that it was sent"};
    launcher_->put({ControlType::kErrandDone, -1, message.value, result_to_text(result)});
  }

  void report_errands() {
    for (Errands::Done& done : errands_.take_done()) {
      alive_ = Clock::now();
      launcher_->put({ControlType::kErrandDone, -1, done.number, std::move(done.result)});
    }
    if (!errands_.any() || Clock::now() - alive_ < kAliveEvery) return;
    alive_ = Clock::now();
    launcher_->put({ControlType::kAlive, -1, 0, ""});
  }

  void heard(int rank, ControlMessage message) override {
    launcher_->put({ControlType::kFromRank, rank, 0, to_bytes(message)});
  }
  void ended(int rank, int status) override {
    tell_slots(Clock::now());  // its last state
    launcher_->put({ControlType::kEnded, rank, status, ""});
  }
  void lost(const std::vector<int>&, const std::string&) override {}  // does not happen to own processes

  void tell_slots(Clock::time_point now) {
    told_ = now;
    launcher_->put({ControlType::kSlots, -1, 0, slots_text(*board_, members_)});
  }

  /// Asks for some credits ahead, so that no rank has to wait for them.
  void ask_for_credits() {
    const auto ranks = static_cast<std::int64_t>(members_.size());
    Credits& credits = board_->credits();
    if (asked_ || !credits.more_may_come() || credits.left() >= 2 * ranks) return;
    asked_ = true;
    launcher_->put({ControlType::kCredits, -1, 4 * ranks, ""});
  }

  void add_credits(const ControlMessage& message) {
    std::int64_t left = 0;
    std::from_chars(message.text.data(), message.text.data() + message.text.size(), left);
    board_->credits().add(message.value, left);
  }

  void pass_on_interrupt() {
    if (options_.interrupts == nullptr || options_.interrupts->load() == 0) return;
    if (options_.interrupts->load() > 1) throw Error(ExitCode::kInterrupted, "interrupted");
    if (!std::exchange(interrupted_, true)) launcher_->put({ControlType::kInterrupt, -1, 0, ""});
  }

  const std::unique_ptr<ControlChannel> launcher_;
  const AgentOptions& options_;
  LocalCrew crew_;
  std::unique_ptr<Board> board_;  // of the running trial
  std::vector<CrewMember> members_;
  Errands errands_;
  Clock::time_point told_{}, alive_{};
  bool asked_ = false, interrupted_ = false;
  std::optional<int> exit_code_;
};

/// The result of an attempt to be let in.
struct Attempt {
  std::unique_ptr<ControlChannel> channel;  // nullptr: not let in
  std::string why;                          // why it was not let in
  bool refused = false;                     // by process 0 of this run: trying again is useless
  bool hung_up = false;                     // the listener ended the connection, as process 0 does over a token
};

Attempt introduce(int fd, const AgentOptions& options, const Invitation& invitation) {
  Attempt attempt;
  auto channel = std::make_unique<ControlChannel>(fd, kVerdictBytes);
  Introduction about = options.about;
  about.token = invitation.token;
  channel->put({ControlType::kHello, options.number, options.size, to_text(about)});
  const auto until = Clock::now() + kVerdict;
  bool there = true;
  while (there && Clock::now() < until) {
    pollfd wanted{channel->fd(), static_cast<short>(channel->pending() ? POLLIN | POLLOUT : POLLIN), 0};
    poll(&wanted, 1, 100);
    channel->flush();
    there = channel->fill();
    const auto verdict = channel->take();
    if (!verdict) continue;
    if (verdict->type == ControlType::kRefused) return {nullptr, verdict->text, true};
    if (verdict->type != ControlType::kWelcome || verdict->text != invitation.answer) break;
    channel->set_limit(ControlChannel::kNoLimit);
    attempt.channel = std::move(channel);
    return attempt;
  }
  attempt.why = "what listens there is not process 0 of this run";
  attempt.hung_up = !there;
  return attempt;
}

Attempt try_all(const AgentOptions& options, const Invitation& invitation, Deadline deadline) {
  Attempt attempt;
  for (const std::string& address : invitation.addresses) {
    std::string why;
    const int fd = connect_by(address, invitation.port, std::min<Deadline>(deadline, Clock::now() + kOneAttempt), why);
    if (fd >= 0) attempt = introduce(fd, options, invitation);
    if (attempt.channel != nullptr || attempt.refused || attempt.hung_up) return attempt;
    if (fd < 0) attempt.why = "no connection to " + address + ", port " + std::to_string(invitation.port) + ": " + why;
  }
  return attempt;
}

}  // namespace

std::string to_text(const Introduction& about) {
  return nlohmann::json{{"token", about.token},     {"machine", about.machine}, {"boot", about.boot},
                        {"address", about.address}, {"program", about.program}, {"context", about.context}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool from_text(const std::string& text, Introduction& about) {
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    about = {json.at("token").get<std::string>(),   json.at("machine").get<std::string>(),
             json.at("boot").get<std::string>(),    json.at("address").get<std::string>(),
             json.at("program").get<std::string>(), json.at("context").get<std::string>()};
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

int run_agent(const AgentOptions& options, MeetingPoint& meeting) {
  const Deadline deadline = Clock::now() + options.timeout;
  std::string why = "there is no invitation";
  bool hung_up = false;
  do {
    Attempt attempt;
    try {
      if (const std::optional<Invitation> invitation = meeting.look()) {
        attempt = try_all(options, *invitation, deadline);
        if (!hung_up) why = attempt.why;  // later it may be gone, and that reason says less
        hung_up = hung_up || attempt.hung_up;
        if (attempt.refused) throw usage_error("process 0 of this run refuses " + options.about.machine + ": " + why);
      }
    } catch (const Error& error) {
      if (error.code() == ExitCode::kUsage) throw;
      why = error.what();  // the meeting point may come back
    }
    if (attempt.channel != nullptr) return Agent(std::move(attempt.channel), options).serve();
    if (options.interrupts != nullptr && options.interrupts->load() > 0)
      throw Error(ExitCode::kInterrupted, "interrupted");
    std::this_thread::sleep_for(kLookAgain);
  } while (Clock::now() < deadline);
  throw environment_error("process " + std::to_string(options.number) + " of " + std::to_string(options.size) +
                          " found no process 0 at " + meeting.name() + " within " +
                          duration_text(Duration(options.timeout).count()) + " (" + why + "): " +
                          (hung_up && meeting.knows_token_from_environment()
                               ? "is HOPBENCH_TOKEN the same text in all processes?"
                               : "is it running? --rendezvous-timeout says how long to wait"));
}

}  // namespace hopbench
