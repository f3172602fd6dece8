// The oracle for parameter servers.
#include <cmath>
#include <map>
#include <utility>

#include "tests/replay/replay.h"

namespace hopbench {
namespace {

class AtServers {
 public:
  AtServers(const Cluster& cluster, const ServerRules& rules) : cluster_(cluster), rules_(rules) {
    HB_ASSERT(cluster.optimizer.steps.empty() && cluster.optimizer.weight_decay == 0 && !cluster.optimizer.nesterov);
    const Numbers x = numbers_of(cluster.work->initial().share());
    workers_.assign(std::size_t(cluster.nodes), Worker{.x = x, .received = x});
    servers_.resize(std::size_t(cluster.servers));
    deal(cluster.work->buckets());
    for (Server& server : servers_) {
      for (const std::size_t place : server.places) server.w.push_back(x[place]);
      server.momentum.assign(server.w.size(), 0.0);
      server.square.assign(server.w.size(), 0.0);
      server.sent.assign(std::size_t(cluster.nodes), server.w);
    }
  }

  std::string run() {
    for (const Event& event : cluster_.events) {
      if (event.rank < cluster_.nodes) {
        of_worker(event, workers_[std::size_t(event.rank)]);
      } else {
        Server& server = servers_[std::size_t(event.rank - cluster_.nodes)];
        if (rules_.divisor > 0) count(server, event);
        if (event.what == EventKind::kReduced) mean(server, event);
        if (event.what == EventKind::kApplied) applied(server, event);
        if (event.what == EventKind::kSend && event.kind == std::uint16_t(kWeights)) sent(server, event.peer);
      }
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
    Numbers x{}, received{};
    std::map<Iter, Computed> computed{};
    std::size_t reports = 0;
    bool begins_again = false;
  };
  struct Server {
    std::vector<std::size_t> places{};  // in the model, of what it keeps
    Numbers w{}, momentum{}, square{};
    std::vector<Numbers> sent{};      // by worker: the weights that it was sent
    std::map<int, double> weights{};  // by worker: of its gradients in the mean that was computed last
    std::size_t to_come = 0;          // gradients of that mean that are still to be applied
    int decided = 0;                  // gradients that were used or not, where sums have a divisor
    bool due = false;                 // a step that `divisor` of those make
    Numbers sum{};
  };

  void of_worker(const Event& event, Worker& worker) {
    if (event.what == EventKind::kGradient) computed(event, worker);
    if (event.what == EventKind::kReport) report(worker, event);
    if (event.what == EventKind::kTake && event.kind == std::uint16_t(kSkip)) {
      worker.computed.erase(event.iter);
      worker.begins_again = true;
    }
  }

  /// Adds a gradient, or a micro-batch of one, to what the worker has computed of that iteration.
  void computed(const Event& event, Worker& worker) {
    if (std::exchange(worker.begins_again, false)) worker.x = worker.received;
    Computed& all = worker.computed[event.iter];
    const Numbers g = gradient_at(cluster_, worker.x, event, rules_.shared);
    const auto count = double(event.count);
    all.gradient.resize(g.size());
    for (std::size_t i = 0; i < g.size(); ++i)
      all.gradient[i] = (all.gradient[i] * all.samples + g[i] * count) / (all.samples + count);
    all.samples += count;
  }

  /// Deals the numbers to the servers in turn, bucket by bucket. Of a bucket each has as many as it was dealt, in one
  /// run. What a server keeps is in the order of the model, in which the first bucket stands last.
  void deal(const std::vector<Bucket>& buckets) {
    std::vector<std::vector<std::vector<std::size_t>>> runs;  // [bucket][server]
    std::size_t turn = 0;
    for (const Bucket& bucket : buckets) {
      std::vector<std::size_t> dealt(servers_.size(), 0);
      for (std::size_t i = 0; i < bucket.size; ++i) ++dealt[turn++ % dealt.size()];
      std::size_t place = bucket.offset;
      runs.emplace_back(servers_.size());
      for (std::size_t s = 0; s < dealt.size(); ++s) {
        while (dealt[s]-- > 0) runs.back()[s].push_back(place++);
      }
    }
    for (auto bucket = runs.rbegin(); bucket != runs.rend(); ++bucket) {
      for (std::size_t s = 0; s < servers_.size(); ++s)
        servers_[s].places.insert(servers_[s].places.end(), (*bucket)[s].begin(), (*bucket)[s].end());
    }
  }

  /// Returns what the server keeps of a gradient.
  static Numbers own(const Server& server, const Numbers& g) {
    Numbers of_it;
    for (const std::size_t place : server.places) of_it.push_back(g.at(place));
    return of_it;
  }

  void step(Server& server, const Numbers& g, double scale) const {
    for (std::size_t i = 0; i < g.size(); ++i) {
      server.momentum[i] = double(cluster_.optimizer.momentum) * server.momentum[i] + g[i];
      server.w[i] -= scale * double(cluster_.optimizer.lr) * server.momentum[i];
    }
  }

  /// A sum of `divisor` gradients none of which is used is a step with 0. Other servers are told each decision.
  void count(Server& server, const Event& event) const {
    const bool first = event.rank == cluster_.nodes, take = event.what == EventKind::kTake;
    const bool decides =
        take && (first ? event.kind == std::uint16_t(kPush) : event.kind == std::uint16_t(kClock) && event.count >= 0);
    const bool answers = event.what == EventKind::kSend && event.kind == std::uint16_t(kWeights);
    if (event.what == EventKind::kReduced) server.due = false;
    if ((decides || answers) && std::exchange(server.due, false))
      step(server, Numbers(server.w.size(), 0.0), rules_.step_of_mean);
    if (decides) server.due = ++server.decided % rules_.divisor == 0;
  }

  /// Only says what is in the mean: the gradients themselves are named when they are applied.
  void mean(Server& server, const Event& event) {
    double samples = 0;
    for (const int sender : event.senders) samples += newest(sender).samples;
    server.to_come = event.senders.size();
    server.sum.assign(server.w.size(), 0.0);
    const auto alike = double(rules_.divisor > 0 ? std::size_t(rules_.divisor) : event.senders.size());
    for (std::size_t t = 0; t < event.senders.size(); ++t) {
      const double weight = rules_.shared ? newest(event.senders[t]).samples / samples : 1 / alike;
      if (std::abs(double(event.weights[t]) - weight) > 1e-4) return fail(event, "a gradient has another weight");
      server.weights[event.senders[t]] = weight;
    }
  }

  const Computed& newest(int worker) const { return workers_[std::size_t(worker)].computed.rbegin()->second; }

  /// Without a mean before it: a step with that gradient alone.
  void applied(Server& server, const Event& event) {
    const Numbers g = own(server, workers_[std::size_t(event.peer)].computed.at(event.iter).gradient);
    if (server.to_come == 0)
      return step(server, compensated(server, event.peer, g), checkers::step_scale(event) * rules_.step_of_one);
    for (std::size_t i = 0; i < g.size(); ++i) server.sum[i] += server.weights[event.peer] * g[i];
    if (--server.to_come == 0) step(server, server.sum, rules_.step_of_mean);
  }

  /// DC-ASGD's rule.
  Numbers compensated(Server& server, int worker, Numbers g) const {
    const Numbers& before = server.sent[std::size_t(worker)];
    for (std::size_t i = 0; i < g.size(); ++i) {
      double c = rules_.lambda;
      server.square[i] = rules_.decay * server.square[i] + (1 - rules_.decay) * g[i] * g[i];
      if (rules_.adaptive) c /= std::sqrt(server.square[i] + 1e-7);
      g[i] += c * g[i] * g[i] * (server.w[i] - before[i]);
    }
    return g;
  }

  void sent(Server& server, int to) {
    server.sent[std::size_t(to)] = server.w;
    Worker& worker = workers_[std::size_t(to)];
    worker.received.resize(worker.x.size());
    for (std::size_t i = 0; i < server.w.size(); ++i) worker.received[server.places[i]] = server.w[i];
  }

  void report(Worker& worker, const Event& event) {
    const Numbers is = numbers_of(cluster_.reports[std::size_t(event.rank)][worker.reports++].x);
    if (const std::string wrong = difference(is, worker.received); !wrong.empty())
      return fail(event, "its model " + wrong);
    worker.x = is;
  }

  void fail(const Event& event, const std::string& what) {
    if (wrong_.empty())
      wrong_ = "rank " + std::to_string(event.rank) + ", iteration " + std::to_string(event.iter) + ": " + what;
  }

  const Cluster& cluster_;
  ServerRules rules_;
  std::vector<Worker> workers_;
  std::vector<Server> servers_;
  std::string wrong_;
};

}  // namespace

std::string replayed_at_servers(const Cluster& cluster, const ServerRules& rules) {
  HB_ASSERT_MSG(!cluster.events.empty(), "a run that kept no events cannot be replayed");
  return AtServers(cluster, rules).run();
}

}  // namespace hopbench
