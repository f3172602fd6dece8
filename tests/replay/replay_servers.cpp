// The oracle for parameter servers. A worker has one push on its way: what servers apply of it is its newest gradient.
#include <set>

#include "tests/replay/replay.h"

namespace hopbench {
namespace {

class AtServers {
 public:
  AtServers(const Cluster& cluster, bool shared) : cluster_(cluster), shared_(shared) {
    HB_ASSERT(cluster.optimizer.steps.empty() && cluster.optimizer.weight_decay == 0 && !cluster.optimizer.nesterov);
    const Numbers x = numbers_of(cluster.work->initial().share());
    workers_.assign(std::size_t(cluster.nodes), Worker{.x = x});
    servers_.resize(std::size_t(cluster.servers));
    deal(cluster.work->buckets());
    for (Server& server : servers_) {
      for (const std::size_t place : server.places) server.w.push_back(x[place]);
      server.momentum.assign(server.w.size(), 0.0);
    }
  }

  std::string run() {
    for (const Event& event : cluster_.events) {
      if (event.rank < cluster_.nodes) {
        Worker& worker = workers_[std::size_t(event.rank)];
        if (event.what == EventKind::kGradient) {
          worker.gradient = gradient_at(cluster_, worker.x, event, shared_);
          worker.samples = double(event.count);
        }
        if (event.what == EventKind::kReport) report(worker, event);
      } else {
        Server& server = servers_[std::size_t(event.rank - cluster_.nodes)];
        if (event.what == EventKind::kReduced) mean(server, event);
        if (event.what == EventKind::kApplied) applied(server, event);
        if (event.what == EventKind::kSend && event.kind == std::uint16_t(kWeights)) sent(server, event.peer);
      }
      if (!wrong_.empty()) return wrong_;
    }
    return "";
  }

 private:
  struct Worker {
    Numbers x{}, gradient{}, received{};
    double samples = 0;  // of the gradient
    std::size_t reports = 0;
  };
  struct Server {
    std::vector<std::size_t> places{};  // in the model, of what it keeps
    Numbers w{}, momentum{};
    std::set<int> in_the_mean{};  // what is applied of these is in the step already
  };

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

  void mean(Server& server, const Event& event) {
    Numbers sum(server.w.size(), 0.0);
    double samples = 0;
    for (const int sender : event.senders) samples += workers_[std::size_t(sender)].samples;
    for (std::size_t t = 0; t < event.senders.size(); ++t) {
      const Worker& worker = workers_[std::size_t(event.senders[t])];
      const double weight = shared_ ? worker.samples / samples : 1.0 / double(event.senders.size());
      if (std::abs(double(event.weights[t]) - weight) > 1e-4) return fail(event, "a gradient has another weight");
      const Numbers g = own(server, worker.gradient);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += weight * g[i];
    }
    step(server, sum, 1);
    server.in_the_mean.insert(event.senders.begin(), event.senders.end());
  }

  /// Without a mean before it: a step with that gradient alone, n of which make one of all.
  void applied(Server& server, const Event& event) {
    if (server.in_the_mean.erase(event.peer) > 0) return;
    step(server, own(server, workers_[std::size_t(event.peer)].gradient), 1.0 / cluster_.nodes);
  }

  void sent(const Server& server, int to) {
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
  bool shared_;
  std::vector<Worker> workers_;
  std::vector<Server> servers_;
  std::string wrong_;
};

}  // namespace

std::string replayed_at_servers(const Cluster& cluster, bool shared) {
  HB_ASSERT_MSG(!cluster.events.empty(), "a run that kept no events cannot be replayed");
  return AtServers(cluster, shared).run();
}

}  // namespace hopbench
