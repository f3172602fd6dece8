// The oracles for methods whose messages meet in an order of their own: netmax, decoupled_diloco, halos. The log says
// which message was sent and taken when.
#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <utility>

#include "tests/replay/replay.h"

namespace hopbench {
namespace {

/// The contents of messages on their way from one rank to another, by kind, in order.
template <class Content>
class OnTheWay {
 public:
  void sent(const Event& event, Content content) {
    queues_[{event.rank, event.peer, event.kind}].push_back(std::move(content));
  }
  Content taken(const Event& event) {
    auto& queue = queues_[{event.peer, event.rank, event.kind}];
    HB_ASSERT_MSG(!queue.empty(), "a message was taken that was never sent");
    Content content = std::move(queue.front());
    queue.pop_front();
    return content;
  }

 private:
  std::map<std::tuple<int, int, std::uint16_t>, std::deque<Content>> queues_;
};

bool is_send(const Event& event, Kind kind) {
  return event.what == EventKind::kSend && event.kind == std::uint16_t(kind);
}
bool is_take(const Event& event, Kind kind) {
  return event.what == EventKind::kTake && event.kind == std::uint16_t(kind);
}

class Pulls {
 public:
  Pulls(const Cluster& cluster, const Numbers& start) : cluster_(cluster) {
    workers_.assign(std::size_t(cluster.nodes), {{start, Numbers(start.size(), 0.0)}, {}, {}, 0});
  }

  std::string run() {
    for (const Event& event : cluster_.events) {
      if (event.rank >= cluster_.nodes) continue;
      Worker& worker = workers_[std::size_t(event.rank)];
      if (event.what == EventKind::kGradient) worker.g = gradient_at(cluster_, worker.own.x, event, false);
      if (event.what == EventKind::kApplied) worker.own.step(cluster_, worker.g);
      if (is_send(event, kReply)) answers_.sent(event, worker.own.x);
      if (is_take(event, kReply)) worker.pulled = answers_.taken(event);
      if (event.what == EventKind::kReduced) {
        const double own = double(event.weights.at(0)), other = double(event.weights.at(1));
        for (std::size_t i = 0; i < worker.own.x.size(); ++i)
          worker.own.x[i] = own * worker.own.x[i] + other * worker.pulled[i];
      }
      if (event.what != EventKind::kReport) continue;
      if (const std::string wrong = misreported(cluster_, event.rank, worker.reports++, worker.own.x); !wrong.empty())
        return wrong;
    }
    return "";
  }

 private:
  struct Worker {
    Trained own;
    Numbers g, pulled;
    std::size_t reports;
  };
  const Cluster& cluster_;
  std::vector<Worker> workers_;
  OnTheWay<Numbers> answers_;
};

class Fragments {
 public:
  Fragments(const Cluster& cluster, const Knobs& knobs, const Numbers& start)
      : cluster_(cluster),
        knobs_(knobs),
        fragments_(std::size_t(number_in(knobs, "fragments", 2))),
        x0_(start),
        outer_(start.size(), 0.0),
        gathered_(fragments_) {
    workers_.assign(std::size_t(cluster.nodes), {{start, outer_}, start, std::vector<double>(fragments_, 0), 0});
  }

  std::string run() {
    for (const Event& event : cluster_.events) {
      if (event.rank >= cluster_.nodes) {
        at_syncer(event);
        continue;
      }
      Worker& worker = workers_[std::size_t(event.rank)];
      if (event.what == EventKind::kGradient) {
        worker.own.step(cluster_, gradient_at(cluster_, worker.own.x, event, false));
        for (double& steps : worker.steps) ++steps;
      }
      if (is_send(event, kPush)) {
        const auto p = std::size_t(event.count);
        pushes_.sent(event, {p, part_of(worker.own.x, p), worker.steps[p] * cluster_.workload.batch, worker.steps[p]});
        worker.steps[p] = 0;
      }
      if (is_take(event, kWeights)) take_in(worker, fresh_.taken(event));
      if (event.what != EventKind::kReport) continue;
      if (const std::string wrong = misreported(cluster_, event.rank, worker.reports++, worker.x0); !wrong.empty())
        return wrong;
    }
    return "";
  }

 private:
  struct Worker {
    Trained own;
    Numbers x0;
    std::vector<double> steps;  // since each fragment was sent
    std::size_t reports;
  };
  struct Part {
    std::size_t fragment = 0;
    Numbers x{};
    double samples = 0, steps = 0;
  };

  std::size_t begin_of(std::size_t p) const { return p * x0_.size() / fragments_; }
  Numbers part_of(const Numbers& x, std::size_t p) const {
    return {x.begin() + std::ptrdiff_t(begin_of(p)), x.begin() + std::ptrdiff_t(begin_of(p + 1))};
  }

  void take_in(Worker& worker, const Part& fresh) const {
    const double alpha = number_in(knobs_, "alpha", 0.5);
    for (std::size_t i = 0; i < fresh.x.size(); ++i) {
      const std::size_t at = begin_of(fresh.fragment) + i;
      worker.x0[at] = fresh.x[i];
      worker.own.x[at] = alpha * worker.own.x[at] + (1 - alpha) * fresh.x[i];
    }
  }

  void at_syncer(const Event& event) {
    if (is_take(event, kPush)) {
      const Part part = pushes_.taken(event);
      Part& gathered = gathered_[part.fragment][event.peer];  // since it was last in a merge
      gathered = {part.fragment, part.x, gathered.samples + part.samples, gathered.steps + part.steps};
    }
    if (!is_send(event, kWeights)) return;
    const auto p = std::size_t(event.count);
    if (!gathered_[p].empty()) merge(p);
    fresh_.sent(event, {p, part_of(x0_, p)});
  }

  void merge(std::size_t p) {
    const Numbers x0 = part_of(x0_, p);
    double all = 0, length = 0;
    for (const auto& [w, part] : gathered_[p]) all += part.samples * part.samples / part.steps;
    Numbers direction(x0.size(), 0.0);
    for (const auto& [w, part] : gathered_[p]) {
      const double weight = part.samples * part.samples / part.steps / all;
      Numbers d = x0;
      for (std::size_t i = 0; i < d.size(); ++i) d[i] -= part.x[i];
      const double own = std::sqrt(squared_length(d));
      length += weight * own;
      for (std::size_t i = 0; i < d.size() && own > 0; ++i) direction[i] += weight * d[i] / own;
    }
    const double norm = std::sqrt(squared_length(direction));
    const double beta = number_in(knobs_, "outer_momentum", 0.9), lr = number_in(knobs_, "outer_lr", 0.7);
    for (std::size_t i = 0; i < x0.size(); ++i) {
      const std::size_t at = begin_of(p) + i;
      const double g = norm > 0 ? length * direction[i] / norm : 0;
      outer_[at] = beta * outer_[at] + g;
      x0_[at] -= lr * (g + beta * outer_[at]);
    }
    gathered_[p].clear();
  }

  const Cluster& cluster_;
  const Knobs& knobs_;
  std::size_t fragments_;
  Numbers x0_, outer_;
  std::vector<std::map<int, Part>> gathered_;  // by fragment, then learner
  std::vector<Worker> workers_;
  OnTheWay<Part> pushes_, fresh_;
};

class Regions {
 public:
  Regions(const Cluster& cluster, const Knobs& knobs, const Numbers& start)
      : cluster_(cluster), knobs_(knobs), regions_(cluster.servers - 1) {
    const Numbers zero(start.size(), 0.0);
    workers_.assign(std::size_t(cluster.nodes), {{start, zero}, start, 0});
    servers_.assign(std::size_t(cluster.servers), {start, zero, start});
    for (int w = 0; w < cluster.nodes; ++w) ++members_[host_of(w)];
  }

  std::string run() {
    for (const Event& event : cluster_.events) {
      if (event.rank >= cluster_.nodes) {
        event.rank == cluster_.nodes + regions_ ? at_global(event) : at_region(event);
        continue;
      }
      Worker& worker = workers_[std::size_t(event.rank)];
      if (event.what == EventKind::kGradient)
        worker.own.step(cluster_, gradient_at(cluster_, worker.own.x, event, false));
      if (is_send(event, kPush)) on_the_way_.sent(event, moved(worker.own.x, worker.x0, members_[host_of(event.rank)]));
      if (is_take(event, kWeights)) worker.own.x = worker.x0 = on_the_way_.taken(event);
      if (event.what != EventKind::kReport) continue;
      if (const std::string wrong = misreported(cluster_, event.rank, worker.reports++, worker.x0); !wrong.empty())
        return wrong;
    }
    return "";
  }

 private:
  struct Worker {
    Trained own;
    Numbers x0;
    std::size_t reports;
  };
  struct Server {
    Numbers model, momentum, told;
  };

  int host_of(int worker) const {
    return cluster_.network.host_of.empty() ? worker : cluster_.network.host_of[std::size_t(worker)];
  }

  static Numbers moved(const Numbers& now, const Numbers& before, double over) {
    Numbers d = now;
    for (std::size_t i = 0; i < d.size(); ++i) d[i] = (now[i] - before[i]) / over;
    return d;
  }

  static void move(Server& server, const Numbers& by, double beta) {
    for (std::size_t i = 0; i < by.size(); ++i) {
      server.momentum[i] = beta * server.momentum[i] + by[i];
      server.model[i] += server.momentum[i];
    }
  }

  void at_region(const Event& event) {
    Server& region = servers_[std::size_t(event.rank - cluster_.nodes)];
    if (is_take(event, kReply)) {
      const Numbers all = on_the_way_.taken(event);
      const double alpha = number_in(knobs_, "alpha", 0.25);
      for (std::size_t i = 0; i < all.size(); ++i) {
        const double by = alpha * (all[i] - region.model[i]);
        region.model[i] += by;
        region.told[i] += by;
      }
    }
    if (is_take(event, kPush)) move(region, on_the_way_.taken(event), number_in(knobs_, "local_momentum", 0.5));
    if (is_send(event, kWeights)) on_the_way_.sent(event, region.model);
    if (is_send(event, kPart)) {
      on_the_way_.sent(event, moved(region.model, region.told, regions_));
      region.told = region.model;
    }
  }

  void at_global(const Event& event) {
    Server& all = servers_.back();
    if (is_take(event, kPart)) move(all, on_the_way_.taken(event), number_in(knobs_, "global_momentum", 0.5));
    if (is_send(event, kReply)) on_the_way_.sent(event, all.model);
  }

  const Cluster& cluster_;
  const Knobs& knobs_;
  int regions_;
  std::vector<Worker> workers_;
  std::vector<Server> servers_;  // of regions, then the global one
  std::map<int, double> members_;
  OnTheWay<Numbers> on_the_way_;
};

}  // namespace

std::string replayed_regions(const Cluster& cluster, const std::string& protocol, const Knobs& knobs) {
  HB_ASSERT_MSG(!cluster.events.empty(), "a run that kept no events cannot be replayed");
  const Numbers start = numbers_of(cluster.work->initial().share());
  if (protocol == "netmax") return Pulls(cluster, start).run();
  if (protocol == "decoupled_diloco") return Fragments(cluster, knobs, start).run();
  return Regions(cluster, knobs, start).run();
}

}  // namespace hopbench
