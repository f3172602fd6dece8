// The oracles for gossip under skewed data and over graphs that change. All workers are worked out anew, iteration by
// iteration, as the papers state the rules; only the gradients' samples come from the event log, and what a rule draws
// at random or decides by time.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "protocols/node/eigenvalues.h"
#include "tests/replay/replay.h"

namespace hopbench {
namespace {

using Learners = std::vector<Trained>;
using Models = std::vector<Numbers>;
using Matrix = std::vector<std::map<int, double>>;  // rows: the weight of each model in a worker's average

Numbers sum_of(std::initializer_list<std::pair<double, const Numbers*>> terms) {
  Numbers sum(terms.begin()->second->size(), 0.0);
  for (const auto& [weight, term] : terms) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += weight * (*term)[i];
  }
  return sum;
}

/// Metropolis weights of the cluster's graph, or (I + W) / 2 of them.
Matrix metropolis(const Cluster& cluster, bool lazy = false) {
  const Topology graph = cluster.graph();
  Matrix rows(std::size_t(cluster.nodes));
  for (int i = 0; i < cluster.nodes; ++i) {
    double own = 1;
    for (const int j : graph.in(i)) {
      const double weight = 1.0 / double(1 + std::max(graph.in(i).size(), graph.in(j).size())) / (lazy ? 2 : 1);
      rows[std::size_t(i)][j] = weight;
      own -= weight;
    }
    rows[std::size_t(i)][i] = own;
  }
  return rows;
}

Numbers times(const std::map<int, double>& row, const Models& models) {
  Numbers sum(models[0].size(), 0.0);
  for (const auto& [j, weight] : row) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += weight * models[std::size_t(j)][i];
  }
  return sum;
}

Models times(const Matrix& rows, const Models& models) {
  Models all;
  for (const auto& row : rows) all.push_back(times(row, models));
  return all;
}

double smallest_eigenvalue(const Matrix& rows) {
  std::vector<Numbers> full(rows.size(), Numbers(rows.size(), 0.0));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const auto& [j, weight] : rows[i]) full[i][std::size_t(j)] = weight;
  }
  return eigenvalues(full).front();
}

/// A rule: what all workers do with their gradients of iteration k.
using Rule = std::function<void(Iter k, Learners& workers, const Models& gradients)>;

/// Steps every worker's own model, and then has them averaged.
Rule stepped_and(const Cluster& cluster, const std::function<Models(Iter k, const Models& stepped)>& average) {
  return [&cluster, average](Iter k, Learners& workers, const Models& gradients) {
    Models stepped;
    for (std::size_t w = 0; w < workers.size(); ++w) {
      workers[w].step(cluster, gradients[w]);
      stepped.push_back(workers[w].x);
    }
    const Models mixed = average(k, stepped);
    for (std::size_t w = 0; w < workers.size(); ++w) workers[w].x = mixed[w];
  };
}

Models means_of_all(const Models& models) {
  Numbers mean(models[0].size(), 0.0);
  for (const Numbers& x : models) {
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += x[i] / double(models.size());
  }
  return Models(models.size(), mean);
}

Rule gossip_pga(const Cluster& cluster, const Knobs& knobs) {
  const auto period = Iter(number_in(knobs, "period", 6));
  return stepped_and(cluster, [rows = metropolis(cluster), period](Iter k, const Models& stepped) {
    return (k + 1) % period == 0 ? means_of_all(stepped) : times(rows, stepped);
  });
}

Rule one_peer(const Cluster& cluster) {
  int turn = 0;
  while ((1 << turn) < cluster.nodes) ++turn;
  return stepped_and(cluster, [turn, n = cluster.nodes](Iter k, const Models& stepped) {
    Models mixed;
    for (int w = 0; w < n; ++w) {
      const int from = (w + n - (1 << (k % turn))) % n;
      mixed.push_back(sum_of({{0.5, &stepped[std::size_t(w)]}, {0.5, &stepped[std::size_t(from)]}}));
    }
    return mixed;
  });
}

/// On a grid: worker r has the digits of r to the base `side`.
Rule moshpit(const Cluster& cluster, const Knobs& knobs) {
  const auto dimensions = int(number_in(knobs, "dimensions", 2));
  const auto period = Iter(number_in(knobs, "period", 1));
  const int n = cluster.nodes;
  int side = 1;
  while (std::pow(side, dimensions) < n) ++side;
  return stepped_and(cluster, [=](Iter k, const Models& stepped) {
    if ((k + 1) % period != 0) return stepped;
    const auto stride = int(std::lround(std::pow(side, double(k / period % dimensions))));
    const auto others_of = [&](int r) { return r - r / stride % side * stride; };
    Models mixed;
    for (int w = 0; w < n; ++w) {
      Models group;
      for (int r = 0; r < n; ++r) {
        if (others_of(r) == others_of(w)) group.push_back(stepped[std::size_t(r)]);
      }
      mixed.push_back(means_of_all(group)[0]);
    }
    return mixed;
  });
}

/// DASO: gradients averaged within hosts, and models between one worker of each host now and then.
Rule daso(const Cluster& cluster, const Knobs& knobs) {
  const auto skip = Iter(number_in(knobs, "skip", 4)), wait = Iter(number_in(knobs, "wait", 1)),
             warm_up = Iter(number_in(knobs, "warm_up", 0));
  std::map<int, std::vector<std::size_t>> hosts;
  for (int w = 0; w < cluster.nodes; ++w)
    hosts[cluster.network.host_of.empty() ? w : cluster.network.host_of[std::size_t(w)]].push_back(std::size_t(w));
  return [=, &cluster, round = std::size_t(0), due = Iter(-1), mean = Numbers()](Iter k, Learners& workers,
                                                                                 const Models& gradients) mutable {
    for (const auto& [host, members] : hosts) {
      Models own;
      for (const std::size_t w : members) own.push_back(gradients[w]);
      const Numbers g = means_of_all(own)[0];
      for (const std::size_t w : members) workers[w].step(cluster, g);
    }
    const auto begin = [&] {
      Models envoys;
      for (const auto& [host, members] : hosts) envoys.push_back(workers[members[round % members.size()]].x);
      mean = means_of_all(envoys)[0];
    };
    const auto take_in = [&](double waited) {
      const double hosts_there = double(hosts.size());
      for (Trained& worker : workers) {
        for (std::size_t i = 0; i < mean.size(); ++i)
          worker.x[i] = (2 * waited * worker.x[i] + hosts_there * mean[i]) / (2 * waited + hosts_there);
      }
      ++round;
      due = -1;
    };
    if (k < warm_up) {
      begin();
      return take_in(0);
    }
    if (due == k) take_in(double(wait));
    if ((k - warm_up + 1) % skip != 0) return;
    begin();
    due = k + wait;
    if (wait == 0) take_in(0);
  };
}

/// By the senders and weights that the log has; what they may be is a checker's concern.
Rule as_logged(const Cluster& cluster) {
  std::map<std::pair<Iter, int>, std::map<int, double>> rows;
  for (const Event& event : cluster.events) {
    if (event.what != EventKind::kReduced) continue;
    for (std::size_t t = 0; t < event.senders.size(); ++t)
      rows[{event.iter, event.rank}][event.senders[t]] = double(event.weights[t]);
  }
  return stepped_and(cluster, [rows](Iter k, const Models& stepped) {
    Models mixed = stepped;
    for (int w = 0; w < int(stepped.size()); ++w) {
      const auto row = rows.find({k, w});
      if (row != rows.end()) mixed[std::size_t(w)] = times(row->second, stepped);
    }
    return mixed;
  });
}

/// x_{k+1} = A (psi_k + x_k - psi_{k-1}).
Rule bias_corrected(const Cluster& cluster, const Matrix& a, const Numbers& start) {
  return [&cluster, a, before = Models(std::size_t(cluster.nodes), start)](Iter, Learners& workers,
                                                                           const Models& gradients) mutable {
    Models corrected;
    for (std::size_t w = 0; w < workers.size(); ++w) {
      const Numbers x = workers[w].x;
      workers[w].step(cluster, gradients[w]);  // from x to psi
      corrected.push_back(sum_of({{1, &workers[w].x}, {1, &x}, {-1, &before[w]}}));
      before[w] = workers[w].x;
    }
    const Models mixed = times(a, corrected);
    for (std::size_t w = 0; w < workers.size(); ++w) workers[w].x = mixed[w];
  };
}

Rule d2(const Cluster& cluster, const Numbers& start) {
  const bool defined = smallest_eigenvalue(metropolis(cluster)) > -1.0 / 3 + 0.02;
  return bias_corrected(cluster, metropolis(cluster, !defined), start);
}

Rule gradient_tracking(const Cluster& cluster, const Numbers& start) {
  const Models zero(std::size_t(cluster.nodes), Numbers(start.size(), 0.0));
  return [&cluster, rows = metropolis(cluster), y = zero, before = zero](Iter, Learners& workers,
                                                                         const Models& gradients) mutable {
    Models stepped;
    for (std::size_t w = 0; w < workers.size(); ++w) {
      y[w] = sum_of({{1, &y[w]}, {1, &gradients[w]}, {-1, &before[w]}});
      before[w] = gradients[w];
      workers[w].step(cluster, y[w]);
      stepped.push_back(workers[w].x);
    }
    const Models mixed = times(rows, stepped);
    y = times(rows, y);
    for (std::size_t w = 0; w < workers.size(); ++w) workers[w].x = mixed[w];
  };
}

Rule quasi_global(const Cluster& cluster, const Knobs& knobs) {
  const double mu = number_in(knobs, "mu", 0.9), beta = double(cluster.optimizer.momentum),
               lr = double(cluster.optimizer.lr);
  return [=, rows = metropolis(cluster)](Iter, Learners& workers, const Models& gradients) {
    Models stepped;
    for (std::size_t w = 0; w < workers.size(); ++w)
      stepped.push_back(sum_of({{1, &workers[w].x}, {-lr * beta, &workers[w].momentum}, {-lr, &gradients[w]}}));
    const Models mixed = times(rows, stepped);
    for (std::size_t w = 0; w < workers.size(); ++w) {
      workers[w].momentum =
          sum_of({{mu, &workers[w].momentum}, {(1 - mu) / lr, &workers[w].x}, {-(1 - mu) / lr, &mixed[w]}});
      workers[w].x = mixed[w];
    }
  };
}

/// Repeats the exchange until the models are close enough together.
Rule consensus_control(const Cluster& cluster, const Knobs& knobs) {
  const double ratio = number_in(knobs, "ratio", 0.5), lr = double(cluster.optimizer.lr);
  const auto most = int(number_in(knobs, "most", 8));
  return
      [=, &cluster, rows = metropolis(cluster), phi = -1.0](Iter, Learners& workers, const Models& gradients) mutable {
        Models models;
        double length = 0;
        const double n = double(workers.size());
        for (std::size_t w = 0; w < workers.size(); ++w) {
          length += std::sqrt(squared_length(gradients[w])) / n;
          workers[w].step(cluster, gradients[w]);
          models.push_back(workers[w].x);
        }
        phi = phi < 0 ? length : 0.9 * phi + 0.1 * length;
        for (int done = 0; done < most; ++done) {
          double apart = 0;
          for (std::size_t i = 0; i < workers.size(); ++i) {
            for (const auto& [j, weight] : rows[i])
              apart += weight * squared_length(sum_of({{1, &models[i]}, {-1, &models[std::size_t(j)]}})) / n;
          }
          models = times(rows, models);
          if (std::sqrt(apart) <= ratio * lr * phi) break;
        }
        for (std::size_t w = 0; w < workers.size(); ++w) workers[w].x = models[w];
      };
}

std::string in_lock_step(const Cluster& cluster, const Rule& rule, const Numbers& start) {
  std::map<std::pair<int, Iter>, const Event*> events;
  for (const Event& event : cluster.events) {
    if (event.what == EventKind::kGradient) events[{event.rank, event.iter}] = &event;
  }
  Learners workers(std::size_t(cluster.nodes), {start, Numbers(start.size(), 0.0)});
  for (Iter k = 0; k < cluster.iterations; ++k) {
    Models gradients;
    for (int w = 0; w < cluster.nodes; ++w)
      gradients.push_back(gradient_at(cluster, workers[std::size_t(w)].x, *events.at({w, k}), false));
    rule(k, workers, gradients);
    for (int w = 0; w < cluster.nodes; ++w) {
      if (const std::string wrong = misreported(cluster, w, std::size_t(k), workers[std::size_t(w)].x); !wrong.empty())
        return wrong;
    }
  }
  return "";
}

/// DSGD-AAU: the log says who averages with whom, and in which order.
class ByTime {
 public:
  ByTime(const Cluster& cluster, const Numbers& start) : cluster_(cluster) {
    workers_.assign(std::size_t(cluster.nodes), {start, Numbers(start.size(), 0.0)});
    reports_.assign(std::size_t(cluster.nodes), 0);
  }

  std::string run() {
    for (const Event& event : cluster_.events) {
      if (event.rank >= cluster_.nodes) continue;
      Trained& worker = workers_[std::size_t(event.rank)];
      if (event.what == EventKind::kGradient) {
        worker.step(cluster_, gradient_at(cluster_, worker.x, event, false));
        stepped_[{event.rank, event.iter}] = worker.x;
      }
      if (event.what == EventKind::kReduced) {
        Numbers sum(worker.x.size(), 0.0);
        for (std::size_t t = 0; t < event.senders.size(); ++t) {
          const Numbers& x = stepped_.at({event.senders[t], event.tags[t]});
          for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += double(event.weights[t]) * x[i];
        }
        worker.x = sum;
      }
      if (event.what != EventKind::kReport) continue;
      const std::size_t report = reports_[std::size_t(event.rank)]++;
      if (const std::string wrong = misreported(cluster_, event.rank, report, worker.x); !wrong.empty()) return wrong;
    }
    return "";
  }

 private:
  const Cluster& cluster_;
  Learners workers_;
  std::vector<std::size_t> reports_;
  std::map<std::pair<int, Iter>, Numbers> stepped_;
};

/// R-FAST: the log says which messages a worker has taken when it steps.
class Tracking {
 public:
  Tracking(const Cluster& cluster, const Numbers& start) : cluster_(cluster), graph_(cluster.graph()) {
    const Numbers zero(start.size(), 0.0);
    for (int w = 0; w < cluster.nodes; ++w) factor_ += double(graph_.out(w).size() + 1) / cluster.nodes;
    for (int w = 0; w < cluster.nodes; ++w) {
      workers_.push_back({{start, zero}, zero, zero, zero, zero, {}, {}, {}, 0});
      for (const int j : graph_.in(w)) {
        workers_.back().v[j] = start;
        workers_.back().given[j] = workers_.back().used[j] = zero;
      }
    }
  }

  std::string run() {
    for (const Event& event : cluster_.events) {
      Worker& worker = workers_[std::size_t(event.rank)];
      if (event.what == EventKind::kGradient) worker.g = gradient_at(cluster_, worker.own.x, event, false);
      if (event.what == EventKind::kTake && event.kind == std::uint16_t(kParams))
        worker.v[event.peer] = sent_v_.at({event.peer, event.iter});
      if (event.what == EventKind::kTake && event.kind == std::uint16_t(kPart))
        worker.given[event.peer] = sent_rho_.at({event.peer, event.iter});
      if (event.what == EventKind::kApplied) track(worker, event);
      if (event.what != EventKind::kReport) continue;
      if (const std::string wrong = misreported(cluster_, event.rank, worker.reports++, worker.own.x); !wrong.empty())
        return wrong;
    }
    return "";
  }

 private:
  struct Worker {
    Trained own;
    Numbers z, rho, g, before;
    std::map<int, Numbers> v, given, used;
    std::size_t reports;
  };

  void track(Worker& worker, const Event& event) {
    Numbers all = sum_of({{1, &worker.z}, {1, &worker.g}, {-1, &worker.before}});
    for (const auto& [j, given] : worker.given) all = sum_of({{1, &all}, {1, &given}, {-1, &worker.used[j]}});
    worker.used = worker.given;
    worker.before = worker.g;
    const double share = 1.0 / double(graph_.out(event.rank).size() + 1);
    worker.z = sum_of({{share, &all}});
    worker.rho = sum_of({{1, &worker.rho}, {share, &all}});
    worker.own.step(cluster_, worker.z, factor_);
    sent_v_[{event.rank, event.iter}] = worker.own.x;
    sent_rho_[{event.rank, event.iter}] = worker.rho;
    for (const auto& [j, v] : worker.v) worker.own.x = sum_of({{1, &worker.own.x}, {1, &v}});
    worker.own.x = sum_of({{1.0 / double(worker.v.size() + 1), &worker.own.x}});
  }

  const Cluster& cluster_;
  Topology graph_;
  double factor_ = 0;  // of the learning rate: the mean of out-degree + 1
  std::vector<Worker> workers_;
  std::map<std::pair<int, Iter>, Numbers> sent_v_, sent_rho_;
};

}  // namespace

std::string replayed_skewed(const Cluster& cluster, const std::string& protocol, const Knobs& knobs) {
  HB_ASSERT_MSG(!cluster.events.empty(), "a run that kept no events cannot be replayed");
  const Numbers start = numbers_of(cluster.work->initial().share());
  if (protocol == "dsgd_aau") return ByTime(cluster, start).run();
  if (protocol == "r_fast") return Tracking(cluster, start).run();
  const std::map<std::string, std::function<Rule()>> rules = {
      {"gossip_pga", [&] { return gossip_pga(cluster, knobs); }},
      {"one_peer", [&] { return one_peer(cluster); }},
      {"moshpit", [&] { return moshpit(cluster, knobs); }},
      {"matcha", [&] { return as_logged(cluster); }},
      {"daso", [&] { return daso(cluster, knobs); }},
      {"exact_diffusion", [&] { return bias_corrected(cluster, metropolis(cluster, true), start); }},
      {"d2", [&] { return d2(cluster, start); }},
      {"gradient_tracking", [&] { return gradient_tracking(cluster, start); }},
      {"qg_dsgdm", [&] { return quasi_global(cluster, knobs); }},
      {"consensus_control", [&] { return consensus_control(cluster, knobs); }}};
  return in_lock_step(cluster, rules.at(protocol)(), start);
}

}  // namespace hopbench
