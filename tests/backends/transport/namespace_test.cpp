// Gloo between two network namespaces, each with an address of its own; and emulated links against the kernel's: the
// same messages take as long over emulated links as through a token bucket (tbf) of the same rate. Needs root.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "backends/base/error.h"
#include "backends/runtime/links/emulated_wire.h"
#include "backends/runtime/links/link_emulator.h"
#include "tests/backends/transport/wire_talk.h"

namespace hopbench {
namespace {

constexpr double kRate = 200e6 / 8;  // bytes/s
constexpr const char* kTbfRate = "200mbit";
constexpr std::size_t kFloats = 1'250'000;  // of a message: 0.2 s at that rate
constexpr int kMessages = 8;

bool runs(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

/// Two namespaces with a cable between them. Its frames are long, so that headers are less than a hundredth.
class Namespaces {
 public:
  Namespaces() {
    for (int r : {0, 1}) runs("ip netns del " + name(r));
    made_ = runs("ip netns add " + name(0)) && runs("ip netns add " + name(1)) &&
            runs("ip link add " + device(0) + " netns " + name(0) + " type veth peer name " + device(1) + " netns " +
                 name(1));
    for (int r : {0, 1}) {
      made_ = made_ && runs(in(r) + "address add 10.231.7." + std::to_string(r + 1) + "/24 dev " + device(r)) &&
              runs(in(r) + "link set " + device(r) + " mtu 9000 up");
    }
  }
  ~Namespaces() {
    for (int r : {0, 1}) runs("ip netns del " + name(r));
  }
  Namespaces(const Namespaces&) = delete;
  Namespaces& operator=(const Namespaces&) = delete;

  bool made() const { return made_; }
  bool limit(int r, const std::string& rate) const {
    return runs("tc -n " + name(r) + " qdisc add dev " + device(r) + " root tbf rate " + rate +
                " burst 64kb latency 50ms");
  }
  bool enter(int r) const {
    const int fd = open(("/run/netns/" + name(r)).c_str(), O_RDONLY | O_CLOEXEC);
    const bool entered = fd >= 0 && setns(fd, CLONE_NEWNET) == 0;
    if (fd >= 0) close(fd);
    return entered;
  }
  static std::string device(int r) { return "hb" + std::to_string(r); }

 private:
  std::string name(int r) const { return "hopbench-" + std::to_string(maker_) + "-" + std::to_string(r); }
  std::string in(int r) const { return "ip -n " + name(r) + " "; }
  const pid_t maker_ = getpid();
  bool made_ = false;
};

/// Two processes that have a socket between them.
class Cable : public Meeting {
 public:
  explicit Cable(int fd) : fd_(fd) {}
  std::vector<std::string> exchange(const std::vector<int>& peers, const std::vector<std::string>& blobs) override {
    HB_ASSERT(peers.size() == 1);
    const std::string said = blobs[0] + ".";  // never empty
    HB_ASSERT(send(fd_, said.data(), said.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(said.size()));
    char heard[4096];
    const ssize_t n = recv(fd_, heard, sizeof heard, 0);
    if (n <= 0) throw environment_error("the other rank has ended");
    return {std::string(heard, static_cast<std::size_t>(n) - 1)};
  }

 private:
  const int fd_;
};

/// A rank's work on its wire. Returns seconds.
using Talk = std::function<double(Wire& wire, int rank)>;

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Rank 0 sends, rank 1 answers; the shortest time from a message to its answer.
double converse(Wire& wire, int rank) {
  double shortest = 1e9;
  const Message message = message_of(kData, 3, kFloats);
  for (int i = 0; i < kMessages; ++i) {
    const double begun = now_s();
    if (rank == 0) {
      send(wire, 1, message);
      HB_ASSERT(next(wire).kind == kAck);
    } else {
      HB_ASSERT(next(wire).body.size() == kFloats);
      send(wire, 0, message_of(kAck, 0));
    }
    shortest = std::min(shortest, now_s() - begun);
  }
  return shortest;
}

/// Nine times, after one for which connections are cold: rank 0 sends a body and, if `both` do, rank 1 another one a
/// millisecond later. Returns the median time from a body's sending to its arrival here; 0 where none arrives.
double exchange(Wire& wire, int rank, std::size_t floats, bool both) {
  constexpr int kRounds = 9;
  std::vector<double> took;
  Message body = message_of(kData, 3, floats);
  for (int round = 0; round <= kRounds; ++round) {
    double start = 0;  // agreed on, on the clock that both have
    if (rank == 0) {
      start = now_s() + 0.02;
      Message when = message_of(kAck, round);
      when.words.push_back(std::llround(start * 1e9));
      send(wire, 1, when);
    } else {
      start = double(next(wire).words[0]) / 1e9;
    }
    if (rank == 1) start += 0.001;
    std::this_thread::sleep_for(std::chrono::duration<double>(start - now_s()));
    body.words = {std::llround(now_s() * 1e9)};
    if (rank == 0 || both) send(wire, 1 - rank, body);
    if (rank == 1 || both) {
      const Message theirs = next(wire);
      HB_ASSERT(theirs.body.size() == floats);
      if (round > 0) took.push_back(now_s() - double(theirs.words[0]) / 1e9);
    }
    send(wire, 1 - rank, message_of(kAck, round));  // nobody begins before both are done
    HB_ASSERT(next(wire).kind == kAck);
  }
  if (took.empty()) return 0;
  std::nth_element(took.begin(), took.begin() + kRounds / 2, took.end());
  return took[kRounds / 2];
}

struct Conversation {
  Talk talk;
  std::optional<NetworkSpec> emulated = {};
  std::size_t body_bytes = 0;
};

/// Runs a rank as a process in a namespace of its own. Returns its seconds or what went wrong.
std::string rank_in(const Namespaces& namespaces, const Conversation& conversation, int rank, int meeting, int links) {
  if (!namespaces.enter(rank)) return "cannot enter its namespace";
  try {
    Cable cable(meeting);
    const WireOptions options{.rank = rank,
                              .size = 2,
                              .peers = {1 - rank},
                              .interface = Namespaces::device(rank),
                              .connect_timeout = std::chrono::seconds(20),
                              .body_bytes = conversation.body_bytes};
    std::unique_ptr<Wire> wire = find_transport("gloo").connect(options, cable);
    if (links >= 0) wire = std::make_unique<EmulatedWire>(std::move(wire), options.peers, links);
    const double seconds = conversation.talk(*wire, rank);
    wire->close(std::chrono::seconds(10));
    return std::to_string(seconds);
  } catch (const std::exception& e) {
    return e.what();
  }
}

std::string read_all(int fd) {
  std::string said;
  char piece[512];
  for (ssize_t n = 0; (n = read(fd, piece, sizeof piece)) > 0;) said.append(piece, static_cast<std::size_t>(n));
  close(fd);
  return said;
}

/// Returns the ranks' results. An error of a rank is a failure of the test.
std::array<double, 2> seconds_of(const Namespaces& namespaces, const Conversation& conversation) {
  std::optional<LinkEmulator> emulator;
  if (conversation.emulated) emulator.emplace(*conversation.emulated, 2, 1, 0);
  int meeting[2], told[2][2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, meeting), 0);
  std::array<pid_t, 2> ranks{};
  for (int r : {0, 1}) {
    EXPECT_EQ(pipe2(told[r], O_CLOEXEC), 0);
    const int links = emulator ? emulator->take_end(r) : -1;
    ranks[static_cast<std::size_t>(r)] = fork();
    if (ranks[static_cast<std::size_t>(r)] == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      close(meeting[1 - r]);
      const std::string said = rank_in(namespaces, conversation, r, meeting[r], links);
      (void)!write(told[r][1], said.data(), said.size());
      _exit(std::isdigit(static_cast<unsigned char>(said[0])) != 0 ? 0 : 1);
    }
    close(told[r][1]);
    if (links >= 0) close(links);
  }
  close(meeting[0]);
  close(meeting[1]);
  if (emulator) emulator->start(link_clock_ns());
  std::array<double, 2> seconds{};
  for (std::size_t r : {0, 1}) {
    const std::string said = read_all(told[r][0]);
    int status = 0;
    waitpid(ranks[r], &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "rank " << r << ": " << said;
    seconds[r] = std::atof(said.c_str());
  }
  return seconds;
}

/// The shortest time of a message and its answer.
double shortest_time(const Namespaces& namespaces, const std::optional<NetworkSpec>& emulated) {
  return seconds_of(namespaces, {.talk = converse, .emulated = emulated})[0];
}

class NetworkNamespaces : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = find_transport("gloo").unavailable(); !why.empty()) GTEST_SKIP() << why;
    if (geteuid() != 0) GTEST_SKIP() << "needs root: it makes network namespaces";
    namespaces_ = std::make_unique<Namespaces>();
    if (!namespaces_->made()) GTEST_SKIP() << "no network namespaces here (ip netns, veth: package iproute2)";
  }
  std::unique_ptr<Namespaces> namespaces_;
};

TEST_F(NetworkNamespaces, AreConnectedByGlooThroughTheirOwnAddresses) {
  EXPECT_GT(shortest_time(*namespaces_, std::nullopt), 0);
}

TEST_F(NetworkNamespaces, AreAsFarApartWithEmulatedLinksAsThroughATokenBucket) {
  NetworkSpec links;
  links.bandwidth = kRate;
  const double emulated = shortest_time(*namespaces_, links);
  if (!namespaces_->limit(0, kTbfRate)) GTEST_SKIP() << "this kernel has no tbf, or tc (package iproute2) is missing";
  const double kernel = shortest_time(*namespaces_, std::nullopt);
  RecordProperty("emulated_s", std::to_string(emulated));
  RecordProperty("kernel_s", std::to_string(kernel));
  std::printf("5 MB at 200 Mbit/s: emulated %.4f s, tbf %.4f s, ratio %.4f\n", emulated, kernel, emulated / kernel);
  const double said = kFloats * sizeof(float) / kRate;
  EXPECT_NEAR(emulated, said, 0.01) << "the shortest of many: what the rate says";
  if (kernel > 1.04 * said) GTEST_SKIP() << "this machine is too busy to compare: tbf itself is not on time";
  EXPECT_NEAR(emulated / kernel, 1, 0.05);
}

// A body whose receive was posted behind the receiver's own body came after it: two bodies took as long as both in
// turn. 247 kB are in every run, and with HB_LARGE_BODIES 1.08 and 37 MB too, which take minutes.
TEST_F(NetworkNamespaces, CarryBodiesBothWaysAtOnce) {
  if (!namespaces_->limit(0, "40mbit") || !namespaces_->limit(1, "40mbit"))
    GTEST_SKIP() << "this kernel has no tbf, or tc (package iproute2) is missing";
  std::vector<std::size_t> sizes = {61'706};
  if (std::getenv("HB_LARGE_BODIES") != nullptr) sizes.insert(sizes.end(), {269'722, 9'231'114});
  for (const std::size_t floats : sizes) {
    const auto run = [&](bool both) {
      return seconds_of(*namespaces_, {.talk = [&](Wire& wire, int r) { return exchange(wire, r, floats, both); },
                                       .body_bytes = floats * sizeof(float)});
    };
    const double alone = run(false)[1];
    const auto [back, there] = run(true);
    std::printf("%.0f kB at 40 Mbit/s: alone %.4f s, both at once %.4f and %.4f s\n", double(floats) * 4 / 1000, alone,
                there, back);
    EXPECT_GT(alone, double(floats) * 4 * 8 / 40e6 * 0.7) << "the rate is that of the link";
    EXPECT_LE(there, 1.2 * alone);
    EXPECT_LE(back, 1.2 * alone);
  }
}

}  // namespace
}  // namespace hopbench
