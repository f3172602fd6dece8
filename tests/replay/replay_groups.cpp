// The oracle for averages along a ring. What a worker puts into a round is its model, or its gradient, when it sends
// the first part of it.
#include <algorithm>
#include <cmath>
#include <deque>

#include "tests/replay/replay.h"

namespace hopbench {
namespace {

class InGroups {
 public:
  InGroups(const Cluster& cluster, const std::string& protocol, const Knobs& knobs)
      : cluster_(cluster),
        of_gradients_(protocol == "allreduce" || protocol == "lb_bsp"),
        shared_(protocol == "lb_bsp"),
        corrects_(protocol == "lasgd"),
        flags_(protocol == "selsync"),
        by_age_(knobs.count("weights") != 0),
        numbered_(protocol == "prague" || protocol == "partial_reduce"),
        in_pairs_(protocol == "adpsgd"),
        steps_at_once_(protocol == "partial_reduce" || protocol == "gossipgrad"),
        delta_(number_in(knobs, "delta", 0.3)),
        window_(std::size_t(number_in(knobs, "window", 25))) {
    const Numbers x = numbers_of(cluster.work->initial().share());
    workers_.assign(std::size_t(cluster.nodes), Worker{.x = x, .momentum = Numbers(x.size(), 0.0)});
  }

  std::string run() {
    for (const Event& event : cluster_.events) {
      if (event.rank >= cluster_.nodes) continue;
      Worker& worker = workers_[std::size_t(event.rank)];
      if (event.what == EventKind::kEnter) worker.entered = worker.x;
      if (event.what == EventKind::kGradient) gradient(worker, event);
      if (event.what == EventKind::kApplied && !steps_at_once_ && (!of_gradients_ || event.peer == 0))
        step(worker, event);
      if (event.what == EventKind::kSend) sent(worker, event);
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
    Numbers x{}, momentum{}, entered{};  // entered: x as the iteration began, which its gradient is of
    std::map<Iter, Computed> computed{};
    std::map<int, Numbers> to{};  // the newest model sent, by receiver
    Iter round = -1;              // its newest
    std::deque<double> norms{};   // newest first
    double smoothed = 0;
    std::size_t reports = 0;
  };

  void gradient(Worker& worker, const Event& event) {
    worker.computed[event.iter] = {gradient_at(cluster_, worker.entered, event, shared_), double(event.count)};
    if (steps_at_once_) step(worker, event);
  }

  void sent(Worker& worker, const Event& event) {
    const Kind kind{event.kind};
    if (flags_ && kind == kRequest) return flag(worker, event);
    if (in_pairs_ && (kind == kRequest || kind == kReply)) worker.to[event.peer] = worker.x;
    if (kind != kReduceScatter && kind != kParams) return;
    rounds_[event.iter].emplace(event.rank, worker.x);
    worker.round = event.iter;
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

  /// Returns the numbers that a member put into the round of the event; nullptr after a failure.
  const Numbers* put_in(const Event& event, int member) {
    const Worker& worker = workers_[std::size_t(event.rank)];
    if (in_pairs_ && member == event.rank) return &worker.x;
    const auto& of_round = rounds_[numbered_ ? worker.round : event.iter];
    const auto& from = in_pairs_ ? workers_[std::size_t(member)].to : of_round;
    const auto found = from.find(in_pairs_ ? event.rank : member);
    if (found != from.end()) return &found->second;
    fail(event, "averaged a model of rank " + std::to_string(member) + " that it had not sent");
    return nullptr;
  }

  void reduce(Worker& worker, const Event& event) {
    if (of_gradients_ || event.senders.size() == 1) return;  // a group of its own
    Numbers mean(worker.x.size(), 0.0);
    double weights = 0;
    for (std::size_t t = 0; t < event.senders.size(); ++t) {
      const Numbers* model = put_in(event, event.senders[t]);
      if (model == nullptr) return;
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += double(event.weights[t]) * (*model)[i];
      weights += double(event.weights[t]);
    }
    if (std::abs(weights - 1) > 1e-4) return fail(event, "the weights of a mean sum up to " + std::to_string(weights));
    const auto [least, most] = std::minmax_element(event.weights.begin(), event.weights.end());
    if (!by_age_ && *most - *least > 1e-5f) return fail(event, "a model has another weight than the others");
    const Numbers before = std::exchange(worker.x, mean);
    if (!corrects_) return;
    const Numbers& mine = rounds_[event.iter].at(event.rank);
    for (std::size_t i = 0; i < mean.size(); ++i) worker.x[i] = before[i] + mean[i] - mine[i];
  }

  /// SelSync's mean of an iteration, for which there is no event of its own.
  Numbers mean_of(Iter round) {
    Numbers mean(workers_[0].x.size(), 0.0);
    for (const auto& [rank, model] : rounds_[round]) {
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += model[i] / double(cluster_.nodes);
    }
    return mean;
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
    const bool always = std::size_t(event.iter) < window_;
    if (!always && std::abs(change - delta_) < 1e-4) return;
    if ((event.count != 0) != (always || change >= delta_))
      fail(event, "its flag is " + std::to_string(event.count) + ", its change " + std::to_string(change));
  }

  void report(Worker& worker, const Event& event) {
    if (flags_ && rounds_.count(event.iter - 1) != 0) worker.x = mean_of(event.iter - 1);
    const Numbers is = numbers_of(cluster_.reports[std::size_t(event.rank)][worker.reports++].x);
    if (const std::string wrong = difference(is, worker.x); !wrong.empty()) return fail(event, "its model " + wrong);
    worker.x = is;
  }

  void fail(const Event& event, const std::string& what) {
    if (wrong_.empty())
      wrong_ = "rank " + std::to_string(event.rank) + ", iteration " + std::to_string(event.iter) + ": " + what;
  }

  const Cluster& cluster_;
  bool of_gradients_, shared_, corrects_, flags_;
  bool by_age_;               // partial_reduce's dynamic weights
  bool numbered_, in_pairs_;  // groups have numbers; pairs have none
  bool steps_at_once_;        // with each gradient, which no event says
  double delta_;
  std::size_t window_;
  std::vector<Worker> workers_;
  std::map<Iter, std::map<int, Numbers>> rounds_;  // by worker
  std::string wrong_;
};

}  // namespace

std::string replayed_in_groups(const Cluster& cluster, const std::string& protocol, const Knobs& knobs) {
  HB_ASSERT_MSG(!cluster.events.empty(), "a run that kept no events cannot be replayed");
  return InGroups(cluster, protocol, knobs).run();
}

}  // namespace hopbench
