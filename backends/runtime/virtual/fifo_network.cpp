#include "backends/runtime/virtual/fifo_network.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "backends/runtime/virtual/network_routes.h"

namespace hopbench {
namespace {

// Bytes of TCP over Ethernet with packets of 1500 bytes and time stamps.
constexpr double kPayload = 1448;                           // of a packet
constexpr double kSegment = 2 * kPayload;                   // that one acknowledgement covers
constexpr double kAcknowledgement = 66;                     // with its headers
constexpr double kFirstWindow = 10 * kPayload;              // RFC 6928
constexpr double kLargestWindow = 3 << 20;                  // half of Linux' largest receive buffer, tcp_rmem
constexpr double kOwnQueue = 128 << 10;                     // of a connection, in the sender's NIC
constexpr Duration kIdle = std::chrono::milliseconds(200);  // Linux' least time-out, after which a window halves

class FifoNetwork final : public Network {
 public:
  FifoNetwork(const NetworkSpec& spec, int ranks, Timeline& timeline, std::uint64_t seed, std::uint32_t repeat)
      : timeline_(timeline),
        burst_(spec.burst),
        routes_(spec, ranks, seed, repeat, [this](int resource, double rate) { set_rate(resource, rate); }),
        processors_(spec, ranks) {}

  void transfer(const Flow& flow, std::function<void()> arrived) override {
    catch_up();
    Connection& way = connection(flow.from, flow.to);
    const double bytes = static_cast<double>(std::max<std::int64_t>(flow.bytes, 1));
    way.ready = std::max(way.ready, processors_.handle(flow.from, bytes, timeline_.now()));
    timeline_.at(way.ready, [this, &way, bytes, then = std::move(arrived)]() mutable {
      way.unsent.push_back(bytes);
      way.arriving.push_back({.missing = bytes, .size = bytes, .arrived = std::move(then)});
      send(way);
    });
  }

 private:
  struct Arriving {
    double missing = 0, size = 0;  // bytes
    std::function<void()> arrived;
  };
  struct Connection {
    int from = 0, to = 0;
    Route route;
    Time ready{}, handled{};    // when its last message left a processor at either end
    std::deque<double> unsent;  // bytes of each message
    std::deque<Arriving> arriving;
    double window = kFirstWindow, flying = 0, in_own_queue = 0;
    Time last_sent{};
  };
  struct Waiting {
    double bytes = 0;
    std::function<void()> through;
  };
  struct Queue {
    double rate = 0;  // bytes/s
    Time free_at{};   // when the last one that it served was through, for a bucket without burst
    std::deque<Waiting> waiting;
    bool serving = false;
  };

  void set_rate(int resource, double rate) {
    const auto at = static_cast<std::size_t>(resource);
    if (queues_.size() <= at) queues_.resize(at + 1);
    queues_[at].rate = rate;
  }

  /// Applies the changes of links since the last call.
  void catch_up() {
    if (timeline_.now() < routes_.next_change()) return;
    routes_.move_to(timeline_.now());
    for (auto& [pair, way] : connections_) way.route = routes_.between(way.from, way.to);
  }

  Connection& connection(int from, int to) {
    const auto [at, fresh] = connections_.try_emplace({from, to});
    Connection& way = at->second;
    if (fresh) {
      way.from = from;
      way.to = to;
      way.route = routes_.between(from, to);
    }
    return way;
  }

  /// Sends as much as the window and the sender's own queue allow.
  void send(Connection& way) {
    shrink(way);
    while (!way.unsent.empty()) {
      const double size = std::min(kSegment, way.unsent.front());
      if (way.flying > 0 && way.flying + size > way.window) return;
      if (way.in_own_queue > 0 && way.in_own_queue + size > kOwnQueue) return;
      way.unsent.front() -= size;
      if (way.unsent.front() <= 0) way.unsent.pop_front();
      way.flying += size;
      way.in_own_queue += size;
      way.last_sent = timeline_.now();
      travel(way, size, 0);
    }
  }

  void shrink(Connection& way) const {
    if (way.flying > 0) return;
    for (Duration idle = timeline_.now() - way.last_sent; idle > kIdle && way.window > kFirstWindow; idle -= kIdle)
      way.window = std::max(way.window / 2, kFirstWindow);
  }

  /// Moves a segment on from its hop-th queue.
  void travel(Connection& way, double size, std::size_t hop) {
    if (hop == way.route.hops) {
      if (hop == 0) way.in_own_queue -= size;
      timeline_.at(after(timeline_.now(), way.route.latency), [this, &way, size] { land(way, size); });
      return;
    }
    join(way.route.resources[hop], size, [this, &way, size, hop] {
      if (hop == 0) way.in_own_queue -= size;
      travel(way, size, hop + 1);
      if (hop == 0) send(way);
    });
  }

  void join(int resource, double bytes, std::function<void()> through) {
    queues_[static_cast<std::size_t>(resource)].waiting.push_back({bytes, std::move(through)});
    serve(resource);
  }

  /// Serves the first in the queue, unless one is being served. It gets the rate that the link has now.
  void serve(int resource) {
    catch_up();
    Queue& queue = queues_[static_cast<std::size_t>(resource)];
    if (queue.serving || queue.waiting.empty()) return;
    queue.serving = true;
    const Time with_burst = timeline_.now() - time_for(burst_, queue.rate);
    queue.free_at = after(std::max(queue.free_at, with_burst), time_for(queue.waiting.front().bytes, queue.rate));
    timeline_.at(std::max(queue.free_at, timeline_.now()), [this, resource] { served(resource); });
  }

  void served(int resource) {
    Queue& queue = queues_[static_cast<std::size_t>(resource)];
    const std::function<void()> through = std::move(queue.waiting.front().through);
    queue.waiting.pop_front();
    queue.serving = false;
    serve(resource);
    through();
  }

  void land(Connection& way, double size) {
    acknowledge(way, connection(way.to, way.from), size, 0);
    while (size > 0) {
      Arriving& message = way.arriving.front();
      const double part = std::min(size, message.missing);
      message.missing -= part;
      size -= part;
      if (message.missing > 0) return;
      hand_over(way, message.size, std::move(message.arrived));
      way.arriving.pop_front();
    }
  }

  void hand_over(Connection& way, double bytes, std::function<void()> arrived) {
    way.handled = std::max(way.handled, processors_.handle(way.to, bytes, timeline_.now()));
    timeline_.at(way.handled, std::move(arrived));
  }

  /// Brings the acknowledgement of a segment of `way` back, from the hop-th queue of the way back on.
  void acknowledge(Connection& way, Connection& back, double size, std::size_t hop) {
    if (hop < back.route.hops) {
      join(back.route.resources[hop], kAcknowledgement,
           [this, &way, &back, size, hop] { acknowledge(way, back, size, hop + 1); });
      return;
    }
    timeline_.at(after(timeline_.now(), back.route.latency), [this, &way, size] {
      way.flying -= size;
      way.window = std::min(way.window + size, kLargestWindow);
      send(way);
    });
  }

  Timeline& timeline_;
  const double burst_;
  std::vector<Queue> queues_;  // by resource
  Routes routes_;
  Processors processors_;
  std::map<std::pair<int, int>, Connection> connections_;
};

}  // namespace

std::unique_ptr<Network> make_fifo_network(const NetworkSpec& spec, int ranks, Timeline& timeline, std::uint64_t seed,
                                           std::uint32_t repeat) {
  return std::make_unique<FifoNetwork>(spec, ranks, timeline, seed, repeat);
}

}  // namespace hopbench
