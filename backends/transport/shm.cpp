// Shared memory between processes of one machine as a Wire: see shm_segment.h for bodies, shm_channel.h for the rest.
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backends/base/error.h"
#include "backends/base/process/cores.h"
#include "backends/base/relax.h"
#include "backends/transport/shm.h"
#include "backends/transport/shm_peer.h"
#include "backends/transport/wire.h"

namespace hopbench {
namespace {

using Clock = std::chrono::steady_clock;

/// Reports processes that end. Each is watched through its own descriptor, so a reused number misleads no rank.
class Watch {
 public:
  /// `died` is called on the watching thread.
  void start(std::vector<ShmPeer*> peers, std::function<void()> died) {
    stop_ = eventfd(0, EFD_CLOEXEC);
    if (stop_ < 0) throw environment_error(std::string("cannot watch other ranks: ") + std::strerror(errno));
    thread_ = std::thread([this, peers = std::move(peers), died = std::move(died)] { watch(peers, died); });
  }
  ~Watch() {
    if (!thread_.joinable()) return;
    const std::uint64_t one = 1;
    (void)!write(stop_, &one, sizeof one);
    thread_.join();
    close(stop_);
  }

 private:
  void watch(std::vector<ShmPeer*> peers, const std::function<void()>& died) const {
    std::vector<pollfd> ends{{stop_, POLLIN, 0}};
    for (ShmPeer* peer : peers) ends.push_back({peer->process(), POLLIN, 0});
    while (true) {
      poll(ends.data(), ends.size(), -1);
      if (ends[0].revents != 0) return;
      for (std::size_t i = 1; i < ends.size(); ++i) {
        if (ends[i].revents == 0) continue;
        ends[i].fd = -1;
        peers[i - 1]->died();
      }
      died();
    }
  }

  int stop_ = -1;
  std::thread thread_;
};

/// Releases a bell, which stays in the segment until all peers have given it back.
struct BellRelease {
  void operator()(ShmBell* bell) const { ShmSegment::mine().release(bell); }
};
using BellPtr = std::unique_ptr<ShmBell, BellRelease>;

BellPtr new_bell() {
  void* const memory = ShmSegment::mine().allocate(sizeof(ShmBell));
  if (memory == nullptr) throw environment_error("out of shared memory: use fewer ranks");
  return BellPtr(new (memory) ShmBell);
}

/// Returns true if a rank may spin: only if each rank can have a core to itself.
bool may_spin(int ranks) { return ranks <= usable_cores(); }

/// A rank's report that it cannot share memory with another rank, and why.
struct Refusal {
  int who = -1, with = -1;  // the rank that reports, and the other one
  std::string why;

  std::string text() const {
    return "rank " + std::to_string(who) + " cannot share memory with rank " + std::to_string(with) + ": " + why;
  }
};

class ShmWire : public Wire {
 public:
  ShmWire(const WireOptions& options, Meeting& meeting, std::map<int, Refusal>& refused)
      : bell_(new_bell()), spin_(may_spin(options.size)) {
    std::vector<std::string> blobs;
    std::vector<Verdict> verdicts;
    for (int peer : options.peers) {
      peers_.push_back(std::make_unique<ShmPeer>(peer, *bell_));
      blobs.push_back(peers_.back()->address());
    }
    const auto theirs = meeting.exchange(options.peers, blobs);
    for (std::size_t i = 0; i < peers_.size(); ++i)
      verdicts.push_back({peers_[i]->connect(theirs[i]), peers_[i]->trouble_with_device()});
    // No rank goes on, and so may end, before all ranks have mapped the memory of their peers.
    const std::vector<Verdict> their_verdicts = exchange(options, meeting, verdicts);
    for (std::size_t i = 0; i < options.peers.size(); ++i) {
      const int peer = options.peers[i];
      if (!verdicts[i].on_memory.empty()) {
        refused[peer] = {options.rank, peer, verdicts[i].on_memory};
      } else if (!their_verdicts[i].on_memory.empty()) {
        refused[peer] = {peer, options.rank, their_verdicts[i].on_memory};
      }
    }
    lend_device(options, verdicts, their_verdicts);
    std::erase_if(peers_, [&](const auto& peer) { return refused.contains(peer->rank()); });
    watch();
  }

  bool try_send(int to, const Message& message) override { return peer(to).try_send(message); }

  std::optional<Message> poll() override {
    if (!early_.empty()) {
      Message message = std::move(early_.front());
      early_.pop_front();
      return message;
    }
    return take();
  }

  void wait(Duration timeout, int messages) override {
    const auto until = Clock::now() + std::min<Duration>(timeout, std::chrono::hours(1));
    const bool spins = spin_ && (spun_in_vain_ < kVain || ++waits_ % kProbe == 0);
    const auto spin_until = Clock::now() + (spins ? kSpin : Duration{});
    bool slept = false;
    while (true) {
      const std::uint32_t seen = bell_->count();
      const int here = waiting();
      if (here >= messages || woken_.exchange(false) || news()) {
        if (spins) spun_in_vain_ = slept ? spun_in_vain_ + 1 : 0;
        return;
      }
      const auto now = Clock::now();
      if (now >= until) return;
      if (now < spin_until) {
        for (int i = 0; i < 100 && bell_->count() == seen; ++i) relax();
        continue;
      }
      slept = true;
      bell_->sleep(seen, std::uint32_t(messages - here), until - now);
    }
  }

  void wake() override {
    woken_ = true;
    bell_->ring(true);
  }

  std::map<std::string, std::vector<int>> carriers() const override {
    std::map<std::string, std::vector<int>> all;
    for (const auto& peer : peers_) all["shm"].push_back(peer->rank());
    return all;
  }

  void close(Duration timeout) override {
    const auto until = Clock::now() + std::min<Duration>(timeout, std::chrono::hours(1000));
    for (const auto& peer : peers_) peer->say_bye();
    const auto silent = [&] {
      return std::all_of(peers_.begin(), peers_.end(), [](const auto& peer) { return peer->silent(); });
    };
    // They may wait for room until all their messages are here.
    while (true) {
      const std::uint32_t seen = bell_->count();
      while (auto message = take()) early_.push_back(std::move(*message));
      const auto now = Clock::now();
      if (silent() || now >= until) return;
      bell_->sleep(seen, 1, until - now);
    }
  }

 private:
  /// A rank's report on another's memory: why it cannot be mapped, or read. Empty: it can.
  struct Verdict {
    std::string on_memory, on_device;
  };

  static std::vector<Verdict> exchange(const WireOptions& options, Meeting& meeting, const std::vector<Verdict>& mine) {
    std::vector<std::string> lines;
    for (const Verdict& verdict : mine) lines.push_back(verdict.on_memory + '\n' + verdict.on_device);
    std::vector<Verdict> theirs;
    for (const std::string& line : meeting.exchange(options.peers, lines)) {
      const std::size_t end = std::min(line.find('\n'), line.size());
      theirs.push_back({line.substr(0, end), line.substr(std::min(end + 1, line.size()))});
    }
    return theirs;
  }

  /// Lends vectors on this process's device to peers that have read a sample of it. The record names the other peers.
  void lend_device(const WireOptions& options, const std::vector<Verdict>& mine, const std::vector<Verdict>& theirs) {
    if (device_space() == nullptr || !device_space()->lends() || peers_.empty()) return;
    std::map<std::string, std::vector<int>> refused;  // by reason
    int fallbacks = 0;
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      peers_[i]->lend_device(theirs[i].on_device.empty());
      if (!theirs[i].on_device.empty())
        refused["this rank's memory " + theirs[i].on_device].push_back(options.peers[i]);
      if (!mine[i].on_device.empty()) refused["its memory " + mine[i].on_device].push_back(options.peers[i]);
      fallbacks += theirs[i].on_device.empty() && mine[i].on_device.empty() ? 0 : 1;
    }
    std::string text;
    for (const auto& [why, ranks] : refused) {
      text += (text.empty() ? "not with ranks" : ", not with ranks");
      for (const int rank : ranks) text += ' ' + std::to_string(rank);
      text += " (" + why + ")";
    }
    device_space()->remark("ipc", text.empty() ? "yes" : text, fallbacks);
  }

  void watch() {
    std::vector<ShmPeer*> processes;
    for (const auto& peer : peers_) {
      if (peer->process() >= 0) processes.push_back(peer.get());
    }
    if (!processes.empty()) watch_.start(std::move(processes), [this] { wake(); });
  }

  // A rank that spins takes the core from threads whose work it may wait for. After kVain spins in vain it tries again
  // only once in kProbe waits.
  static constexpr Duration kSpin = std::chrono::microseconds(50);
  static constexpr int kVain = 3, kProbe = 64;

  ShmPeer& peer(int rank) {
    for (const auto& peer : peers_) {
      if (peer->rank() == rank) return *peer;
    }
    HB_ASSERT_MSG(false, "not connected to rank " + std::to_string(rank));
    return *peers_.front();
  }
  /// Takes the next message. Fair: the peer that was heard last is asked last.
  std::optional<Message> take() {
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      next_ = (next_ + 1) % peers_.size();
      if (auto message = peers_[next_]->take()) return message;
    }
    return std::nullopt;
  }
  int waiting() const {
    int all = 0;
    for (const auto& peer : peers_) all += peer->waiting();
    return all;
  }
  /// Returns true if a peer has ended, or has room again.
  bool news() const {
    return std::any_of(peers_.begin(), peers_.end(), [](const auto& peer) { return peer->news(); });
  }

  const BellPtr bell_;
  const bool spin_;
  int spun_in_vain_ = 0, waits_ = 0;  // of wait()
  std::vector<std::unique_ptr<ShmPeer>> peers_;
  std::size_t next_ = 0;
  std::deque<Message> early_;  // messages that close() took
  std::atomic<bool> woken_{false};
  Watch watch_;
};

std::unique_ptr<Wire> connect_all(const WireOptions& options, Meeting& meeting) {
  prepare_shm();
  std::map<int, Refusal> refused;
  auto wire = std::make_unique<ShmWire>(options, meeting, refused);
  if (refused.empty()) return wire;
  const Refusal& first = refused.begin()->second;
  throw environment_error(first.text()).as(FailureKind::kEnvironment, first.who);
}

}  // namespace

void prepare_shm() { share_host_memory(ShmSegment::mine()); }

std::unique_ptr<Wire> connect_shm(const WireOptions& options, Meeting& meeting, std::map<int, std::string>& others) {
  prepare_shm();
  std::map<int, Refusal> refused;
  auto wire = std::make_unique<ShmWire>(options, meeting, refused);
  for (const auto& [peer, refusal] : refused) others[peer] = refusal.text();
  return wire;
}

extern const Transport kShmTransport{"shm", "memory that the processes of one machine share: models are read in place",
                                     ShmSegment::unavailable, connect_all, prepare_shm};

}  // namespace hopbench
