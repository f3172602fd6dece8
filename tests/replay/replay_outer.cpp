// The oracles for methods with outer steps. Those in lock step are worked out anew, worker beside worker and iteration
// by iteration, as their papers state them; only the gradients' samples come from the event log. Of those at a server,
// the log says in which order it was reached.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "tests/replay/replay.h"

namespace hopbench {
namespace {

std::string word_of(const Knobs& knobs, const std::string& name, const std::string& otherwise) {
  const auto found = knobs.find(name);
  return found == knobs.end() ? otherwise : std::get<std::string>(found->second);
}

/// A worker's own model and SGD.
struct Replica : Trained {
  void train(const Cluster& cluster, const Event& gradient) { step(cluster, gradient_at(cluster, x, gradient, false)); }
};

using Replicas = std::vector<Replica>;

Numbers mean_of(const Replicas& replicas, Numbers Replica::*what) {
  Numbers mean((replicas[0].*what).size(), 0.0);
  for (const Replica& each : replicas) {
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += (each.*what)[i] / double(replicas.size());
  }
  return mean;
}

/// An outer rule: changes the models after local step number `steps`, from 1. `shown` is what each worker reports.
using Outer = std::function<void(Iter steps, Replicas& replicas, std::vector<Numbers>& shown)>;

/// SGD with momentum on numbers [begin, end) of x0, with x0 - mean as the gradient.
struct OuterSgd {
  double lr, beta;
  bool nesterov;
  Numbers momentum;

  void step(Numbers& x0, const Numbers& mean, double gain, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const double g = gain * (x0[i] - mean[i]);
      momentum[i] = beta * momentum[i] + g;
      x0[i] -= lr * (nesterov ? g + beta * momentum[i] : momentum[i]);
    }
  }
};

Outer diloco(const Knobs& knobs, const Numbers& start) {
  const auto period = Iter(number_in(knobs, "period", 4));
  const std::string state = word_of(knobs, "inner_state", "keep");
  OuterSgd outer{number_in(knobs, "outer_lr", 0.7), number_in(knobs, "outer_momentum", 0.9),
                 word_of(knobs, "outer", "nesterov") == "nesterov", Numbers(start.size(), 0.0)};
  return [=, x0 = start](Iter steps, Replicas& replicas, std::vector<Numbers>& shown) mutable {
    if (steps % period == 0) {
      outer.step(x0, mean_of(replicas, &Replica::x), 1, 0, x0.size());
      const Numbers momentum = mean_of(replicas, &Replica::momentum);
      for (Replica& each : replicas) {
        each.x = x0;
        if (state == "reset") each.momentum.assign(x0.size(), 0.0);
        if (state == "average") each.momentum = momentum;
      }
    }
    shown.assign(replicas.size(), x0);
  };
}

Outer slowmo(const Knobs& knobs, const Numbers& start, double lr) {
  const auto period = Iter(number_in(knobs, "period", 4));
  const double alpha = number_in(knobs, "alpha", 1), beta = number_in(knobs, "beta", 0.5);
  return [=, x0 = start, u = Numbers(start.size(), 0.0)](Iter steps, Replicas& replicas,
                                                         std::vector<Numbers>& shown) mutable {
    if (steps % period == 0) {
      const Numbers mean = mean_of(replicas, &Replica::x);
      for (std::size_t i = 0; i < x0.size(); ++i) {
        u[i] = beta * u[i] + (x0[i] - mean[i]) / lr;
        x0[i] -= alpha * lr * u[i];
      }
      for (Replica& each : replicas) each.x = x0;
    }
    shown.assign(replicas.size(), x0);
  };
}

Outer overlap(const Knobs& knobs, const Numbers& start) {
  const auto period = Iter(number_in(knobs, "period", 4));
  const double alpha = number_in(knobs, "alpha", 0.6), beta = number_in(knobs, "beta", 0.7);
  return [=, z = start, v = Numbers(start.size(), 0.0), mean = Numbers()](Iter steps, Replicas& replicas,
                                                                          std::vector<Numbers>& shown) mutable {
    if (steps % period == 0) {
      for (std::size_t i = 0; i < z.size() && !mean.empty(); ++i) {
        v[i] = beta * v[i] + mean[i] - z[i];
        z[i] += v[i];
      }
      for (Replica& each : replicas) {
        for (std::size_t i = 0; i < z.size(); ++i) each.x[i] -= alpha * (each.x[i] - z[i]);
      }
      mean = mean_of(replicas, &Replica::x);
    }
    shown.clear();
    for (const Replica& each : replicas) shown.push_back(each.x);
  };
}

Outer streaming(const Knobs& knobs, const Numbers& start) {
  const auto period = Iter(number_in(knobs, "period", 4)), delay = Iter(number_in(knobs, "delay", 1));
  const auto fragments = Iter(number_in(knobs, "fragments", 2));
  const double alpha = number_in(knobs, "alpha", 0.5);
  OuterSgd outer{number_in(knobs, "outer_lr", 0.7), number_in(knobs, "outer_momentum", 0.9), true,
                 Numbers(start.size(), 0.0)};
  return [=, x0 = start, sent = std::map<Iter, std::pair<Iter, Numbers>>()](Iter steps, Replicas& replicas,
                                                                            std::vector<Numbers>& shown) mutable {
    for (Iter p = 0; p < fragments; ++p) {
      if (steps >= period && (steps - p * period / fragments) % period == 0)
        sent[steps + delay] = {p, mean_of(replicas, &Replica::x)};
    }
    if (const auto due = sent.find(steps); due != sent.end()) {
      const auto& [p, mean] = due->second;
      const auto begin = std::size_t(p) * x0.size() / std::size_t(fragments);
      const auto end = std::size_t(p + 1) * x0.size() / std::size_t(fragments);
      outer.step(x0, mean, 1, begin, end);
      for (Replica& each : replicas) {
        for (std::size_t i = begin; i < end; ++i) each.x[i] = alpha * each.x[i] + (1 - alpha) * x0[i];
      }
    }
    shown.assign(replicas.size(), x0);
  };
}

Outer co2(const Knobs& knobs, const Numbers& start, double lr) {
  const auto period = Iter(number_in(knobs, "period", 4));
  const double alpha = number_in(knobs, "alpha", 1), beta = number_in(knobs, "beta", 0.2),
               clip = number_in(knobs, "clip", 0);
  return [=, now = start, before = start, u = Numbers(start.size(), 0.0), mean = Numbers()](
             Iter steps, Replicas& replicas, std::vector<Numbers>& shown) mutable {
    if (steps % period == 0) {
      const Numbers ended = mean_of(replicas, &Replica::x);
      if (!mean.empty()) {
        double late = 0, moved = 0, length = 0;
        for (std::size_t i = 0; i < now.size(); ++i) {
          late += (before[i] - mean[i]) * (before[i] - mean[i]);
          moved += (now[i] - before[i]) * (now[i] - before[i]);
        }
        for (std::size_t i = 0; i < now.size(); ++i) {
          u[i] = beta * u[i] + (before[i] - mean[i]) / lr / (1 + std::sqrt(moved / late));
          length += u[i] * u[i];
        }
        const double cut = clip > 0 && length > clip * clip ? clip / std::sqrt(length) : 1;
        before = now;
        for (std::size_t i = 0; i < now.size(); ++i) {
          u[i] *= cut;
          now[i] -= alpha * lr * u[i];
        }
      }
      mean = ended;
      for (Replica& each : replicas) each.x = now;
    }
    shown.assign(replicas.size(), now);
  };
}

/// Takes the pairs from the log: the senders of a worker's average.
Outer noloco(const Knobs& knobs, const Numbers& start, const Cluster& cluster) {
  const auto period = Iter(number_in(knobs, "period", 4));
  const double alpha = number_in(knobs, "alpha", 0.5), beta = number_in(knobs, "beta", 0.7),
               gamma = number_in(knobs, "gamma", 0.9);
  std::map<std::pair<Iter, int>, int> partner;
  for (const Event& event : cluster.events) {
    if (event.what == EventKind::kReduced && event.senders.size() == 2)
      partner[{event.iter, event.rank}] = event.senders[0] == event.rank ? event.senders[1] : event.senders[0];
  }
  const auto n = std::size_t(cluster.nodes);
  return [=, phi = std::vector<Numbers>(n, start), delta = std::vector<Numbers>(n, Numbers(start.size(), 0.0))](
             Iter steps, Replicas& replicas, std::vector<Numbers>& shown) mutable {
    if (steps % period == 0) {
      const std::vector<Numbers> before = phi;
      for (std::size_t w = 0; w < n; ++w) {
        const auto found = partner.find({steps - 1, int(w)});
        const std::size_t other = found == partner.end() ? w : std::size_t(found->second);
        for (std::size_t i = 0; i < start.size(); ++i) {
          const double moved = (before[w][i] - replicas[w].x[i] + before[other][i] - replicas[other].x[i]) / 2;
          delta[w][i] = alpha * delta[w][i] - beta * moved - gamma * (before[w][i] - before[other][i]) / 2;
          phi[w][i] += delta[w][i];
        }
      }
      for (std::size_t w = 0; w < n; ++w) replicas[w].x = phi[w];
    }
    shown = phi;
  };
}

std::string in_lock_step(const Cluster& cluster, const Outer& outer, const Numbers& start) {
  std::map<std::pair<int, Iter>, const Event*> gradients;
  for (const Event& event : cluster.events) {
    if (event.what == EventKind::kGradient) gradients[{event.rank, event.iter}] = &event;
  }
  Replicas replicas(std::size_t(cluster.nodes), {start, Numbers(start.size(), 0.0)});
  std::vector<Numbers> shown;
  for (Iter k = 0; k < cluster.iterations; ++k) {
    for (int w = 0; w < cluster.nodes; ++w) replicas[std::size_t(w)].train(cluster, *gradients.at({w, k}));
    outer(k + 1, replicas, shown);
    for (int w = 0; w < cluster.nodes; ++w) {
      if (const std::string wrong = misreported(cluster, w, std::size_t(k), shown[std::size_t(w)]); !wrong.empty())
        return wrong;
    }
  }
  return "";
}

/// A single server, to which workers bring models (easgd) or outer gradients (async_diloco) that the log orders.
class AtOneServer {
 public:
  AtOneServer(const Cluster& cluster, const std::string& protocol, const Knobs& knobs, const Numbers& start)
      : cluster_(cluster), knobs_(knobs), elastic_(protocol == "easgd"), w_(start), m_(start.size(), 0.0), sum_(m_) {
    HB_ASSERT(cluster.servers == 1);
    workers_.assign(std::size_t(cluster.nodes), {{start, m_}, start, start, start, 0});
  }

  std::string run() {
    for (const Event& event : cluster_.events) {
      if (event.rank < cluster_.nodes) {
        of_worker(event, workers_[std::size_t(event.rank)]);
      } else if (event.what == EventKind::kApplied) {
        applied(workers_[std::size_t(event.peer)]);
      } else if (event.what == (elastic_ ? EventKind::kTake : EventKind::kSend) &&
                 event.kind == std::uint16_t(elastic_ ? kPush : kWeights)) {
        workers_[std::size_t(event.peer)].answer = w_;  // both go by the centre as it is when the model comes
      }
      if (!wrong_.empty()) return wrong_;
    }
    return "";
  }

 private:
  struct Worker {
    Replica own;
    Numbers x0, pushed, answer;
    std::size_t reports;
  };

  void of_worker(const Event& event, Worker& worker) {
    if (event.what == EventKind::kGradient) worker.own.train(cluster_, event);
    if (event.what == EventKind::kSend && event.kind == std::uint16_t(kPush)) {
      worker.pushed = worker.own.x;
      for (std::size_t i = 0; i < w_.size() && !elastic_; ++i) worker.pushed[i] = worker.x0[i] - worker.own.x[i];
    }
    if (event.what == EventKind::kTake && event.kind == std::uint16_t(kWeights)) answered(worker);
    if (event.what == EventKind::kReport) report(event, worker);
  }

  double pull() const { return number_in(knobs_, "beta", 0.9) / cluster_.nodes; }

  void answered(Worker& worker) {
    if (!elastic_) worker.x0 = worker.own.x = worker.answer;
    for (std::size_t i = 0; i < w_.size() && elastic_; ++i)
      worker.own.x[i] -= pull() * (worker.own.x[i] - worker.answer[i]);
  }

  void applied(const Worker& worker) {
    if (elastic_) {
      for (std::size_t i = 0; i < w_.size(); ++i) w_[i] += pull() * (worker.pushed[i] - w_[i]);
      return;
    }
    const double every = number_in(knobs_, "every", cluster_.nodes), lr = number_in(knobs_, "outer_lr", 0.7),
                 beta = number_in(knobs_, "outer_momentum", 0.9);
    const bool momentum = ++come_ % std::int64_t(every) == 0;
    for (std::size_t i = 0; i < w_.size(); ++i) {
      sum_[i] += worker.pushed[i];
      if (momentum) m_[i] = beta * m_[i] + sum_[i] / every;
      w_[i] -= lr * (worker.pushed[i] / every + (momentum ? beta * m_[i] : 0));
      if (momentum) sum_[i] = 0;
    }
  }

  void report(const Event& event, Worker& worker) {
    wrong_ = misreported(cluster_, event.rank, worker.reports++, elastic_ ? worker.own.x : worker.x0);
  }

  const Cluster& cluster_;
  const Knobs& knobs_;
  bool elastic_;
  Numbers w_, m_, sum_;
  std::int64_t come_ = 0;
  std::vector<Worker> workers_;
  std::string wrong_;
};

/// hivemind. A worker puts into a step what it has added up when it sends the first part of it.
class TargetBatches {
 public:
  TargetBatches(const Cluster& cluster, const Numbers& start) : cluster_(cluster) {
    workers_.assign(std::size_t(cluster.nodes), {start, Numbers(start.size(), 0.0), Numbers(start.size(), 0.0), 0, 0});
  }

  std::string run() {
    for (const Event& event : cluster_.events) {
      if (event.rank >= cluster_.nodes) continue;
      Worker& worker = workers_[std::size_t(event.rank)];
      if (event.what == EventKind::kGradient) add(worker, event);
      if (event.what == EventKind::kSend && event.kind == std::uint16_t(kReduceScatter) &&
          steps_[event.iter].emplace(event.rank, Part{worker.sum, worker.samples}).second) {
        worker.sum.assign(worker.x.size(), 0.0);
        worker.samples = 0;
      }
      if (event.what == EventKind::kReduced) step(worker, event, steps_[event.iter]);
      if (event.what == EventKind::kReport) {
        if (const std::string wrong = misreported(cluster_, event.rank, worker.reports++, worker.x); !wrong.empty())
          return wrong;
      }
    }
    return "";
  }

 private:
  struct Part {
    Numbers sum;
    double samples;
  };
  struct Worker {
    Numbers x, momentum, sum;
    double samples;
    std::size_t reports;
  };

  void add(Worker& worker, const Event& event) const {
    const Numbers g = gradient_at(cluster_, worker.x, event, false);
    for (std::size_t i = 0; i < g.size(); ++i) worker.sum[i] += double(event.count) * g[i];
    worker.samples += double(event.count);
  }

  /// With the mean of the workers' own means, by the weights that the log has.
  void step(Worker& worker, const Event& reduced, const std::map<int, Part>& parts) const {
    double samples = 0;
    for (const auto& [rank, part] : parts) samples += part.samples;
    const double factor = samples / (cluster_.nodes * cluster_.workload.batch);
    for (std::size_t i = 0; i < worker.x.size(); ++i) {
      double g = 0;
      for (std::size_t t = 0; t < reduced.senders.size(); ++t) {
        const Part& part = parts.at(reduced.senders[t]);
        if (part.samples > 0) g += double(reduced.weights[t]) * part.sum[i] / part.samples;
      }
      worker.momentum[i] = double(cluster_.optimizer.momentum) * worker.momentum[i] + g;
      worker.x[i] -= factor * double(cluster_.optimizer.lr) * worker.momentum[i];
    }
  }

  const Cluster& cluster_;
  std::vector<Worker> workers_;
  std::map<Iter, std::map<int, Part>> steps_;  // by number and worker
};

}  // namespace

std::string replayed_outer(const Cluster& cluster, const std::string& protocol, const Knobs& knobs) {
  HB_ASSERT_MSG(!cluster.events.empty(), "a run that kept no events cannot be replayed");
  const Numbers start = numbers_of(cluster.work->initial().share());
  if (protocol == "diloco") return in_lock_step(cluster, diloco(knobs, start), start);
  if (protocol == "slowmo") return in_lock_step(cluster, slowmo(knobs, start, double(cluster.optimizer.lr)), start);
  if (protocol == "hivemind") return TargetBatches(cluster, start).run();
  if (protocol == "co2") return in_lock_step(cluster, co2(knobs, start, double(cluster.optimizer.lr)), start);
  if (protocol == "overlap_local_sgd") return in_lock_step(cluster, overlap(knobs, start), start);
  if (protocol == "streaming_diloco") return in_lock_step(cluster, streaming(knobs, start), start);
  if (protocol == "noloco") return in_lock_step(cluster, noloco(knobs, start, cluster), start);
  return AtOneServer(cluster, protocol, knobs, start).run();
}

}  // namespace hopbench
