// The parts of a run of several processes: its place by the environment, its rendezvous, its host file, and which rank
// goes where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "backends/base/error.h"
#include "backends/fleet/crew_text.h"
#include "backends/fleet/host_file.h"
#include "backends/fleet/meeting_point.h"
#include "backends/fleet/placing.h"
#include "backends/fleet/process_identity.h"
#include "backends/runtime/process/spawn.h"
#include "tests/backends/runtime/launched.h"
#include "tests/folder.h"
#include "tests/said.h"

namespace hopbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

ProcessIdentity standing(const Variables& variables) {
  return identity_of([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(ProcessIdentity, IsAloneWithoutALauncher) {
  const ProcessIdentity alone = standing({});
  EXPECT_EQ(alone.size, 1);
  EXPECT_EQ(alone.number, 0);
  EXPECT_EQ(alone.by, "");
}

TEST(ProcessIdentity, IsReadFromEachLauncher) {
  const ProcessIdentity mpi = standing({{"OMPI_COMM_WORLD_RANK", "2"},
                                        {"OMPI_COMM_WORLD_SIZE", "4"},
                                        {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                                        {"OMPI_UNIVERSE_SIZE", "99"},
                                        {"PMIX_NAMESPACE", "77"}});
  EXPECT_EQ(mpi.number, 2);
  EXPECT_EQ(mpi.size, 4);
  EXPECT_EQ(mpi.local_size, 4);
  EXPECT_EQ(mpi.run, "77");
  const ProcessIdentity slurm = standing({{"SLURM_PROCID", "1"},
                                          {"SLURM_NTASKS", "8"},
                                          {"SLURM_STEP_NUM_TASKS", "3"},
                                          {"SLURM_STEP_NUM_NODES", "1"},
                                          {"SLURM_JOB_ID", "12"},
                                          {"SLURM_STEP_ID", "0"}});
  EXPECT_EQ(slurm.size, 3);
  EXPECT_EQ(slurm.local_size, 3);
  EXPECT_EQ(slurm.run, "12.0");
  EXPECT_EQ(standing({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}).number, 1);
  EXPECT_EQ(standing({{"MV2_COMM_WORLD_RANK", "1"}, {"MV2_COMM_WORLD_SIZE", "2"}}).number, 1);
  EXPECT_EQ(standing({{"JOB_COMPLETION_INDEX", "5"}, {"HOPBENCH_WORLD_SIZE", "6"}}).number, 5);
  EXPECT_EQ(standing({{"PMIX_RANK", "1"}, {"PMIX_NAMESPACE", "ns"}, {"HOPBENCH_WORLD_SIZE", "2"}}).run, "ns");
  EXPECT_EQ(standing({{"SKYPILOT_NODE_RANK", "1"}, {"SKYPILOT_NUM_NODES", "2"}, {"SKYPILOT_TASK_ID", "t"}}).run, "t");
  const ProcessIdentity flux = standing({{"FLUX_TASK_RANK", "3"},
                                         {"FLUX_JOB_SIZE", "4"},
                                         {"FLUX_JOB_NNODES", "1"},
                                         {"FLUX_JOB_ID", "f1"},
                                         {"PMI_RANK", "3"},
                                         {"PMI_SIZE", "4"}});
  EXPECT_EQ(flux.by, "FLUX_TASK_RANK");
  EXPECT_EQ(flux.number, 3);
  EXPECT_EQ(flux.local_size, 4);
  EXPECT_EQ(flux.run, "f1");
  const ProcessIdentity torch =
      standing({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "29500"}});
  EXPECT_EQ(torch.address, "a:29500");
}

TEST(ProcessIdentity, TheNearestLauncherCounts) {
  const ProcessIdentity inner = standing(
      {{"RANK", "3"}, {"WORLD_SIZE", "4"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}, {"SLURM_STEP_ID", "0"}});
  EXPECT_EQ(inner.number, 3);
  EXPECT_EQ(inner.by, "RANK");
}

TEST(ProcessIdentity, ItsRunHasTheNameThatTheUserOrTheLauncherGaveIt) {
  EXPECT_EQ(standing({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"TORCHELASTIC_RUN_ID", "none"}}).run, "");
  EXPECT_EQ(standing({{"JOB_COMPLETION_INDEX", "0"}, {"HOPBENCH_WORLD_SIZE", "2"}, {"HOPBENCH_JOB", "mine"}}).run,
            "mine");
  const ProcessIdentity pmi = standing({{"PMI_RANK", "0"},
                                        {"PMI_SIZE", "2"},
                                        {"SLURM_JOB_ID", "5"},
                                        {"SLURM_STEP_ID", "1"},
                                        {"SLURM_STEP_NUM_NODES", "1"}});
  EXPECT_EQ(pmi.run, "5.1");
  EXPECT_EQ(pmi.local_size, 2);
}

TEST(ProcessIdentity, ABatchScriptIsNoStep) {
  EXPECT_EQ(standing({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "16"}, {"SLURM_JOB_ID", "3"}}).size, 1);
}

TEST(ProcessIdentity, ThePortThatTorchrunsStoreHasIsNotOurs) {
  EXPECT_EQ(standing({{"RANK", "0"},
                      {"WORLD_SIZE", "2"},
                      {"MASTER_ADDR", "a"},
                      {"MASTER_PORT", "29500"},
                      {"TORCHELASTIC_USE_AGENT_STORE", "True"}})
                .address,
            "");
}

TEST(ProcessIdentity, GapsAndContradictionsAreNamed) {
  EXPECT_THAT(said_by([] { standing({{"RANK", "1"}}); }), HasSubstr("RANK=1 is set, but not WORLD_SIZE"));
  EXPECT_THAT(said_by([] { standing({{"WORLD_SIZE", "4"}}); }), HasSubstr("RANK is not set"));
  EXPECT_THAT(said_by([] { standing({{"JOB_COMPLETION_INDEX", "0"}}); }), HasSubstr("not HOPBENCH_WORLD_SIZE"));
  EXPECT_THAT(said_by([] { standing({{"RANK", "4"}, {"WORLD_SIZE", "4"}}); }), HasSubstr("contradict"));
  EXPECT_THAT(said_by([] { standing({{"RANK", "one"}, {"WORLD_SIZE", "4"}}); }), HasSubstr("RANK=one"));
  EXPECT_THAT(said_by([] { standing({{"RANK", "-1"}, {"WORLD_SIZE", "4"}}); }), HasSubstr("RANK=-1"));
}

TEST(MeetingPoint, AFolderKeepsTheLastInvitation) {
  const Folder folder;
  const auto one = open_meeting_point(folder.path(), "job/7"),
             other = open_meeting_point("file://" + folder.path(), "8");
  EXPECT_FALSE(one->look());
  one->leave({{"10.0.0.1"}, 1, "old", ""});
  one->leave({{"10.0.0.1", "::1"}, 65535, "token", "answer"});
  ASSERT_TRUE(one->look());
  EXPECT_THAT(one->look()->addresses, ElementsAre("10.0.0.1", "::1"));
  EXPECT_EQ(one->look()->port, 65535);
  EXPECT_EQ(one->look()->token, "token");
  EXPECT_FALSE(other->look()) << "runs do not meet each other";
  EXPECT_FALSE(open_meeting_point(folder.path(), "job_7")->look()) << "however much alike their names";
  one->clear(Invitation{{}, 0, "another", ""});
  EXPECT_TRUE(one->look()) << "of another run";
  one->clear(*one->look());
  EXPECT_FALSE(one->look());
}

TEST(MeetingPoint, ARunOfTooLongANameIsRefused) {
  const Folder folder;
  EXPECT_THAT(said_by([&] { open_meeting_point(folder.path(), std::string(90, '/')); }),
              HasSubstr("shorter HOPBENCH_JOB"));
  open_meeting_point(folder.path(), std::string(150, 'j'))->leave({{"a"}, 1, "", ""});
}

TEST(MeetingPoint, HalfAnInvitationIsNone) {
  const std::string whole = to_text(Invitation{{"a"}, 1, "t", "u"});
  ASSERT_TRUE(invitation_from_text(whole));
  for (std::size_t n = 0; n + 1 < whole.size(); ++n) EXPECT_FALSE(invitation_from_text(whole.substr(0, n))) << n;
}

TEST(MeetingPoint, AFileOfTheUsersIsKept) {
  const Folder folder;
  folder.write("hopbench-run", "mine");
  std::filesystem::permissions(folder / "hopbench-run", std::filesystem::perms::owner_all);
  try {
    open_meeting_point(folder.path(), "")->leave({{"a"}, 1, "", ""});
    ADD_FAILURE() << "it was replaced";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("hopbench-run exists and is not an invitation of hopbench"));
  }
  EXPECT_EQ(text_of(folder / "hopbench-run"), "mine");
}

TEST(MeetingPoint, WhatIsNoPlaceIsRefused) {
  for (const char* where : {"", "ftp://a", "tcp://a", "tcp://a:0", "tcp://a:70000", "redis://", "redis://h:x/p"})
    EXPECT_NE(said_by([&] { open_meeting_point(where, ""); }), "") << where;
  EXPECT_THROW(open_meeting_point("/nowhere/at/all", "")->leave({{"a"}, 1, "", ""}), Error);
  EXPECT_THROW(open_meeting_point("/nowhere/at/all", "")->look(), Error);
}

TEST(HostFile, IsReadLineByLine) {
  const Folder folder;
  const std::string file = folder / "hosts";
  std::ofstream(file) << "# machines\nlocalhost slots=2\n\n user@node-1.example  # fast\n[fe80::1]\n";
  const auto hosts = read_host_file(file);
  ASSERT_EQ(hosts.size(), 3u);
  EXPECT_EQ(hosts[0].slots, 2);
  EXPECT_EQ(hosts[1].host, "user@node-1.example");
  EXPECT_EQ(hosts[1].slots, -1);
}

TEST(HostFile, MistakesAreNamedWithTheirLine) {
  const Folder folder;
  const std::string file = folder / "hosts";
  const auto said = [&](const std::string& text) {
    std::ofstream(file) << text;
    return said_by([&] { read_host_file(file); });
  };
  EXPECT_THAT(said(""), HasSubstr("names no host"));
  EXPECT_THAT(said("a\n-oProxyCommand=x\n"), HasSubstr("hosts:2: '-oProxyCommand=x' is not a host name"));
  EXPECT_THAT(said("a;reboot\n"), HasSubstr("not a host name"));
  EXPECT_THAT(said("user@\n"), HasSubstr("'user@' is not a host name"));
  EXPECT_THAT(said(std::string(1 << 20, '\1') + "\n"), HasSubstr("hosts:1: '" + std::string(60, '?') + "...' is no"));
  EXPECT_THAT(said("a slots=0\n"), HasSubstr("slots=N"));
  EXPECT_THAT(said("a slots=two\n"), HasSubstr("'slots=two'"));
  EXPECT_THAT(said("a cpus=2\n"), HasSubstr("'cpus=2'"));
  EXPECT_THAT(said("a\na\n"), HasSubstr("hosts:2: a is there twice"));
  EXPECT_THAT(
      said("node1:2\n"),
      HasSubstr(":1: 'node1:2' has a number of processes, which a line has as HOST slots=N: write `node1 slots=2`"));
  EXPECT_THAT(said("a\nnode[01-02] slots=4\n"),
              HasSubstr(":2: 'node[01-02]' stands for several hosts: give each one line"));
  EXPECT_THAT(said("n1,n2\n"), HasSubstr("stands for several hosts"));
  EXPECT_THAT(said("\xff\xfen"), HasSubstr("byte order mark"));
  EXPECT_EQ(said("\xef\xbb\xbfnode1 slots=2\n"), "");
  EXPECT_EQ(said("::1\nme@[fe80::2]\n"), "");
  EXPECT_THAT(said_by([] { read_host_file("/nowhere"); }), HasSubstr("/nowhere"));
}

/// How a wrapper in place of ssh ends: by `way`, after it has started a process; with the point, or before.
void expect_nothing_left_by(const std::string& way, bool by_itself) {
  const Folder folder;
  const std::string script = folder / "ssh", child = folder / "child";
  std::ofstream(script) << "#!/bin/sh\nsleep 1000 &\necho $! >" << child << ".new\nmv " << child << ".new " << child
                        << "\n"
                        << way << "\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  pid_t pid = 0;
  {
    const auto point = open_ssh_point(script, {"node1"}, "hopbench");
    EXPECT_EQ(point->process(1), "node1");
    point->leave({{"127.0.0.1"}, 1, "t", "u"});
    ASSERT_TRUE(eventually([&] { return static_cast<bool>(std::ifstream(child) >> pid); }));
    if (by_itself) {
      EXPECT_TRUE(eventually([&] { return point->trouble().find("` ended with 7") != std::string::npos; }));
    } else {
      EXPECT_EQ(kill(pid, 0), 0);
    }
  }
  EXPECT_TRUE(eventually([&] { return process_state(pid) == 0 || process_state(pid) == 'Z'; }));
  if (pid > 0) kill(pid, SIGKILL);
}

TEST(SshPoint, WhatAWrapperStartedEndsWithIt) {
  expect_nothing_left_by("wait", false);
  expect_nothing_left_by("exit 7", true);
}

TEST(Summons, AreReadFromStandardInput) {
  std::istringstream good("2 3\n" + to_text(Invitation{{"a"}, 7, "t", "u"})), bad("hello"), alone("0 1\n");
  const Summons summons = read_summons(good);
  EXPECT_EQ(summons.number, 2);
  EXPECT_EQ(summons.size, 3);
  EXPECT_EQ(summons.meeting->look()->token, "t");
  EXPECT_NE(said_by([&] { read_summons(bad); }), "");
  EXPECT_NE(said_by([&] { read_summons(alone); }), "");
}

TEST(Placing, OneWorkerAProcess) {
  EXPECT_THAT(place_ranks({{0, 0, 1, 1}, {}}, {4, 1, {}, "t"}), ElementsAre(0, 1, 2, 3, 0));
  EXPECT_THAT(place_ranks({{0, 0, 1, 1}, {}}, {3, 3, {}, "t"}), ElementsAre(0, 1, 2, 0, 1, 2)) << "servers beside";
}

TEST(Placing, AProcessAMachineTakesABlock) {
  EXPECT_THAT(place_ranks({{0, 1, 2}, {}}, {8, 0, {}, "t"}), ElementsAre(0, 0, 0, 1, 1, 1, 2, 2));
}

TEST(Placing, TooFewProcessesOnAMachineAreAContradiction) {
  EXPECT_THAT(said_by([] {
                place_ranks({{0, 0, 0, 0}, {}}, {8, 0, {}, "rate/a"});
              }),
              HasSubstr("rate/a has 8 workers, but 4 processes were started: --set run.world_size=4"));
}

TEST(Placing, SlotsAreFilledInOrder) {
  EXPECT_THAT(place_ranks({{0, 1, 2}, {0, 2, 3}}, {4, 1, {}, "t"}), ElementsAre(1, 1, 2, 2, 1));
  EXPECT_THAT(place_ranks({{0, 1, 2}, {0, kAnyNumber, kAnyNumber}}, {4, 0, {}, "t"}), ElementsAre(1, 1, 2, 2));
  EXPECT_THAT(said_by([] { place_ranks({{0, 1}, {1, 2}}, {4, 0, {}, "t"}); }), HasSubstr("has 3 slots"));
}

TEST(Placing, FollowsTheHostsOfTheSuite) {
  const std::vector<int> drawn{0, 0, 0, 1, 1, 1, 2, 2};
  EXPECT_THAT(place_ranks({{0, 1, 2}, {}}, {8, 0, drawn, "t"}), ElementsAre(0, 0, 0, 1, 1, 1, 2, 2));
  EXPECT_THAT(place_ranks({{0, 1, 0, 1}, {}}, {4, 1, {0, 0, 1, 1, 2}, "t"}), ElementsAre(0, 2, 1, 3, 0))
      << "a server on a host of its own, which is not there";
  EXPECT_THAT(place_ranks({{0, 1, 0, 1}, {}}, {4, 1, {1, 1, 0, 0, 2}, "t"}), ElementsAre(1, 3, 0, 2, 1))
      << "beside worker 0, which is not on the first machine";
  EXPECT_THAT(said_by([&] {
                place_ranks({{0, 1}, {}}, {8, 0, drawn, "t"});
              }),
              HasSubstr("puts ranks on host 2, but this run has 2 machines"));
}

TEST(Placing, NumbersTheRanksOfEachMachine) {
  using Local = LocalPlace;
  EXPECT_THAT(local_places({{0, 0, 1}, {}}, {0, 1, 2, 2, 0}),
              ElementsAre(Local{0, 3}, Local{1, 3}, Local{0, 2}, Local{1, 2}, Local{2, 3}));
}

TEST(CrewText, AJobComesBackAsItWas) {
  RemoteJob job;
  job.job.job = std::string("text\nand \0 bytes", 15);
  job.job.ranks = 4;
  job.job.members = {{1, {0, 2}}, {3, {1, 2}}};
  job.credits = 77;
  RemoteJob back;
  ASSERT_TRUE(from_text(to_text(job), back));
  EXPECT_EQ(back.job.job, job.job.job);
  EXPECT_EQ(back.job.members[1].rank, 3);
  EXPECT_EQ(back.credits, 77);
  RemoteJob none;
  for (const char* text :
       {"", "{}", "{}\n", "[]\nx", "{\"ranks\":1,\"members\":[[1,0]],\"check_every\":1,\"credits\":0}\n"})
    EXPECT_FALSE(from_text(text, none)) << text;
}

TEST(CrewText, SlotsComeBackAsTheyWere) {
  const auto there = Board::create(3, 0), here = Board::create(3, 0);
  there->slot(1).phase = Phase::kDone;
  RankSlot& slot = there->slot(2);
  slot.phase = Phase::kWaiting;
  slot.iteration = 12;
  slot.beats = 5;
  slot.samples = 48;
  slot.since = 1000;
  slot.stopped = true;
  std::strncpy(slot.waiting_for, "a token", sizeof slot.waiting_for - 1);
  std::strncpy(slot.silent, "0, 1", sizeof slot.silent - 1);
  ASSERT_TRUE(show_slots(slots_text(*there, {{1, {}}, {2, {}}}), -400, {2}, *here));
  EXPECT_EQ(here->slot(2).iteration, 12);
  EXPECT_EQ(here->slot(2).samples, 48);
  EXPECT_EQ(here->slot(2).since, 600);
  EXPECT_TRUE(here->slot(2).stopped);
  EXPECT_STREQ(here->slot(2).waiting_for, "a token");
  EXPECT_STREQ(here->slot(2).silent, "0, 1");
  EXPECT_EQ(here->slot(1).phase, Phase::kStarting) << "nobody else's";
  EXPECT_FALSE(show_slots("half", 0, {0}, *here));
  const auto larger = Board::create(9, 0);
  EXPECT_FALSE(show_slots(slots_text(*larger, {{8, {}}}), 0, {8}, *here)) << "no such rank here";
}

}  // namespace
}  // namespace hopbench
