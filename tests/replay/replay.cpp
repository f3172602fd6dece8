#include "tests/replay/replay.h"

#include <set>

#include <cmath>

namespace hopbench {
namespace {

std::int64_t number(const Knobs& knobs, const std::string& name) {
  const auto found = knobs.find(name);
  return found == knobs.end() ? 0 : std::get<std::int64_t>(found->second);
}

class Replay {
 public:
  Replay(const Cluster& cluster, const Knobs& knobs)
      : cluster_(cluster),
        serial_(knobs.count("form") != 0 && std::get<std::string>(knobs.at("form")) == "serial"),
        stale_(number(knobs, "staleness")) {
    HB_ASSERT(cluster.optimizer.steps.empty() && cluster.optimizer.weight_decay == 0 && !cluster.optimizer.nesterov);
    const Numbers x = numbers_of(cluster.work->initial().share());
    workers_.assign(std::size_t(cluster.nodes), Worker{.x = x, .momentum = Numbers(x.size(), 0.0)});
  }

  std::string run() {
    for (const Event& event : cluster_.events) {
      if (event.rank >= cluster_.nodes) continue;
      Worker& worker = workers_[std::size_t(event.rank)];
      if (event.what == EventKind::kEnter) enter(worker, event.iter);
      if (event.what == EventKind::kGradient) gradient(worker, event);
      if (event.what == EventKind::kApplied) step(worker);
      if (event.what == EventKind::kReduced) reduce(worker, event);
      if (event.what == EventKind::kReport) report(worker, event);
      if (!wrong_.empty()) return wrong_;
    }
    return "";
  }

 private:
  struct Worker {
    Numbers x{}, momentum{}, gradient{};
    std::map<Iter, Numbers> sent{};  // by tag
    Iter at = -1, before = -1;
    bool jumped = false;
    std::size_t reports = 0;
  };

  static void enter(Worker& worker, Iter k) {
    worker.before = worker.at;
    worker.at = k;
    worker.jumped = worker.before >= 0 && k > worker.before + 1;
    worker.sent[k] = worker.x;  // serial, or after a jump: what x becomes meanwhile
  }

  void gradient(Worker& worker, const Event& event) { worker.gradient = gradient_at(cluster_, worker.x, event, false); }

  // Momentum survives a jump, and only gradients that are applied move it. In the serial form the stepped model is
  // sent.
  void step(Worker& worker) const {
    for (std::size_t i = 0; i < worker.x.size(); ++i) {
      worker.momentum[i] = double(cluster_.optimizer.momentum) * worker.momentum[i] + worker.gradient[i];
      worker.x[i] -= double(cluster_.optimizer.lr) * worker.momentum[i];
    }
    if (serial_) worker.sent[worker.at] = worker.x;
  }

  void reduce(Worker& worker, const Event& event) {
    const Iter newest = worker.at - (worker.jumped ? 1 : 0);
    Numbers sum(worker.x.size(), 0.0);
    double total = 0;
    for (std::size_t t = 0; t < event.senders.size(); ++t) {
      const Numbers* value = term(worker, event, event.senders[t], event.tags[t]);
      if (value == nullptr) return;
      const double weight = stale_ > 0 ? double(event.tags[t] - (newest - stale_) + 1) : 1.0;
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += weight * (*value)[i];
      total += weight;
    }
    for (std::size_t i = 0; i < sum.size(); ++i) worker.x[i] = sum[i] / total;
    if (worker.jumped && !serial_) worker.sent[worker.at] = worker.x;
    worker.jumped = false;
  }

  const Numbers* term(const Worker& worker, const Event& event, int sender, Iter tag) {
    if (sender == event.rank) {
      const Iter due = worker.jumped ? worker.before + 1 : worker.at;
      if (tag != due) fail(event, "its own model tagged " + std::to_string(tag));
      return worker.jumped ? &worker.x : &worker.sent.at(worker.at);
    }
    const auto& sent = workers_[std::size_t(sender)].sent;
    const auto found = sent.find(tag);
    if (found != sent.end()) return &found->second;
    fail(event, "averaged update " + std::to_string(tag) + " of rank " + std::to_string(sender) + " that is none");
    return nullptr;
  }

  void report(Worker& worker, const Event& event) {
    const Numbers is = numbers_of(cluster_.reports[std::size_t(event.rank)][worker.reports++].x);
    if (const std::string wrong = difference(is, worker.x); !wrong.empty()) return fail(event, "its model " + wrong);
    worker.x = is;
  }

  void fail(const Event& event, const std::string& what) {
    if (wrong_.empty())
      wrong_ = "rank " + std::to_string(event.rank) + ", iteration " + std::to_string(event.iter) + ": " + what;
  }

  const Cluster& cluster_;
  bool serial_;
  std::int64_t stale_;
  std::vector<Worker> workers_;
  std::string wrong_;
};

}  // namespace

Numbers numbers_of(const Payload& x) {
  const std::vector<float> values = Vec::copy_of(x).to_host();
  return {values.begin(), values.end()};
}

Numbers gradient_at(const Cluster& cluster, const Numbers& x, const Event& event, bool shared) {
  Vec g = Vec::uninitialised(cluster.work->size());
  const std::vector<float> floats(x.begin(), x.end());
  const int worker = shared ? Workload::kEverybody : event.rank;
  cluster.work->gradient(Vec::from_host(floats).share(), worker, std::uint64_t(event.first), int(event.count), g,
                         [](int) {});
  return numbers_of(g.share());
}

std::string difference(const Numbers& is, const Numbers& due) {
  for (std::size_t i = 0; i < is.size(); ++i) {
    if (!(std::abs(is[i] - due[i]) <= 1e-4 * (1 + std::abs(due[i]))))
      return "has " + std::to_string(is[i]) + " where " + std::to_string(due[i]) + " is due";
  }
  return "";
}

std::string misreported(const Cluster& cluster, int worker, std::size_t report, const Numbers& due) {
  const Snapshot& snapshot = cluster.reports[std::size_t(worker)].at(report);
  const std::string wrong = difference(numbers_of(snapshot.x), due);
  if (wrong.empty()) return "";
  return "rank " + std::to_string(worker) + ", after " + std::to_string(snapshot.k) + " iterations: its model " + wrong;
}

void Trained::step(const Cluster& cluster, const Numbers& g, double factor) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    momentum[i] = double(cluster.optimizer.momentum) * momentum[i] + g[i];
    x[i] -= factor * double(cluster.optimizer.lr) * momentum[i];
  }
}

double squared_length(const Numbers& x) {
  double sum = 0;
  for (const double number : x) sum += number * number;
  return sum;
}

double number_in(const Knobs& knobs, const std::string& name, double otherwise) {
  const auto at = knobs.find(name);
  if (at == knobs.end()) return otherwise;
  if (const auto* flag = std::get_if<bool>(&at->second)) return *flag ? 1 : 0;
  if (const auto* whole = std::get_if<std::int64_t>(&at->second)) return double(*whole);
  return std::get<double>(at->second);
}

namespace {

/// The rules by the papers, with the defaults written out again.
ServerRules rules_of(const std::string& protocol, const Cluster& cluster, const Knobs& knobs) {
  const double n = cluster.nodes;
  ServerRules rules{.shared = protocol == "lb_bsp", .step_of_one = 1 / n};
  if (protocol == "ps_backup" || protocol == "sync_switch") rules.step_of_one = 1;
  if (protocol == "rennala") rules.step_of_mean = number_in(knobs, "batch", n) / n;
  if (protocol == "k_async" || protocol == "k_batch_async")
    rules.step_of_mean = number_in(knobs, "k", double(cluster.nodes / 2)) / n;
  if (protocol == "gba") {
    rules.divisor = int(number_in(knobs, "batches", n));
    rules.step_of_mean = rules.divisor / n;
  }
  if (rules.step_of_mean != 1) rules.step_of_one = rules.step_of_mean;
  if (protocol == "dc_asgd") {
    rules.decay = number_in(knobs, "decay", 0.95);
    const auto variant = knobs.find("variant");
    rules.adaptive = variant != knobs.end() && std::get<std::string>(variant->second) == "adaptive";
    rules.lambda = number_in(knobs, "lambda", rules.adaptive ? 2 : 0.04);
  }
  return rules;
}

}  // namespace

std::string replayed_as(const std::string& protocol, const Cluster& cluster, const Knobs& knobs) {
  if (protocol == "hop" || protocol == "dpsgd") return replayed(cluster, knobs);
  static const std::set<std::string> outer = {"diloco",      "streaming_diloco",  "slowmo", "co2",
                                              "hivemind",    "overlap_local_sgd", "noloco", "easgd",
                                              "async_diloco"};
  static const std::set<std::string> skewed = {
      "exact_diffusion", "d2",     "gradient_tracking", "qg_dsgdm", "gossip_pga", "consensus_control", "r_fast",
      "one_peer",        "matcha", "dsgd_aau",          "moshpit",  "daso"};
  if (outer.count(protocol) > 0) return replayed_outer(cluster, protocol, knobs);
  static const std::set<std::string> cut = {"dropcompute", "abs_sgd", "a_edit", "dybw"},
                                     regions = {"netmax", "decoupled_diloco", "halos"},
                                     compressed = {"powersgd", "error_feedback"};
  if (skewed.count(protocol) > 0) return replayed_skewed(cluster, protocol, knobs);
  if (cut.count(protocol) > 0) return replayed_cut(cluster, protocol, knobs);
  if (compressed.count(protocol) > 0) return replayed_compressed(cluster, protocol, knobs);
  if (regions.count(protocol) > 0) return replayed_regions(cluster, protocol, knobs);
  const bool grouped = protocol == "prague" || protocol == "partial_reduce";  // by a server, which averages nothing
  if (cluster.servers > 0 && !grouped) return replayed_at_servers(cluster, rules_of(protocol, cluster, knobs));
  return replayed_in_groups(cluster, protocol, knobs);
}

std::string replayed(const Cluster& cluster, const Knobs& knobs) {
  HB_ASSERT_MSG(!cluster.events.empty(), "a run that kept no events cannot be replayed");
  return Replay(cluster, knobs).run();
}

}  // namespace hopbench
