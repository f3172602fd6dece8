// DASO: gradients are averaged within a host in every batch; models are averaged between hosts now and then, by one
// worker of each host in turn, while all compute on. Coquelin, Debus, Goetz, von der Lehr, Kahn, Siggel, Streit:
// "Accelerating Neural Network Training with Distributed Asynchronous and Selective Optimization (DASO)", Journal of
// Big Data, 2022.
//
// Rules enforced here, with P hosts:
//   - in every iteration a worker steps with the mean of its host's gradients, so the workers of a host have one model;
//   - after every `skip` iterations one worker of each host, the next one each time, begins to average its model with
//     those of the other hosts. `wait` iterations later it sends the mean to the others of its host, and all take it
//     in: x <- (2 b x + P mean) / (2 b + P), where b = `wait`. With b = 0 this is x <- mean;
//   - in the first `warm_up` iterations this is done in each, without a wait.
#include <algorithm>

#include "protocols/groups/background_mean.h"
#include "protocols/groups/groups.h"
#include "protocols/node/collectives.h"

namespace hopbench::allreduce::daso {

/// A worker's place among the hosts, and the average between them that is under way.
class BetweenHosts {
 public:
  BetweenHosts(Node& self, const KnobValues& knobs)
      : self_(self),
        hosts_(groups::by_host(self)),
        own_(hosts_[groups::group_of(hosts_, self.rank)]),
        skip_(knobs.integer("skip")),
        wait_(knobs.integer("wait")),
        warm_up_(knobs.integer("warm_up")),
        mean_(self) {}

  const groups::Group& own_host() const { return own_; }
  /// Called after the step of iteration k: begins an average, or takes one into x, where it is due.
  void stepped(Vec& x, Iter k) {
    if (k < warm_up_) {
      begin(x);
      return take_in(x, 0);
    }
    if (due_ == k) take_in(x, wait_);
    if ((k - warm_up_ + 1) % skip_ != 0) return;
    begin(x);
    due_ = k + wait_;
    if (wait_ == 0) take_in(x, 0);
  }

  /// Takes in an average that is still under way when the iterations are over.
  void finish(Vec& x) {
    if (due_ >= 0) take_in(x, wait_);
  }

 private:
  /// Returns the worker of a host that averages in the present round.
  int envoy_of(const groups::Group& host) const { return host[static_cast<std::size_t>(round_) % host.size()]; }

  void begin(const Vec& x) {
    if (envoy_of(own_) != self_.rank) return;
    groups::Group envoys;
    for (const groups::Group& host : hosts_) envoys.push_back(envoy_of(host));
    mean_.begin(share(x), envoys, round_);
  }

  void take_in(Vec& x, Iter waited) {
    const int envoy = envoy_of(own_);
    Payload mean;
    if (envoy == self_.rank) {
      mean_.wait("models of the other hosts");
      mean = share(mean_.taken().values);
      for (const int other : own_) {
        if (other != self_.rank) self_.send(other, kBroadcast, round_, mean);
      }
    } else {
      mean = self_.recv(is_from(kBroadcast, envoy, round_), "the mean of the hosts").body;
    }
    const double hosts = static_cast<double>(hosts_.size()), own = 2.0 * static_cast<double>(waited);
    x = combined(self_, {{own / (own + hosts), share(x)}, {hosts / (own + hosts), mean}});
    ++round_;
    due_ = -1;
  }

  Node& self_;
  const groups::Division hosts_;
  const groups::Group own_;
  const Iter skip_, wait_, warm_up_;
  BackgroundMean mean_;
  Iter round_ = 0, due_ = -1;  // due_: the iteration after which the average is taken in; -1: none is under way
};

void daso(Node& self, const KnobValues& knobs) {
  BetweenHosts between(self, knobs);
  Vec x = self.initial();
  Optimizer optimizer = self.optimizer(x.size());
  Iter k = 0;
  for (; self.running(k); ++k) {
    self.enter(k);
    Gradient g = self.gradient(x, k);
    if (between.own_host().size() > 1) {
      Vec mean = Vec::uninitialised(x.size(), x.space());
      const RingMean ring = ring_mean(self, between.own_host(), k, share(g.values), mean, 0, "gradients of the host");
      self.averaged(k, between.own_host(), ring.weight);
      g.values = std::move(mean);
    }
    optimizer.step(x, share(g.values), k);
    between.stepped(x, k);
    self.report(k + 1, x);
  }
  self.retire();
  between.finish(x);
  self.report(k, x);
}

std::string refuse(const Setting& setting) {
  if (setting.knobs.integer("wait") < setting.knobs.integer("skip")) return "";
  return "wait = " + std::to_string(setting.knobs.integer("wait")) +
         " is not under skip = " + std::to_string(setting.knobs.integer("skip")) +
         ": an average has to be taken in before the next begins";
}

std::string note(const Setting& setting) {
  const groups::Division all = groups::by_host(setting);
  const std::size_t hosts = all.size();
  if (std::any_of(all.begin(), all.end(), [&](const groups::Group& host) { return host.size() != all.front().size(); }))
    return "hosts have different numbers of workers, and weigh alike: a sample on a small host counts for more";
  if (setting.workers == 1 || (hosts > 1 && hosts < static_cast<std::size_t>(setting.workers))) return "";
  return hosts == 1 ? "all workers are on one host: it is all-reduce, with averages of equal models now and then"
                    : "each worker is on a host of its own: no gradients are averaged";
}

const Protocol& daso_protocol() {
  static const Protocol protocol{
      .name = "daso",
      .summary = "gradients averaged within a host; models between hosts now and then, by one worker of each",
      .paper =
          "Coquelin et al.: Accelerating Neural Network Training with Distributed Asynchronous and Selective "
          "Optimization (DASO), Journal of Big Data, 2022",
      .family = Family::kAllReduce,
      .knobs = {knob("skip", 4, 1, 1'000'000, "iterations from one average between hosts to the next", "code"),
                knob("wait", 1, 0, 1'000'000, "b: iterations after which such an average is taken in", "code"),
                knob("warm_up", 0, 0, 1'000'000'000, "first iterations, with an average between hosts in each",
                     "code")},
      .body = daso,
      .links = groups::all_pairs,
      .refuse = refuse,
      .note = note,
      .free_run = [](const KnobValues& knobs) { return knobs.integer("skip") + knobs.integer("wait"); },
      .source = Source::kAbstractAndCode,
      .reading = "daso/DA1-DA4"};
  return protocol;
}

}  // namespace hopbench::allreduce::daso
