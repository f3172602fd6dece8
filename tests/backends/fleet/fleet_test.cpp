// Trials whose ranks are started by agents in processes of their own, which end in every way that an agent, a launcher
// or a rank can end.
#include "tests/backends/fleet/fleet_fixture.h"

namespace hopbench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

TEST_F(FleetTest, RunsTrialsOneAfterTheOther) {
  gather(3);
  for (int i = 0; i < 3; ++i) {
    const LaunchResult result = run(trial("start"));
    ASSERT_TRUE(result.ok) << result.failure.text;
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
  EXPECT_TRUE(result.ok) << result.failure.text;
}

TEST_F(FleetTest, CreditsAreGivenOutOnceEach) {
  gather(3);
  for (const std::int64_t credits : {0, 1, 2, 1000}) {
    LaunchOptions options = trial("credits", 5);
    options.credits = credits;
    const LaunchResult result = run(options);
    ASSERT_TRUE(result.ok) << result.failure.text;
    std::int64_t taken = 0;
    for (const RankOutcome& rank : result.ranks) taken += std::stoll(rank.result);
    EXPECT_EQ(taken, credits);
  }
}

TEST_F(FleetTest, BigResultsComeWhole) {
  gather(2);
  const LaunchResult result = run(trial("big"));
  ASSERT_TRUE(result.ok) << result.failure.text;
  EXPECT_EQ(result.ranks[1].result, std::string(5'000'000, 'b'));
}

TEST_F(FleetTest, NamesTheRankAndItsMachine) {
  gather(3);
  const LaunchResult killed = run(trial("kill 1"));
  EXPECT_EQ(killed.failure.text,
            "rank 1 (machine1) was killed by signal 9 (SIGKILL) while waiting in iteration 5: a token");
  EXPECT_EQ(killed.died, 1);
  EXPECT_EQ(run(trial("exit 2")).failure.text, "rank 2 (machine2) exited with code 3 while computing iteration 7");
  const LaunchResult failed = run(trial("fail 1"));
  EXPECT_EQ(failed.failure.text, "rank 1 (machine1) failed: the data set is missing");
  EXPECT_EQ(failed.died, -1);
  EXPECT_TRUE(run(trial("start")).ok) << "the fleet is as good as before";
}

TEST_F(FleetTest, NamesTheRankThatIsStopped) {
  gather(2);
  LaunchOptions options = trial("stop 1");
  options.stall_timeout = milliseconds(700);
  EXPECT_THAT(run(options).failure.text,
              HasSubstr("rank 1 (machine1) has been stopped for 700ms while computing iteration 3\n"
                        "  rank 0: ready"));
}

TEST_F(FleetTest, KillsRanksThatDoNotEnd) {
  gather(2);
  LaunchOptions options = trial("deaf");
  options.trial_timeout = milliseconds(300);
  options.grace = milliseconds(100);
  EXPECT_THAT(run(options).failure.text, HasSubstr("took longer than its limit of 300ms"));
}

TEST_F(FleetTest, SurvivorsGoOnWhereTheyMay) {
  gather(3);
  LaunchOptions options = trial("survive 1");
  options.survivors_go_on = true;
  const LaunchResult result = run(options);
  EXPECT_TRUE(result.ok) << result.failure.text;
  EXPECT_EQ(result.ranks[2].result, "went on");
  EXPECT_THAT(result.ranks[1].error, HasSubstr("was killed by signal 9"));
}

TEST_F(FleetTest, AMachineThatIsLostIsNamedAndItsRanksWithIt) {
  gather(3);
  LaunchOptions options = trial("beat");
  options.progress = [&](const Board& board) {
    if (board.slot(2).beats > 10) kill(agents_[1]->pid(), SIGKILL);
  };
  EXPECT_THAT(run(options).failure.text, HasSubstr("rank 2 (machine2) was lost: its connection has ended"));
  try {
    run(trial("start"));
    ADD_FAILURE() << "it stays lost";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("process 2 (machine2) was lost before this trial: its connection has ended"));
  }
  EXPECT_TRUE(run(trial("start", 2)).ok) << "who does not need it goes on";
}

TEST_F(FleetTest, AMachineThatFallsSilentIsLost) {
  gather(2);
  LaunchOptions options = trial("beat");
  options.progress = [&](const Board& board) {
    if (board.slot(1).beats > 10) kill(agents_[0]->pid(), SIGSTOP);
  };
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_THAT(launch(options).failure.text, HasSubstr("rank 1 (machine1) was lost: nothing was heard of it for 10 s"));
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

}  // namespace
}  // namespace hopbench

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "--rank") return hopbench::play_rank(argc > 3);
  if (argc > 5 && std::string(argv[1]) == "--agent") return hopbench::play_agent(argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
