#include "tests/cluster.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "backends/base/record/event.h"
#include "backends/base/record/rank_record.h"
#include "backends/runtime/virtual/simulated.h"

namespace hopbench {
namespace {

// The checkers write the kinds out again, so that they depend on no protocol: here both meet.
static_assert(checkers::kParamsKind == static_cast<std::uint16_t>(kParams));
static_assert(checkers::kTokenKind == static_cast<std::uint16_t>(kToken));
static_assert(checkers::kAckKind == static_cast<std::uint16_t>(kAck));
static_assert(checkers::kPushKind == static_cast<std::uint16_t>(kPush));
static_assert(checkers::kPullKind == static_cast<std::uint16_t>(kPull));
static_assert(checkers::kWeightsKind == static_cast<std::uint16_t>(kWeights));
static_assert(checkers::kReduceScatterKind == static_cast<std::uint16_t>(kReduceScatter));
static_assert(checkers::kRequestKind == static_cast<std::uint16_t>(kRequest));
static_assert(checkers::kClockKind == static_cast<std::uint16_t>(kClock));
static_assert(checkers::kSkipKind == static_cast<std::uint16_t>(kSkip));
static_assert(checkers::kReplyKind == static_cast<std::uint16_t>(kReply));

// FNV-1a over the fields, not the bytes of the struct: padding has no meaning.
class Hash {
 public:
  void add(std::uint64_t value) {
    for (int byte = 0; byte < 8; ++byte) {
      hash_ ^= (value >> (8 * byte)) & 0xFF;
      hash_ *= 0x100000001B3u;
    }
  }
  void add(double value) { add(std::bit_cast<std::uint64_t>(value)); }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xCBF29CE484222325u;
};

/// A workload whose sparse gradients come as dense vectors.
class DenseForm : public Workload {
 public:
  explicit DenseForm(std::unique_ptr<Workload> work) : work_(std::move(work)) {}
  const WorkloadSpec& spec() const override { return work_->spec(); }
  std::size_t size() const override { return work_->size(); }
  Space& space() const override { return work_->space(); }
  Vec initial() const override { return work_->initial(); }
  const std::vector<Bucket>& buckets() const override { return work_->buckets(); }
  std::vector<Tensor> tensors() const override { return work_->tensors(); }
  double flops_per_sample() const override { return work_->flops_per_sample(); }
  float gradient(const Payload& x, int worker, std::uint64_t first, int count, Vec& g,
                 const std::function<void(int)>& done) override {
    Vec sparse;
    const float loss = work_->gradient(x, worker, first, count, sparse, {});
    g.fill(0);
    g.add(sparse.share());
    if (done) done(0);
    return loss;
  }
  Evaluation evaluate(const Payload& x) override { return work_->evaluate(x); }
  std::size_t part_size(int worker) const override { return work_->part_size(worker); }

 private:
  std::unique_ptr<Workload> work_;
};

class Watch : public Observer {
 public:
  Watch(Cluster& cluster, checkers::Checkers& checks, bool others_go_on)
      : cluster_(cluster),
        checks_(checks),
        others_go_on_(others_go_on),
        at_(std::size_t(cluster.nodes), -1),
        live_(at_.size(), 1) {}

  void on(const Event& event) override {
    checks_.on(event);
    note(event);
    if (event.what == EventKind::kFault && event.text == std::string_view("away")) away(event);
    if (event.what == EventKind::kEnter && event.rank < cluster_.nodes) entered(event);
    if (event.what == EventKind::kFinished && event.rank < cluster_.nodes) live_[std::size_t(event.rank)] = 0;
    if (cluster_.keep_events) cluster_.events.push_back(event);
    ++cluster_.events_seen;
    cluster_.events_hash = hash_.value();
  }
  void settled(Time now) override { checks_.settled(now); }

  /// A death shows as a kPeerDied of the rank itself. To the checkers the dead are as those who have finished: who is
  /// not there any more bounds nobody.
  void died(int rank, Time when) {
    Event death;
    death.time = when;
    death.rank = death.peer = rank;
    death.what = EventKind::kPeerDied;
    on(death);
    cluster_.dead.insert(rank);
    if (rank >= cluster_.nodes) return;
    live_[std::size_t(rank)] = 0;
    death.what = EventKind::kFinished;
    checks_.on(death);
  }

 private:
  void note(const Event& event) {
    for (std::int64_t v :
         {std::int64_t{event.time.time_since_epoch().count()}, std::int64_t{event.rank}, std::int64_t(event.what),
          std::int64_t{event.iter}, std::int64_t{event.peer}, std::int64_t{event.kind}, event.count}) {
      hash_.add(std::uint64_t(v));
    }
    hash_.add(event.value);
    for (std::size_t i = 0; i < event.senders.size(); ++i) {
      hash_.add(std::uint64_t(event.senders[i]));
      hash_.add(std::uint64_t(event.tags[i]));
      hash_.add(double(event.weights[i]));
    }
  }

  /// To most checkers it is as if it had finished, until it enters an iteration again.
  void away(Event event) {
    if (!others_go_on_) return;
    live_[std::size_t(event.rank)] = 0;
    event.what = EventKind::kFinished;
    checks_.on(event);
  }

  void entered(const Event& event) {
    live_[std::size_t(event.rank)] = 1;
    at_[std::size_t(event.rank)] = event.iter;
    for (int j = 0; j < cluster_.nodes; ++j) {
      if (j == event.rank || !live_[std::size_t(j)]) continue;
      Iter& most = cluster_.lead[{event.rank, j}];
      most = std::max(most, event.iter - std::max<Iter>(at_[std::size_t(j)], 0));
    }
  }

  Cluster& cluster_;
  checkers::Checkers& checks_;
  const bool others_go_on_;  // without a worker that is away
  std::vector<Iter> at_;
  std::vector<char> live_;
  Hash hash_;
};

Scenario scenario_of(const Cluster& cluster) {
  Scenario scenario{.name = "test", .compute = cluster.compute, .faults = cluster.faults};
  for (const auto& [rank, factor] : cluster.slow) {
    scenario.compute.push_back({.what = SlowdownKind::kConstant, .ranks = {rank}, .factor = factor});
  }
  return scenario;
}

// One run: everything its strands refer to is a member, so it outlives them.
class Run {
 public:
  Run(Cluster& cluster, const Protocol& protocol, const Knobs& knobs)
      : cluster_(cluster), protocol_(protocol), graph_(cluster.graph()), credits_(cluster.credits) {
    knobs_ = KnobValues(protocol.knobs);
    for (const auto& [name, value] : knobs) knobs_.set(protocol.knobs, name, value);
    std::vector<int> host_of = cluster.network.host_of;  // of servers too
    if (!host_of.empty()) host_of.resize(std::size_t(cluster.nodes));
    const Setting setting{knobs_, graph_, cluster.nodes, std::move(host_of), 0, cluster.workload.batch};
    if (protocol.refuse != nullptr) {
      if (const std::string why = protocol.refuse(setting); !why.empty()) throw usage_error(why);
    }
    cluster.servers = protocol.extra_ranks != nullptr ? protocol.extra_ranks(setting) : 0;
    cluster.checks = std::make_shared<checkers::Checkers>(make_checkers(checked_run(cluster, protocol, knobs_)));
    WorkloadSpec spec = cluster.workload;
    spec.workers = cluster.nodes;
    spec.seed = cluster.seed;
    spec.repeat = cluster.repeat;
    cluster.work = make_workload(spec);
    if (cluster.dense_form) cluster.work = std::make_unique<DenseForm>(make_workload(spec));
    cluster.reports.assign(std::size_t(cluster.nodes), {});
    watch_ = std::make_unique<Watch>(cluster, *cluster.checks, goes_on_without(protocol, knobs_));
    make_simulation(setting);
  }

  void go() {
    simulation_->run();
    cluster_.end = simulation_->now();
    for (const auto& node : nodes_) cluster_.records.push_back(node->record());
    cluster_.checks->finish(cluster_.records);
  }

 private:
  void make_simulation(const Setting& setting) {
    const int ranks = cluster_.nodes + cluster_.servers;
    simulation_ = std::make_unique<Simulation>(SimulationOptions{.ranks = ranks,
                                                                 .strands = cluster_.strands,
                                                                 .threads = cluster_.threads,
                                                                 .shuffle = cluster_.shuffle,
                                                                 .observer = watch_.get()});
    simulation_->use(cluster_.instant_network
                         ? make_instant_network(*simulation_)
                         : make_network(cluster_.network, ranks, *simulation_, cluster_.seed, cluster_.repeat));
    std::vector<Edge> links;
    if (protocol_.links != nullptr) {
      links = protocol_.links(setting);
    } else {
      for (int a = 0; a < graph_.size(); ++a) {
        for (int b : graph_.out(a)) links.emplace_back(a, b);
      }
    }
    peers_.resize(std::size_t(ranks));
    for (const auto& [a, b] : links) {
      simulation_->connect(a, b);
      peers_[std::size_t(a)].push_back(b);
      peers_[std::size_t(b)].push_back(a);
    }
    for (std::vector<int>& each : peers_) {
      std::sort(each.begin(), each.end());
      each.erase(std::unique(each.begin(), each.end()), each.end());
    }
    for (int r = 0; r < ranks; ++r) add_rank(r);
    for (const auto& [rank, when] : cluster_.killed) simulation_->kill(rank, when);
    simulation_->before_kill([this](int r) { watch_->died(r, simulation_->now()); });
    simulation_->describe_with(
        [this](int r) { return "iteration " + std::to_string(nodes_[std::size_t(r)]->iteration()); });
  }

  Iter iterations_of(int r) const {
    if (cluster_.credits > 0) return 0;
    const auto early = cluster_.leaves.find(r);
    return early == cluster_.leaves.end() ? cluster_.iterations : std::min(early->second, cluster_.iterations);
  }

  void add_rank(int r) {
    NodeOptions options{.rank = r,
                        .workers = cluster_.nodes,
                        .servers = cluster_.servers,
                        .graph = &graph_,
                        .protocol = &protocol_,
                        .knobs = knobs_,
                        .optimizer = cluster_.optimizer,
                        .stop = {.iterations = iterations_of(r), .credits = cluster_.credits > 0 ? &credits_ : nullptr},
                        .costs = cluster_.costs,
                        .scenario = scenario_of(cluster_),
                        .host_of = cluster_.network.host_of.empty() ? nullptr : &cluster_.network.host_of,
                        .peers = &peers_[std::size_t(r)],
                        .seed = cluster_.seed,
                        .repeat = cluster_.repeat,
                        .snapshot = {},
                        .final_model = {},
                        .loss = cluster_.message_loss};
    if (r < cluster_.nodes) {
      options.snapshot = [this, r](Iter k, Time when, std::int64_t samples, const Vec& x) {
        cluster_.reports[std::size_t(r)].push_back({k, when, samples, x.watch()});
      };
    }
    nodes_.push_back(std::make_unique<Node>(simulation_->rank(r), *cluster_.work, std::move(options)));
    const auto body = [this, node = nodes_.back().get()] { node->live([&] { protocol_.body(*node, knobs_); }); };
    simulation_->start(r, body, r < cluster_.nodes);
  }

  Cluster& cluster_;
  const Protocol& protocol_;
  KnobValues knobs_;
  const Topology graph_;
  std::vector<std::vector<int>> peers_;  // by rank
  Credits credits_;
  std::unique_ptr<Watch> watch_;
  std::unique_ptr<Simulation> simulation_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace

StrandKind usual_strands() {
  return strand_kind_available(StrandKind::kFibers) ? StrandKind::kFibers : StrandKind::kThreads;
}

checkers::CheckedRun checked_run(const Cluster& cluster, const Protocol& protocol, const KnobValues& knobs) {
  checkers::CheckedRun run;
  run.protocol = protocol.name;
  run.knobs = knobs.all();
  run.workers = cluster.nodes;
  run.servers = cluster.servers;
  run.batch = cluster.workload.batch;
  run.hosts = cluster.network.host_of;
  if (!run.hosts.empty()) run.hosts.resize(std::size_t(run.workers));  // of servers too
  const Topology graph = cluster.graph();
  for (int a = 0; a < graph.size(); ++a) {
    for (int b : graph.out(a)) run.edges.emplace_back(a, b);
  }
  run.iterations = cluster.credits > 0 ? 0 : cluster.iterations;
  for (const auto& [rank, iterations] : cluster.leaves) run.leave_early.insert(rank);
  for (const Fault& fault : cluster.faults) run.absences = run.absences || fault.returns();
  return run;
}

Topology Cluster::graph() const {
  return edges.empty() ? make_topology(topology, nodes) : Topology("edges", nodes, edges);
}

void Cluster::run(const std::string& protocol, const Knobs& knobs) { run(find_protocol(protocol), knobs); }

void Cluster::run(const Protocol& protocol, const Knobs& knobs) {
  records.clear();
  events.clear();
  lead.clear();
  dead.clear();
  events_hash = 0;
  events_seen = 0;
  Run(*this, protocol, knobs).go();
}

Iter Cluster::lead_max() const {
  Iter most = 0;
  for (const auto& [pair, gap] : lead) most = std::max(most, gap);
  return most;
}

Iter Cluster::lead_over(int ahead, int behind) const {
  const auto found = lead.find({ahead, behind});
  return found == lead.end() ? 0 : found->second;
}

std::vector<int> Cluster::survivors() const {
  std::vector<int> all;
  for (int w = 0; w < nodes; ++w) {
    if (dead.count(w) == 0) all.push_back(w);
  }
  return all;
}

const Payload& Cluster::params(int worker) const {
  HB_ASSERT_MSG(!reports[std::size_t(worker)].empty(), "rank " + std::to_string(worker) + " reported nothing");
  return reports[std::size_t(worker)].back().x;
}

std::vector<int> Cluster::batches(std::size_t k) const {
  std::vector<int> all;
  for (int w = 0; w < nodes; ++w) all.push_back(records[std::size_t(w)].marks[k].samples);
  return all;
}

std::uint64_t Cluster::params_hash() const {
  std::uint64_t hash = 0;
  for (int w = 0; w < nodes; ++w) hash = hash_bits(params(w), hash);
  return hash;
}

std::vector<float> Cluster::mean_model() const {
  std::vector<Payload> all;
  for (int w = 0; w < nodes; ++w) all.push_back(params(w));
  return mean(all).to_host();
}

double Cluster::loss(const Payload& x) const { return work->evaluate(x).loss; }
double Cluster::loss() const { return loss(Vec::from_host(mean_model()).share()); }
double Cluster::initial_loss() const { return loss(work->initial().share()); }

std::int64_t Cluster::total(std::int64_t RankRecord::*count) const {
  std::int64_t sum = 0;
  for (const RankRecord& record : records) sum += record.*count;
  return sum;
}

std::string Cluster::broken() const {
  std::string all;
  for (const std::string& text : checks->violations()) all += text + "\n";
  return all;
}

bool Cluster::caught_by(const std::string& name) const {
  const checkers::Checker* found = checker(name);
  return found != nullptr && !found->ok();
}

const checkers::Checker* Cluster::checker(const std::string& name) const {
  for (const checkers::CheckerPtr& each : checks->list()) {
    if (each->name() == name) return each.get();
  }
  return nullptr;
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t d = 0; d < a.size(); ++d) sum += (double(a[d]) - b[d]) * (double(a[d]) - b[d]);
  return std::sqrt(sum);
}

std::string note_of(const std::string& name, const Topology& graph, const Knobs& knobs) {
  const Protocol& protocol = find_protocol(name);
  KnobValues values(protocol.knobs);
  for (const auto& [knob, value] : knobs) values.set(protocol.knobs, knob, value);
  return protocol.note({values, graph, graph.size()});
}

}  // namespace hopbench
