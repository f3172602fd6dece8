#include "backends/runtime/links/link_emulator.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backends/base/error.h"

namespace hopbench {
namespace {

constexpr Duration kLongest = std::chrono::hours(1);  // without anything to do

NetworkSpec without_overheads(NetworkSpec spec) {
  spec.overhead = Duration{};
  spec.overhead_rate = 0;
  spec.processors = 0;
  spec.rendezvous_bytes = 0;
  return spec;
}

}  // namespace

std::int64_t link_clock_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

class LinkEmulator::Impl {
  /// Events in their order. `now` is the time of the event being handled; the machine's clock is somewhat later.
  class EventTime final : public Timeline {
   public:
    Time now() const override { return now_; }
    void at(Time when, std::function<void()> action) override {
      actions_.emplace(std::pair(std::max(when, now_), next_++), std::move(action));
    }

    Time next() const { return actions_.empty() ? kNever : actions_.begin()->first.first; }
    /// Does all that is due until then, and all that follows from it.
    void run_until(Time when) {
      while (next() <= when) {
        const auto first = actions_.extract(actions_.begin());
        now_ = first.key().first;
        first.mapped()();
      }
      now_ = std::max(now_, when);
    }

   private:
    Time now_{};
    std::uint64_t next_ = 0;
    std::map<std::pair<Time, std::uint64_t>, std::function<void()>> actions_;
  };

  /// The launcher's side of a rank's socket.
  struct End {
    int ours = -1, theirs = -1;
    bool hung_up = false;
    std::deque<LinkRelease> untold;  // releases that its socket had no room for

    void tell() {
      for (; !untold.empty(); untold.pop_front()) {
        const LinkRelease& release = untold.front();
        if (send(ours, &release, sizeof release, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) continue;
        if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) return;  // it must read first
        return untold.clear();                                                    // it has ended
      }
    }
  };

 public:
  Impl(const NetworkSpec& spec, int ranks, std::uint64_t seed, std::uint32_t repeat)
      : network_(make_network(without_overheads(spec), ranks, timeline_, seed, repeat)),
        ends_(static_cast<std::size_t>(ranks)) {
    stop_ = eventfd(0, EFD_CLOEXEC);
    bool opened = stop_ >= 0;
    for (End& end : ends_) {
      int pair[2] = {-1, -1};
      opened = opened && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0;
      end.ours = pair[0];
      end.theirs = pair[1];
    }
    if (opened) return;
    const std::string why = std::strerror(errno);
    close_all();
    throw environment_error("cannot open a channel for emulated links: " + why +
                            ": raise the limit on open files (ulimit -n)");
  }

  ~Impl() {
    if (thread_.joinable()) {
      const std::uint64_t one = 1;
      (void)!write(stop_, &one, sizeof one);
      thread_.join();
    }
    close_all();
  }

  int take_end(int rank) { return std::exchange(ends_[static_cast<std::size_t>(rank)].theirs, -1); }

  void start(std::int64_t start_ns) {
    HB_ASSERT(!thread_.joinable());
    start_ns_ = start_ns;
    thread_ = std::thread([this] { run(); });
  }

 private:
  struct Offer {
    int from = 0;
    LinkOffer offer;
  };

  Time clock() const { return Time(Duration(link_clock_ns() - start_ns_)); }

  void run() {
    prctl(PR_SET_TIMERSLACK, 1UL);
    std::vector<pollfd> wanted(ends_.size() + 1);
    while (true) {
      wanted[0] = {stop_, POLLIN, 0};
      for (std::size_t r = 0; r < ends_.size(); ++r) {
        const short events = ends_[r].untold.empty() ? POLLIN : POLLIN | POLLOUT;
        wanted[r + 1] = {ends_[r].hung_up ? -1 : ends_[r].ours, events, 0};
      }
      sleep_until(timeline_.next(), wanted);
      if (wanted[0].revents != 0) return;
      for (std::size_t r = 0; r < ends_.size(); ++r) {
        if (wanted[r + 1].revents != 0) hear(static_cast<int>(r));
      }
      play();
    }
  }

  void sleep_until(Time when, std::vector<pollfd>& wanted) const {
    const std::int64_t left = std::clamp<std::int64_t>((when - clock()).count(), 0, kLongest.count());
    const timespec timeout{left / 1'000'000'000, left % 1'000'000'000};
    ppoll(wanted.data(), wanted.size(), &timeout, nullptr);
  }

  void hear(int rank) {
    End& end = ends_[static_cast<std::size_t>(rank)];
    end.tell();
    while (true) {
      LinkOffer offer;
      const ssize_t n = recv(end.ours, &offer, sizeof offer, MSG_DONTWAIT);
      if (n == static_cast<ssize_t>(sizeof offer)) {
        const bool known = offer.to >= 0 && static_cast<std::size_t>(offer.to) < ends_.size();
        if (known) offers_.push_back({rank, offer});
        continue;
      }
      if (n < 0 && (errno == EINTR || errno == ECONNRESET)) continue;  // reset: what it had sent is still to be read
      end.hung_up = n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
      return;
    }
  }

  void play() {
    std::stable_sort(offers_.begin(), offers_.end(),
                     [](const Offer& a, const Offer& b) { return a.offer.when_ns < b.offer.when_ns; });
    for (const Offer& offer : offers_) {
      timeline_.run_until(std::min(Time(Duration(offer.offer.when_ns - start_ns_)), clock()));
      const int from = offer.from, to = offer.offer.to;
      if (offer.offer.bytes < 0 || from == to) {
        release(from, to);
      } else {
        network_->transfer({.from = from, .to = to, .bytes = offer.offer.bytes},
                           [this, from, to] { release(from, to); });
      }
    }
    offers_.clear();
    while (timeline_.next() <= clock()) timeline_.run_until(timeline_.next());
  }

  void release(int from, int to) {
    End& end = ends_[static_cast<std::size_t>(to)];
    if (end.hung_up) return;
    end.untold.push_back({from, start_ns_ + timeline_.now().time_since_epoch().count()});
    end.tell();
  }

  void close_all() {
    if (stop_ >= 0) close(stop_);
    for (const End& end : ends_) {
      if (end.ours >= 0) close(end.ours);
      if (end.theirs >= 0) close(end.theirs);
    }
  }

  EventTime timeline_;
  std::unique_ptr<Network> network_;
  std::vector<End> ends_;  // by rank
  std::vector<Offer> offers_;
  int stop_ = -1;
  std::int64_t start_ns_ = 0;
  std::thread thread_;
};

LinkEmulator::LinkEmulator(const NetworkSpec& spec, int ranks, std::uint64_t seed, std::uint32_t repeat)
    : impl_(std::make_unique<Impl>(spec, ranks, seed, repeat)) {}
LinkEmulator::~LinkEmulator() = default;
int LinkEmulator::take_end(int rank) { return impl_->take_end(rank); }
void LinkEmulator::start(std::int64_t start_ns) { impl_->start(start_ns); }

}  // namespace hopbench
