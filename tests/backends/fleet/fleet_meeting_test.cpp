// Tests how the processes of a run find each other, and which processes they keep out.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>

#include "tests/backends/fleet/fleet_fixture.h"

namespace hopbench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

TEST_F(FleetTest, NamesThoseWhoDoNotCome) {
  agents_.push_back(std::make_unique<AgentProcess>(folder_.path(), 2, 4));
  const auto meeting = open_meeting_point(folder_.path(), "test");
  FleetOptions with = options(4);
  with.timeout = seconds(2);
  try {
    Fleet::gather(with, *meeting);
    FAIL() << "two are missing";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kEnvironment);
    EXPECT_THAT(error.what(), HasSubstr("processes 1, 3 of 4 did not come to " + folder_.path() + " within 2s"));
  }
  EXPECT_EQ(agents_[0]->wait(), static_cast<int>(ExitCode::kEnvironment)) << "who came is not left waiting";
}

TEST_F(FleetTest, SaysWhatBecameOfItsInvitation) {
  const auto reason = [&](const std::string& where, const std::function<void(MeetingPoint&)>& meddle) -> std::string {
    const auto meeting = open_meeting_point(where, "test"), other = open_meeting_point(where, "test");
    if (const auto earlier = other->look()) other->clear(*earlier);
    const std::jthread second([&] {
      if (eventually([&] { return other->look().has_value(); })) meddle(*other);
    });
    FleetOptions with = options(2);
    with.timeout = seconds(1);
    try {
      Fleet::gather(with, *meeting);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const int listener = listen_on("127.0.0.1", 0);
  const std::string free_port = std::to_string(port_of(listener));
  close(listener);
  const auto replace = [](MeetingPoint& there) { there.leave({{"127.0.0.1"}, 1, "t", "u"}); };
  const auto remove = [](MeetingPoint& there) { there.clear(*there.look()); };
  const auto remove_all = [&](MeetingPoint&) { std::filesystem::remove_all(folder_ / "sub"); };
  const auto nothing = [](MeetingPoint&) {};
  EXPECT_THAT(reason(folder_.path(), replace), HasSubstr("another process 0 has invited to the same place"));
  EXPECT_THAT(reason(folder_.path(), remove), HasSubstr("process 1 of 2 did not come to " + folder_.path() +
                                                        " within 1s: the invitation that was left there is gone"));
  std::filesystem::create_directory(folder_ / "sub");
  EXPECT_THAT(reason(folder_ / "sub", remove_all),
              testing::AllOf(HasSubstr("process 1 of 2 did not come to "), HasSubstr("there is no such folder")));
  EXPECT_THAT(reason(folder_.path(), nothing), HasSubstr("whether another run meets there (HOPBENCH_JOB"));
  const std::string alone = reason("tcp://127.0.0.1:" + free_port, nothing);
  EXPECT_THAT(alone, HasSubstr("process 1 of 2 did not come to tcp://"));
  EXPECT_THAT(alone, testing::Not(HasSubstr("HOPBENCH_JOB")));
}

TEST_F(FleetTest, AWrongTokenIsNamedOnBothSides) {
  const int listener = listen_on("127.0.0.1", 0);
  const std::string where = "tcp://127.0.0.1:" + std::to_string(port_of(listener));
  close(listener);
  const auto point = [&](const std::string& token) {
    const Variable variable("HOPBENCH_TOKEN", token);
    return open_meeting_point(where, "test");
  };
  const auto first = point("secret one"), second = point("secret two");
  std::string agent_said, launcher_said;
  std::jthread agent([&] {
    AgentOptions with = agent_options(1, 2, "");
    with.timeout = seconds(2);
    try {
      run_agent(with, *second);
    } catch (const Error& error) {
      agent_said = error.what();
    }
  });
  FleetOptions with = options(2);
  with.timeout = seconds(1);
  try {
    Fleet::gather(with, *first);
  } catch (const Error& error) {
    launcher_said = error.what();
  }
  agent.join();
  EXPECT_THAT(launcher_said, HasSubstr("a process on 127.0.0.1 sent another token: set HOPBENCH_TOKEN to the same"));
  EXPECT_THAT(agent_said, HasSubstr("what listens there is not process 0 of this run): is HOPBENCH_TOKEN the same"));
  for (const std::string& said : {launcher_said, agent_said}) EXPECT_THAT(said, testing::Not(HasSubstr("secret")));
}

TEST_F(FleetTest, AnInvitationOfAnEarlierRunDoesNoHarm) {
  const int listener = listen_on("127.0.0.1", 0);  // somebody else, who has its port now
  const auto meeting = open_meeting_point(folder_.path(), "test");
  meeting->leave({{"127.0.0.1"}, port_of(listener), "0123", "4567"});
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
  const auto listening = [&] {
    std::set<std::string> found = listening_sockets_of(getpid());
    for (const auto& agent : agents_) found.merge(listening_sockets_of(agent->pid()));
    return found;
  };
  const int listener = listen_on("127.0.0.1", 0);
  EXPECT_THAT(listening(), testing::SizeIs(1)) << "one is seen where there is one";
  close(listener);
  gather(3);
  EXPECT_THAT(listening(), testing::IsEmpty());
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

TEST_F(FleetTest, FollowsNobodyWhoDoesNotKnowTheAnswer) {
  const int listener = listen_on("127.0.0.1", 0);
  const auto meeting = open_meeting_point(folder_.path(), "test");
  meeting->leave({{"127.0.0.1"}, port_of(listener), "token", "answer"});
  agents_.push_back(std::make_unique<AgentProcess>(folder_.path(), 1, 2));
  ControlChannel agent(accept_by(listener, std::chrono::steady_clock::now() + seconds(5)));
  agent.put({ControlType::kWelcome, -1, 0, "token"});
  agent.put({ControlType::kOver, -1, 77, ""});
  close(listener);
  EXPECT_EQ(agents_[0]->wait(), static_cast<int>(ExitCode::kEnvironment));
}

TEST_F(FleetTest, AnInvitationThatOthersCouldHaveWrittenIsNotFollowed) {
  const auto meeting = open_meeting_point(folder_.path(), "test");
  meeting->leave({{"127.0.0.1"}, 1, "token", "answer"});
  const std::string file = folder_ / "hopbench-test";
  ASSERT_TRUE(meeting->look());
  std::filesystem::permissions(file, std::filesystem::perms::others_write, std::filesystem::perm_options::add);
  EXPECT_THROW(meeting->look(), Error);
  std::filesystem::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_THROW(meeting->look(), Error) << "and it is not waited for";
  std::filesystem::remove(file);
  std::filesystem::create_symlink("/etc/hostname", file);
  EXPECT_FALSE(meeting->look());
}

TEST_F(FleetTest, TooFewDescriptorsEndTheWaiting) {
  const pid_t launcher = fork();
  if (launcher == 0) {
    const rlimit few{static_cast<rlim_t>(open_descriptors() + 8), 40};
    setrlimit(RLIMIT_NOFILE, &few);
    try {
      const auto meeting = open_meeting_point(folder_.path(), "test");
      Fleet::gather(options(30), *meeting);
    } catch (const Error& error) {
      _exit(std::string(error.what()).find("ulimit -n") != std::string::npos ? 0 : 1);
    }
    _exit(2);
  }
  const auto meeting = open_meeting_point(folder_.path(), "test");
  std::optional<Invitation> invitation;
  ASSERT_TRUE(eventually([&] { return (invitation = meeting->look()).has_value(); }));
  std::vector<int> open;
  std::string why;
  for (int i = 0; i < 20; ++i)
    open.push_back(
        connect_by("127.0.0.1", invitation->port, std::chrono::steady_clock::now() + milliseconds(200), why));
  int status = -1;
  EXPECT_TRUE(eventually([&] { return waitpid(launcher, &status, WNOHANG) == launcher; }));
  EXPECT_EQ(status, 0);
  for (const int fd : open) {
    if (fd >= 0) close(fd);
  }
}

TEST_F(FleetTest, WhoDiesAtTheDoorMayBeReplaced) {
  agents_.push_back(std::make_unique<AgentProcess>(folder_.path(), 1, 3));
  meeting_ = open_meeting_point(folder_.path(), "test");
  std::thread later([&] {
    std::this_thread::sleep_for(milliseconds(500));
    agents_.clear();
    std::this_thread::sleep_for(milliseconds(300));
    for (int i = 1; i < 3; ++i) agents_.push_back(std::make_unique<AgentProcess>(folder_.path(), i, 3));
  });
  fleet_ = Fleet::gather(options(3), *meeting_);
  later.join();
  EXPECT_TRUE(run(trial("start")).ok);
}

}  // namespace
}  // namespace hopbench
