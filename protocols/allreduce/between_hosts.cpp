#include "protocols/allreduce/between_hosts.h"

namespace hopbench::allreduce {

BetweenHosts::BetweenHosts(Node& self, const KnobValues& knobs)
    : self_(self),
      hosts_(groups::by_host(self)),
      own_(hosts_[groups::group_of(hosts_, self.rank)]),
      skip_(knobs.integer("skip")),
      wait_(knobs.integer("wait")),
      warm_up_(knobs.integer("warm_up")),
      mean_(self) {}

void BetweenHosts::stepped(Vec& x, Iter k) {
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

void BetweenHosts::finish(Vec& x) {
  if (due_ >= 0) take_in(x, wait_);
}

/// Returns the worker of a host that averages in the present round.
int BetweenHosts::envoy_of(const groups::Group& host) const {
  return host[static_cast<std::size_t>(round_) % host.size()];
}

void BetweenHosts::begin(const Vec& x) {
  if (envoy_of(own_) != self_.rank) return;
  groups::Group envoys;
  for (const groups::Group& host : hosts_) envoys.push_back(envoy_of(host));
  mean_.begin(share(x), envoys, round_);
}

void BetweenHosts::take_in(Vec& x, Iter waited) {
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
  self_.operate(bytes_of(3 * x.size()), [&] {
    const Payload terms[] = {share(x), mean};
    const float weights[] = {static_cast<float>(own / (own + hosts)), static_cast<float>(hosts / (own + hosts))};
    x = weighted_sum(terms, weights);
  });
  ++round_;
  due_ = -1;
}

}  // namespace hopbench::allreduce
