// Where and with what a run was made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "backends/base/process/cores.h"
#include "results/files/context.h"
#include "results/files/machine.h"
#include "tests/results/results_samples.h"

namespace hopbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Context, IsJsonWithBuildMachineAndCommand) {
  const auto context = nlohmann::json::parse(context_json({"hopbench", "run", "a b"}));
  EXPECT_EQ(context["command"][2], "a b");
  EXPECT_EQ(context["hopbench"]["version"], version_text());
  EXPECT_FALSE(context["hopbench"]["commit"].get<std::string>().empty());
  EXPECT_GE(context["machine"]["cores"].get<int>(), 1);
  EXPECT_GT(context["machine"]["memory_bytes"].get<std::int64_t>(), 0);
  EXPECT_THAT(context["machine"]["kernel"].get<std::string>(), StartsWith("Linux"));
  EXPECT_THAT(context_text(), HasSubstr(version_text()));
}

TEST(Context, WarningsAreNoPartOfABuild) {
  EXPECT_EQ(code_flags("-O3 -DNDEBUG -Wall -Wno-restrict -Werror -g1 -fdiagnostics-color=always -ffp-contract=off"),
            "-O3 -DNDEBUG -ffp-contract=off");
  EXPECT_EQ(code_flags("-Wp,-D_FORTIFY_SOURCE=2 -Wl,-z,now -pedantic-errors -w"), "-Wp,-D_FORTIFY_SOURCE=2 -Wl,-z,now");
}

TEST(Context, OnlyNamedVariablesAreRecorded) {
  const char* environment[] = {"OMP_NUM_THREADS=1", "PATH=/bin", "HOPBENCH_SEED=2",
                               "MY_CI=1",           "CI=true",   "AWS_SECRET_KEY=hide",
                               "CIPHER=x",          "LC_ALL=C",  "HOPBENCH_COMMAND=ci/hopbench",
                               "HOPBENCH_ROOT=/x",  nullptr};
  EXPECT_THAT(recorded_variables(environment),
              ElementsAre("CI=true", "HOPBENCH_SEED=2", "LC_ALL=C", "OMP_NUM_THREADS=1"));
}

TEST(Context, QuotaOfControlGroupsIsTheLeastOnTheWayUp) {
  const Folder v2;
  v2.write("proc/self/cgroup", "0::/user/job\n");
  v2.write("sys/fs/cgroup/user/job/cpu.max", "max 100000\n");
  v2.write("sys/fs/cgroup/user/cpu.max", "150000 100000\n");
  EXPECT_DOUBLE_EQ(cpu_quota(v2.path()).value(), 1.5);
  const Folder v1;
  v1.write("proc/self/cgroup", "3:cpuset:/x\n2:cpu,cpuacct:/job\n");
  v1.write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "50000\n");
  v1.write("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  v1.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  v1.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(cpu_quota(v1.path()).value(), 0.5);
  const Folder none;
  EXPECT_FALSE(cpu_quota(none.path()));
}

TEST(Context, UsableCoresAreWholeOnesOfTheQuotaAndAtLeastOne) {
  const auto usable = [](const char* quota) {
    const Folder folder;
    folder.write("proc/self/cgroup", "0::/job\n");
    folder.write("sys/fs/cgroup/job/cpu.max", quota);
    return usable_cores(folder.path());
  };
  const int all = usable("max 100000\n");
  EXPECT_GE(all, 1);
  EXPECT_EQ(usable("50000 100000\n"), 1);
  EXPECT_EQ(usable("199999 100000\n"), 1);
  EXPECT_EQ(usable("200000 100000\n"), std::min(all, 2));
  EXPECT_EQ(usable("100000000 100000\n"), all) << "no more than the affinity mask has";
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(usable("max 100000\n"), 1);
  sched_setaffinity(0, sizeof before, &before);
}

TEST(Context, WhatTheKernelDoesNotTellIsUnavailable) {
  const Folder machine;
  EXPECT_EQ(cpu_model(machine.path()), "unavailable");
  EXPECT_EQ(governor(machine.path()), "unavailable");
  EXPECT_EQ(load_average(machine.path()), "unavailable");
  EXPECT_EQ(memory_bytes(machine.path()), 0);
  machine.write("proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU: 3 GHz\nflags\t\t: fpu avx avx2 fma\n");
  machine.write("proc/loadavg", "0.50 0.25 0.10 1/234 5\n");
  machine.write("proc/meminfo", "MemTotal:       2048 kB\n");
  machine.write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  EXPECT_EQ(cpu_model(machine.path()), "Some CPU: 3 GHz");
  EXPECT_EQ(instruction_sets(machine.path()), "avx fma avx2");
  EXPECT_EQ(governor(machine.path()), "powersave");
  EXPECT_EQ(load_average(machine.path()), "0.50 0.25 0.10");
  EXPECT_EQ(memory_bytes(machine.path()), 2 * 1024 * 1024);
}

TEST(Context, HasWhatDecidesAboutTcp) {
  const Folder machine;
  EXPECT_EQ(tcp_congestion_control(machine.path()), "unavailable");
  EXPECT_EQ(queue_discipline(machine.path()), "unavailable");
  EXPECT_EQ(largest_packets(machine.path()), "unavailable");
  machine.write("proc/sys/net/ipv4/tcp_congestion_control", "bbr\n");
  machine.write("proc/sys/net/core/default_qdisc", "fq\n");
  machine.write("sys/class/net/lo/mtu", "65536\n");
  machine.write("sys/class/net/eth0/mtu", "1500\n");
  EXPECT_EQ(tcp_congestion_control(machine.path()), "bbr");
  EXPECT_EQ(queue_discipline(machine.path()), "fq");
  EXPECT_EQ(largest_packets(machine.path()), "eth0 1500, lo 65536");
}

}  // namespace
}  // namespace hopbench
