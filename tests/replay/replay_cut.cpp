// The oracles for methods that cut work short: dropcompute, abs_sgd, a_edit, dybw. The log says which micro-batches a
// worker has computed, and when a round was over.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "tests/replay/replay.h"

namespace hopbench {
namespace {

/// A sum of gradients, each times its samples.
struct Sum {
  Numbers g;
  double samples = 0;

  void add(const Numbers& more, double count) {
    if (g.empty()) g.assign(more.size(), 0.0);
    for (std::size_t i = 0; i < g.size(); ++i) g[i] += count * more[i];
    samples += count;
  }
  void add(const Sum& other) {
    if (g.empty()) g.assign(other.g.size(), 0.0);
    for (std::size_t i = 0; i < g.size(); ++i) g[i] += other.g[i];
    samples += other.samples;
  }
  Numbers mean() const {
    Numbers all = g;
    for (double& each : all) each /= samples;
    return all;
  }
};

/// The weights that rank 0's log has of the average of each round.
std::map<Iter, std::vector<float>> weights_of(const Cluster& cluster) {
  std::map<Iter, std::vector<float>> weights;
  for (const Event& event : cluster.events) {
    if (event.what == EventKind::kReduced && event.rank == 0) weights[event.iter] = event.weights;
  }
  return weights;
}

/// dropcompute and abs_sgd: the step of iteration k is with the mean over all samples of iteration k - delay, which is
/// the mean of the workers' own means by the logged weights.
std::string by_samples(const Cluster& cluster, const Numbers& start, Iter delay) {
  std::map<Iter, std::map<int, std::vector<const Event*>>> parts;
  for (const Event& event : cluster.events) {
    if (event.what == EventKind::kGradient) parts[event.iter][event.rank].push_back(&event);
  }
  Trained model{start, Numbers(start.size(), 0.0)};
  const double whole = cluster.nodes * cluster.workload.batch;
  std::map<Iter, std::map<int, Sum>> sums;
  std::map<Iter, std::vector<float>> weights = weights_of(cluster);
  const auto stepped = [&](Iter k) {
    Numbers mean(start.size(), 0.0);
    double samples = 0;
    for (const auto& [rank, sum] : sums.at(k)) {
      const Numbers own = sum.mean();
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += double(weights.at(k).at(std::size_t(rank))) * own[i];
      samples += sum.samples;
    }
    model.step(cluster, mean, samples / whole);
  };
  for (Iter k = 0; k < cluster.iterations; ++k) {
    for (const auto& [rank, events] : parts[k]) {
      for (const Event* event : events) {
        sums[k][rank].add(gradient_at(cluster, model.x, *event, false), double(event->count));
      }
    }
    if (k >= delay) stepped(k - delay);
    for (int w = 0; w < cluster.nodes; ++w) {
      if (const std::string wrong = misreported(cluster, w, std::size_t(k), model.x); !wrong.empty()) return wrong;
    }
  }
  if (delay == 0) return "";
  stepped(cluster.iterations - 1);
  return misreported(cluster, 0, std::size_t(cluster.iterations), model.x);
}

/// A-EDiT: a round is over when all workers have told their numbers.
class TimedRounds {
 public:
  TimedRounds(const Cluster& cluster, const Knobs& knobs, const Numbers& start)
      : cluster_(cluster), knobs_(knobs), x0_(start), outer_(start.size(), 0.0), logged_(weights_of(cluster)) {
    workers_.assign(std::size_t(cluster.nodes), {{start, Numbers(start.size(), 0.0)}, 0, 0, 0, 0, 0, 0});
  }

  std::string run() {
    for (const Event& event : cluster_.events) {
      if (event.rank >= cluster_.nodes) continue;
      Worker& worker = workers_[std::size_t(event.rank)];
      if (event.what == EventKind::kGradient) {
        worker.model.step(cluster_, gradient_at(cluster_, worker.model.x, event, false));
        ++worker.steps;
      }
      if (event.what == EventKind::kSend && event.kind == std::uint16_t(kClock) && event.iter == worker.rounds) {
        ++worker.rounds;
        if (++ended_ == cluster_.nodes) end_round();
        if (wrong_) return "another weight was logged than |D| gives";
      }
      if (event.what != EventKind::kReport) continue;
      if (const std::string wrong = misreported(cluster_, event.rank, worker.reports++, x0_); !wrong.empty())
        return wrong;
    }
    return "";
  }

 private:
  struct Worker {
    Trained model;
    Iter rounds;
    int steps;
    std::size_t reports;
    double mean, variance;
    int seen;
    double weight = 0;
  };

  bool is_anomaly(Worker& worker, double length) const {
    const double apart = length - worker.mean;
    const bool anomaly = worker.seen >= 5 && apart > number_in(knobs_, "limit", 3) * std::sqrt(worker.variance);
    worker.variance = worker.seen == 0 ? 0 : 0.98 * worker.variance + 0.98 * 0.02 * apart * apart;
    worker.mean = worker.seen == 0 ? length : worker.mean + 0.02 * apart;
    ++worker.seen;
    return anomaly;
  }

  void end_round() {
    ended_ = 0;
    double sum = 0;
    for (Worker& worker : workers_) {
      Numbers moved = x0_;
      for (std::size_t i = 0; i < moved.size(); ++i) moved[i] -= worker.model.x[i];
      const double length = std::sqrt(squared_length(moved));
      const bool counts = worker.steps > 0 && !is_anomaly(worker, length);
      worker.weight = counts ? std::exp(-length) : 0;
      sum += worker.weight;
      worker.steps = 0;
    }
    if (sum > 0) move(sum);
    ++round_;
    for (Worker& worker : workers_) worker.model.x = x0_;
  }

  void move(double sum) {
    Numbers d(x0_.size(), 0.0);
    for (std::size_t w = 0; w < workers_.size(); ++w) {
      const double weight = logged_.at(round_).at(w);
      wrong_ = wrong_ || std::abs(weight - workers_[w].weight / sum) > 1e-5;
      for (std::size_t i = 0; i < d.size(); ++i) d[i] += weight * (x0_[i] - workers_[w].model.x[i]);
    }
    const double length = std::sqrt(squared_length(d)), clip = number_in(knobs_, "clip", 10);
    const double beta = number_in(knobs_, "outer_momentum", 0.85), lr = number_in(knobs_, "outer_lr", 0.8);
    for (std::size_t i = 0; i < d.size(); ++i) {
      const double g = length > clip ? d[i] * clip / length : d[i];
      outer_[i] = beta * outer_[i] + g;
      x0_[i] -= lr * (g + beta * outer_[i]);
    }
  }

  const Cluster& cluster_;
  const Knobs& knobs_;
  Numbers x0_, outer_;
  int ended_ = 0;
  Iter round_ = 0;
  bool wrong_ = false;
  std::map<Iter, std::vector<float>> logged_;
  std::vector<Worker> workers_;
};

/// DyBW: a worker steps only if it is done when the round ends.
class BackupRounds {
 public:
  BackupRounds(const Cluster& cluster, const Numbers& start) : cluster_(cluster) {
    workers_.assign(std::size_t(cluster.nodes), {{start, Numbers(start.size(), 0.0)}, {}, 0});
  }

  std::string run() {
    for (const Event& event : cluster_.events) {
      if (event.rank >= cluster_.nodes) continue;
      Worker& worker = workers_[std::size_t(event.rank)];
      if (event.what == EventKind::kEnter) worker.sum = {};
      if (event.what == EventKind::kGradient)
        worker.sum.add(gradient_at(cluster_, worker.model.x, event, false), double(event.count));
      if (event.what == EventKind::kApplied) {
        worker.model.step(cluster_, worker.sum.mean());
        stepped_[{event.rank, event.iter}] = worker.model.x;
      }
      if (event.what == EventKind::kReduced) {
        Numbers sum(worker.model.x.size(), 0.0);
        for (std::size_t t = 0; t < event.senders.size(); ++t) {
          const Numbers& x = stepped_.at({event.senders[t], event.tags[t]});
          for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += double(event.weights[t]) * x[i];
        }
        worker.model.x = sum;
      }
      if (event.what != EventKind::kReport) continue;
      if (const std::string wrong = misreported(cluster_, event.rank, worker.reports++, worker.model.x); !wrong.empty())
        return wrong;
    }
    return "";
  }

 private:
  struct Worker {
    Trained model;
    Sum sum;
    std::size_t reports;
  };
  const Cluster& cluster_;
  std::vector<Worker> workers_;
  std::map<std::pair<int, Iter>, Numbers> stepped_;
};

}  // namespace

std::string replayed_cut(const Cluster& cluster, const std::string& protocol, const Knobs& knobs) {
  HB_ASSERT_MSG(!cluster.events.empty(), "a run that kept no events cannot be replayed");
  const Numbers start = numbers_of(cluster.work->initial().share());
  if (protocol == "dropcompute") return by_samples(cluster, start, 0);
  if (protocol == "abs_sgd") return by_samples(cluster, start, 1);
  if (protocol == "dybw") return BackupRounds(cluster, start).run();
  return TimedRounds(cluster, knobs, start).run();
}

}  // namespace hopbench
