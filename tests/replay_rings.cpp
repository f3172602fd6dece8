// The oracle for averages along a ring. What a worker puts into a round is its model, or its gradient, when it sends
// the first part of it.
#include <cmath>
#include <deque>

#include "tests/replay.h"

namespace hopbench {
namespace {

double real(const Knobs& knobs, const std::string& name, double otherwise) {
  const auto found = knobs.find(name);
  if (found == knobs.end()) return otherwise;
  const auto* whole = std::get_if<std::int64_t>(&found->second);
  return whole != nullptr ? double(*whole) : std::get<double>(found->second);
}

class AlongRings {
 public:
  AlongRings(const Cluster& cluster, const std::string& protocol, const Knobs& knobs)
      : cluster_(cluster),
        of_gradients_(protocol == "allreduce" || protocol == "lb_bsp"),
        shared_(protocol == "lb_bsp"),
        corrects_(protocol == "lasgd"),
        flags_(protocol == "selsync"),
        delta_(real(knobs, "delta", 0.3)),
        window_(std::size_t(real(knobs, "window", 25))) {
    const Numbers x = numbers_of(cluster.work->initial().share());
    workers_.assign(std::size_t(cluster.nodes), Worker{.x = x, .momentum = Numbers(x.size(), 0.0)});
  }

  std::string run() {
    for (const Event& event : cluster_.events) {
      if (event.rank >= cluster_.nodes) continue;
      Worker& worker = workers_[std::size_t(event.rank)];
      if (event.what == EventKind::kGradient) gradient(worker, event);
      if (event.what == EventKind::kApplied && (!of_gradients_ || event.peer == 0)) step(worker, event);
      if (event.what == EventKind::kSend && event.kind == std::uint16_t(kReduceScatter))
        rounds_[event.iter].emplace(event.rank, worker.x);
      if (event.what == EventKind::kSend && event.kind == std::uint16_t(kRequest) && flags_) flag(worker, event);
      if (event.what == EventKind::kReduced) reduce(worker, event);
      if (event.what == EventKind::kReport) report(worker, event);
      if (!wrong_.empty()) return wrong_;
    }
    return "";
  }

 private:
  struct Computed {
    Numbers gradient{};
    double samples = 0;
  };
  struct Worker {
    Numbers x{}, momentum{};
    std::map<Iter, Computed> computed{};
    Iter at = -1;
    std::deque<double> norms{};  // newest first
    double smoothed = 0;
    std::size_t reports = 0;
  };

  void gradient(Worker& worker, const Event& event) {
    worker.at = event.iter;
    worker.computed[event.iter] = {gradient_at(cluster_, worker.x, event, shared_), double(event.count)};
  }

  /// Its own gradient, or the mean over the samples of all.
  void step(Worker& worker, const Event& event) {
    Numbers g(worker.x.size(), 0.0);
    double samples = 0;
    for (Worker& each : workers_) {
      if (!of_gradients_ && &each != &worker) continue;
      const auto found = each.computed.find(event.iter);
      if (found == each.computed.end()) return fail(event, "applied a gradient that is none");
      for (std::size_t i = 0; i < g.size(); ++i) g[i] += found->second.samples * found->second.gradient[i];
      samples += found->second.samples;
    }
    for (std::size_t i = 0; i < g.size(); ++i) {
      worker.momentum[i] = double(cluster_.optimizer.momentum) * worker.momentum[i] + g[i] / samples;
      worker.x[i] -= double(cluster_.optimizer.lr) * worker.momentum[i];
    }
  }

  Numbers mean_of(const Event& event, Iter round, const std::vector<int>& members) {
    Numbers sum(workers_[0].x.size(), 0.0);
    for (const int member : members) {
      const auto found = rounds_[round].find(member);
      if (found == rounds_[round].end()) {
        fail(event, "averaged a model of rank " + std::to_string(member) + " that it had not sent");
        return sum;
      }
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += found->second[i] / double(members.size());
    }
    return sum;
  }

  void reduce(Worker& worker, const Event& event) {
    if (of_gradients_) return;
    if (event.senders.size() == 1) return;  // a group of its own
    const Numbers mean = mean_of(event, event.iter, event.senders), before = worker.x;
    if (!wrong_.empty()) return;
    worker.x = mean;
    if (!corrects_) return;
    const Numbers& mine = rounds_[event.iter].at(event.rank);
    for (std::size_t i = 0; i < mean.size(); ++i) worker.x[i] = before[i] + mean[i] - mine[i];
  }

  /// SelSync: raised in the first iterations, and where the smoothed norm has changed by delta.
  void flag(Worker& worker, const Event& event) {
    if (event.peer != (event.rank == 0 ? 1 : 0)) return;  // once an iteration
    const double norm = squared_length(worker.computed.at(event.iter).gradient);
    const double factor = std::min(1.0, double(cluster_.nodes) / 100);
    worker.norms.push_front(norm);
    if (worker.norms.size() > window_) worker.norms.pop_back();
    double sum = 0, weights = 0;
    for (std::size_t age = 0; age < worker.norms.size(); ++age) {
      sum += std::pow(1 - factor, double(age)) * worker.norms[age];
      weights += std::pow(1 - factor, double(age));
    }
    const double before = std::exchange(worker.smoothed, sum / weights);
    const double change = std::abs(worker.smoothed - before) / before;
    if (std::size_t(event.iter) < window_ || std::abs(change - delta_) < 1e-4) return;
    if ((event.count != 0) != (change >= delta_))
      fail(event, "its flag is " + std::to_string(event.count) + ", its change " + std::to_string(change));
  }

  void report(Worker& worker, const Event& event) {
    if (flags_ && rounds_.count(event.iter - 1) != 0) worker.x = mean_of(event, event.iter - 1, everybody());
    const Numbers is = numbers_of(cluster_.reports[std::size_t(event.rank)][worker.reports++].x);
    if (const std::string wrong = difference(is, worker.x); !wrong.empty()) return fail(event, "its model " + wrong);
    worker.x = is;
  }

  std::vector<int> everybody() const {
    std::vector<int> all;
    for (int rank = 0; rank < cluster_.nodes; ++rank) all.push_back(rank);
    return all;
  }

  void fail(const Event& event, const std::string& what) {
    if (wrong_.empty())
      wrong_ = "rank " + std::to_string(event.rank) + ", iteration " + std::to_string(event.iter) + ": " + what;
  }

  const Cluster& cluster_;
  bool of_gradients_, shared_, corrects_, flags_;
  double delta_;
  std::size_t window_;
  std::vector<Worker> workers_;
  std::map<Iter, std::map<int, Numbers>> rounds_;  // by worker
  std::string wrong_;
};

}  // namespace

std::string replayed_along_rings(const Cluster& cluster, const std::string& protocol, const Knobs& knobs) {
  HB_ASSERT_MSG(!cluster.events.empty(), "a run that kept no events cannot be replayed");
  return AlongRings(cluster, protocol, knobs).run();
}

}  // namespace hopbench
