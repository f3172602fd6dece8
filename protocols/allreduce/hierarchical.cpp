// Hierarchical all-reduce. Jia et al.: "Highly Scalable Deep Learning Training System with Mixed-Precision: Training
// ImageNet in Four Minutes", 2018: within a group, between the groups' masters, within the group again.
#include "protocols/allreduce/mean_algorithms.h"
#include "protocols/node/collectives.h"

namespace hopbench::allreduce {

void hierarchical_mean(Node& self, const groups::Division& hosts, Iter k, const Payload& mine, Vec& result,
                       std::size_t offset, const char* why) {
  const groups::Group& here = hosts[groups::group_of(hosts, self.rank)];
  const int leader = here.front();
  self.contributed();
  if (self.rank != leader) {
    self.send(leader, kPush, k, mine);
    const Payload mean = self.recv(is_from(kBroadcast, leader, k), why).body;
    self.operate(2 * bytes_of(mean), [&] { result.assign(offset, mean); });
    return;
  }

  std::vector<Payload> terms = {mine};
  for (const int member : here) {
    if (member != leader) terms.push_back(self.recv(is_from(kPush, member, k), why).body);
  }
  // Scaled so that the mean over the leaders is the mean over all workers, whatever the number of workers per host.
  const int n = self.worker_count();
  const std::vector<float> weights(terms.size(), static_cast<float>(hosts.size()) / static_cast<float>(n));
  const double bytes = static_cast<double>(terms.size() + 1) * bytes_of(mine);
  const Vec sum = self.computed(bytes, [&] { return weighted_sum(terms, weights); });

  Vec mean = Vec::of_parts(mine.size(), share(sum));
  const groups::Group leaders = groups::columns_of(hosts).front();
  ring_mean(self, leaders, k, share(sum), mean, 0, why);
  for (const int member : here) {
    if (member != leader) self.send(member, kBroadcast, k, share(mean));
  }
  self.operate(2 * bytes_of(share(mean)), [&] { result.assign(offset, share(mean)); });
}

std::vector<Edge> hierarchical_links(const groups::Division& hosts) {
  std::vector<Edge> edges = groups::ring_links(groups::columns_of(hosts).front());
  for (const groups::Group& host : hosts)
    edges = groups::joined(std::move(edges), groups::star_links(host.front(), host));
  return edges;
}

}  // namespace hopbench::allreduce
