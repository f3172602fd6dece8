// The processes of a run: how they find each other, and trials whose ranks are started by agents in processes of their
// own, which end in every way that an agent, a launcher or a rank can end.
#include "backends/fleet/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <csignal>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <thread>

#include "backends/base/error.h"
#include "backends/fleet/agent.h"
#include "backends/fleet/socket.h"
#include "backends/runtime/crew.h"
#include "backends/runtime/launch.h"
#include "tests/folder.h"
#include "tests/launch_plays.h"
#include "tests/launched.h"

namespace hopbench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::MatchesRegex;

AgentOptions agent_options(int number, int size, const std::string& mark) {
  AgentOptions options{.number = number, .size = size, .about = {}, .command = {"", "--rank", mark}};
  options.about.machine = "machine" + std::to_string(number);
  options.about.boot = "boot";
  options.about.program = "hopbench";
  options.about.context = "{}";
  options.timeout = seconds(5);
  return options;
}

/// A process that is an agent: this binary with --agent.
class AgentProcess {
 public:
  AgentProcess(const std::string& folder, int number, int size) {
    const std::string words[] = {"--agent", folder, std::to_string(number), std::to_string(size), test_mark()};
    pid_ = fork();
    if (pid_ != 0) return;
    execl("/proc/self/exe", "fleet_test", words[0].c_str(), words[1].c_str(), words[2].c_str(), words[3].c_str(),
          words[4].c_str(), nullptr);
    _exit(127);
  }
  ~AgentProcess() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  AgentProcess(const AgentProcess&) = delete;
  AgentProcess& operator=(const AgentProcess&) = delete;

  pid_t pid() const { return pid_; }
  int wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_ = -1;
};

class FleetTest : public testing::Test {
 protected:
  FleetOptions options(int size) const {
    FleetOptions options{.size = size};
    options.about = agent_options(0, size, "").about;
    options.one_machine = true;
    options.timeout = seconds(10);
    options.interrupted = [] {};
    return options;
  }

  /// Process 0 is this one; `size` - 1 agents.
  Fleet& gather(int size) {
    for (int i = 1; i < size; ++i) agents_.push_back(std::make_unique<AgentProcess>(folder_.path(), i, size));
    meeting_ = open_meeting_point(folder_.path(), "test");
    fleet_ = Fleet::gather(options(size), *meeting_);
    return *fleet_;
  }

  /// A trial of as many ranks as processes, one each.
  LaunchOptions trial(const std::string& play, int ranks = 0) const {
    LaunchOptions trial = launch_of(ranks == 0 ? fleet_->size() : ranks, play);
    for (int p = 0; p < fleet_->size(); ++p) trial.placement.crews.push_back(&fleet_->crew(p));
    for (int r = 0; r < trial.ranks; ++r) trial.placement.crew_of.push_back(r % fleet_->size());
    trial.placement.local_rank = local_ranks(fleet_->places(), trial.placement.crew_of);
    return trial;
  }

  LaunchResult run(const LaunchOptions& options) const {
    LaunchResult result = launch(options);
    EXPECT_TRUE(eventually([] { return ranks_alive() == 0; })) << "ranks are left";
    return result;
  }
  static std::size_t ranks_alive() {
    std::size_t n = 0;
    for (const pid_t pid : processes_with(test_mark())) {
      std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline");
      const std::string line{std::istreambuf_iterator<char>(file), {}};
      n += line.find("--rank") != std::string::npos ? 1 : 0;
    }
    return n;
  }

  Folder folder_;
  std::vector<std::unique_ptr<AgentProcess>> agents_;
  std::unique_ptr<MeetingPoint> meeting_;
  std::unique_ptr<Fleet> fleet_;
};

TEST_F(FleetTest, RunsTrialsOneAfterTheOther) {
  gather(3);
  for (int i = 0; i < 3; ++i) {
    const LaunchResult result = run(trial("start"));
    ASSERT_TRUE(result.ok) << result.reason;
    const std::int64_t first = std::stoll(result.ranks[0].result);
    for (const RankOutcome& rank : result.ranks)  // each on its own machine's clock, which here is the same
      EXPECT_NEAR(static_cast<double>(std::stoll(rank.result) - first), 0, 1e6 * 20) << "one start for all";
  }
  for (const FleetMember& member : fleet_->members()) EXPECT_LT(member.clock_error_ns, 20'000'000);
}

TEST_F(FleetTest, TellsWhereEachProcessIs) {
  gather(3);
  EXPECT_EQ(fleet_->members()[2].machine, "machine2");
  EXPECT_EQ(fleet_->hosts(), 3);
  EXPECT_EQ(fleet_->places().host_of, (std::vector{0, 1, 2}));
  EXPECT_TRUE(fleet_->crew(0).here());
  EXPECT_FALSE(fleet_->crew(1).here());
}

TEST_F(FleetTest, AnAgentStartsSeveralRanks) {
  gather(2);
  const LaunchResult result = run(trial("start", 7));
  EXPECT_TRUE(result.ok) << result.reason;
}

TEST_F(FleetTest, CreditsAreGivenOutOnceEach) {
  gather(3);
  for (const std::int64_t credits : {0, 1, 2, 1000}) {
    LaunchOptions options = trial("credits", 5);
    options.credits = credits;
    const LaunchResult result = run(options);
    ASSERT_TRUE(result.ok) << result.reason;
    std::int64_t taken = 0;
    for (const RankOutcome& rank : result.ranks) taken += std::stoll(rank.result);
    EXPECT_EQ(taken, credits);
  }
}

TEST_F(FleetTest, BigResultsComeWhole) {
  gather(2);
  const LaunchResult result = run(trial("big"));
  ASSERT_TRUE(result.ok) << result.reason;
  EXPECT_EQ(result.ranks[1].result, std::string(5'000'000, 'b'));
}

TEST_F(FleetTest, NamesTheRankAndItsMachine) {
  gather(3);
  EXPECT_EQ(run(trial("kill 1")).reason,
            "rank 1 (machine1) was killed by signal 9 (SIGKILL) while waiting in iteration 5: a token");
  EXPECT_EQ(run(trial("exit 2")).reason, "rank 2 (machine2) exited with code 3 while computing iteration 7");
  EXPECT_EQ(run(trial("fail 1")).reason, "rank 1 (machine1) failed: the data set is missing");
  EXPECT_TRUE(run(trial("start")).ok) << "the fleet is as good as before";
}

TEST_F(FleetTest, NamesTheRankThatIsStopped) {
  gather(2);
  LaunchOptions options = trial("stop 1");
  options.stall_timeout = milliseconds(700);
  EXPECT_THAT(run(options).reason,
              HasSubstr("rank 1 (machine1) has been stopped for 700ms while computing iteration 3\n"
                        "  rank 0: ready"));
}

TEST_F(FleetTest, KillsRanksThatDoNotEnd) {
  gather(2);
  LaunchOptions options = trial("deaf");
  options.trial_timeout = milliseconds(300);
  options.grace = milliseconds(100);
  EXPECT_THAT(run(options).reason, HasSubstr("took longer than its limit of 300ms"));
}

TEST_F(FleetTest, SurvivorsGoOnWhereTheyMay) {
  gather(3);
  LaunchOptions options = trial("survive 1");
  options.survivors_go_on = true;
  const LaunchResult result = run(options);
  EXPECT_TRUE(result.ok) << result.reason;
  EXPECT_EQ(result.ranks[2].result, "went on");
  EXPECT_THAT(result.ranks[1].error, HasSubstr("was killed by signal 9"));
}

TEST_F(FleetTest, AMachineThatIsLostIsNamedAndItsRanksWithIt) {
  gather(3);
  LaunchOptions options = trial("beat");
  options.progress = [&](const Board& board) {
    if (board.slot(2).beats > 10) kill(agents_[1]->pid(), SIGKILL);
  };
  EXPECT_THAT(run(options).reason, HasSubstr("rank 2 (machine2) was lost: its connection has ended"));
  EXPECT_THROW(run(trial("start")), Error) << "and it stays lost";
  EXPECT_TRUE(run(trial("start", 2)).ok) << "who does not need it goes on";
}

TEST_F(FleetTest, AMachineThatFallsSilentIsLost) {
  gather(2);
  LaunchOptions options = trial("beat");
  options.progress = [&](const Board& board) {
    if (board.slot(1).beats > 10) kill(agents_[0]->pid(), SIGSTOP);
  };
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_THAT(launch(options).reason, HasSubstr("rank 1 (machine1) was lost: nothing was heard of it for 10 s"));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, seconds(20));
  agents_.clear();
  EXPECT_TRUE(eventually([] { return ranks_alive() == 0; })) << "its ranks die with it";
}

TEST_F(FleetTest, AgentsEndAsTheLauncherSays) {
  gather(3);
  EXPECT_TRUE(run(trial("start")).ok);
  fleet_->set_exit_code(3);
  fleet_.reset();
  for (const auto& agent : agents_) EXPECT_EQ(agent->wait(), 3);
}

TEST_F(FleetTest, AgentsAndTheirRanksEndWithTheLauncher) {
  const pid_t launcher = fork();
  if (launcher == 0) {
    gather(2);
    LaunchOptions options = trial("beat");
    options.progress = [&](const Board& board) {
      if (board.slot(1).beats > 10) raise(SIGKILL);
    };
    launch(options);
    _exit(0);
  }
  int status = 0;
  waitpid(launcher, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(eventually([&] { return ranks_alive() == 0; }));
}

TEST_F(FleetTest, AnInterruptedAgentInterruptsTheRun) {
  std::atomic<int> interrupts{0};
  agents_.push_back(std::make_unique<AgentProcess>(folder_.path(), 1, 2));
  meeting_ = open_meeting_point(folder_.path(), "test");
  FleetOptions with = options(2);
  with.interrupted = [&] { interrupts = 1; };
  fleet_ = Fleet::gather(with, *meeting_);
  LaunchOptions options = trial("polite");
  options.interrupts = &interrupts;
  options.progress = [&](const Board& board) {
    if (board.slot(1).beats > 10) kill(agents_[0]->pid(), SIGTERM);
  };
  const LaunchResult result = run(options);
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.ranks[1].result, "half of it");
}

// --- Meeting

TEST_F(FleetTest, NamesThoseWhoDoNotCome) {
  agents_.push_back(std::make_unique<AgentProcess>(folder_.path(), 2, 4));
  const auto meeting = open_meeting_point(folder_.path(), "test");
  FleetOptions with = options(4);
  with.timeout = milliseconds(600);
  try {
    Fleet::gather(with, *meeting);
    FAIL() << "two are missing";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kEnvironment);
    EXPECT_THAT(error.what(), HasSubstr("processes 1, 3 of 4 did not come to " + folder_.path() + " within 600ms"));
  }
  EXPECT_EQ(agents_[0]->wait(), static_cast<int>(ExitCode::kEnvironment)) << "who came is not left waiting";
}

TEST_F(FleetTest, AnInvitationOfAnEarlierRunDoesNoHarm) {
  const int listener = listen_on("127.0.0.1", 0);  // somebody else, who has its port now
  const auto meeting = open_meeting_point(folder_.path(), "test");
  meeting->leave({{"127.0.0.1"}, port_of(listener), "0123"});
  agents_.push_back(std::make_unique<AgentProcess>(folder_.path(), 1, 2));
  const int stranger = accept_by(listener, std::chrono::steady_clock::now() + seconds(5));
  ASSERT_GE(stranger, 0);
  close(stranger);
  close(listener);  // and from now on there is nobody
  fleet_ = Fleet::gather(options(2), *meeting);
  EXPECT_TRUE(run(trial("start")).ok);
}

/// Says `bytes` to the door of a run that waits, as somebody who found its port; false if it is not let in.
void knock(const std::string& folder, const std::string& bytes, std::vector<int>& open) {
  const auto meeting = open_meeting_point(folder, "test");
  std::optional<Invitation> invitation;
  ASSERT_TRUE(eventually([&] { return (invitation = meeting->look()).has_value(); }));
  std::string why;
  const int fd = connect_by("127.0.0.1", invitation->port, std::chrono::steady_clock::now() + seconds(2), why);
  ASSERT_GE(fd, 0) << why;
  send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  open.push_back(fd);
}

TEST_F(FleetTest, StrangersCostNothing) {
  Introduction old = agent_options(1, 2, "").about;
  old.token = "0123456789abcdef0123456789abcdef";
  const std::vector<std::string> said{
      "",                                                                // silence
      "GET / HTTP/1.1\r\n\r\n" + std::string(200, 'x'),                  // garbage
      std::string(8, '\x01') + std::string(16, '\x7f'),                  // a huge length
      std::string(23, '\0'),                                             // half a head
      to_bytes({ControlType::kHello, 1, 2, "{}"}),                       // not an introduction
      to_bytes({ControlType::kHello, 1, 2, to_text(old)}),               // an old token
      to_bytes({ControlType::kLaunch, 1, 2, to_text(old)}),              // no greeting
      to_bytes({ControlType::kHello, 1, 2, std::string(900'000, '[')}),  // deeply nested
  };
  std::thread strangers([&] {
    std::vector<int> open;
    for (const std::string& bytes : said) knock(folder_.path(), bytes, open);
    agents_.push_back(std::make_unique<AgentProcess>(folder_.path(), 1, 2));
    std::this_thread::sleep_for(milliseconds(300));
    for (const int fd : open) close(fd);
  });
  meeting_ = open_meeting_point(folder_.path(), "test");
  fleet_ = Fleet::gather(options(2), *meeting_);
  strangers.join();
  EXPECT_EQ(fleet_->members()[1].machine, "machine1");
  EXPECT_TRUE(run(trial("start")).ok);
}

TEST_F(FleetTest, NobodyListensOnceAllAreThere) {
  const auto listening = [] {
    std::set<std::string> found;
    for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
      std::ifstream file(table);
      for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string slot, local, remote, state;
        words >> slot >> local >> remote >> state;
        if (state == "0A") found.insert(local);
      }
    }
    return found;
  };
  const auto before = listening();
  gather(3);
  std::vector<std::string> fresh;
  for (const std::string& socket : listening()) {
    if (!before.contains(socket)) fresh.push_back(socket);
  }
  EXPECT_THAT(fresh, testing::IsEmpty());
  EXPECT_FALSE(meeting_->look().has_value()) << "nothing is left at the meeting point";
}

TEST_F(FleetTest, RefusesAnotherProgramAndSaysSoOnBothSides) {
  agents_.push_back(std::make_unique<AgentProcess>(folder_.path(), 1, 2));
  meeting_ = open_meeting_point(folder_.path(), "test");
  FleetOptions with = options(2);
  with.about.program = "hopbench of yesterday";
  try {
    Fleet::gather(with, *meeting_);
    FAIL() << "they are different";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("process 1 on machine1: it runs hopbench hopbench, process 0 runs"));
  }
  EXPECT_EQ(agents_[0]->wait(), static_cast<int>(ExitCode::kUsage));
}

TEST_F(FleetTest, RefusesASizeOfAnotherRunAndANumberTwice) {
  agents_.push_back(std::make_unique<AgentProcess>(folder_.path(), 1, 3));
  meeting_ = open_meeting_point(folder_.path(), "test");
  EXPECT_THROW(Fleet::gather(options(2), *meeting_), Error);
  agents_.clear();
  for (int i = 0; i < 2; ++i) agents_.push_back(std::make_unique<AgentProcess>(folder_.path(), 1, 3));
  EXPECT_THROW(Fleet::gather(options(3), *meeting_), Error);
}

int play_agent(char** words) {
  const int number = std::stoi(words[3]), size = std::stoi(words[4]);
  static std::atomic<int> interrupts{0};
  std::signal(SIGTERM, [](int) { ++interrupts; });
  AgentOptions options = agent_options(number, size, words[5]);
  options.interrupts = &interrupts;
  try {
    return run_agent(options, *open_meeting_point(words[2], "test"));
  } catch (const Error& error) {
    return static_cast<int>(error.code());
  }
}

}  // namespace
}  // namespace hopbench

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "--rank") return hopbench::play_rank(argc > 3);
  if (argc > 5 && std::string(argv[1]) == "--agent") return hopbench::play_agent(argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
