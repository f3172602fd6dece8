#include "protocols/groups/group_average.h"

#include <algorithm>

#include "protocols/node/collectives.h"
#include "protocols/server/stripes.h"

namespace hopbench::groups {
namespace group_average {

constexpr const char* kWhy = "models of the group";

/// Sets the weights and returns the newest tag. Multiplies step by step, because pow() differs between machines.
Iter weigh(std::vector<Term>& terms, double decay) {
  const Iter newest = std::ranges::max_element(terms, {}, &Term::tag)->tag;
  for (Term& term : terms) {
    double weight = 1;
    for (Iter age = term.tag; age < newest && decay < 1; ++age) weight *= decay;
    term.weight = static_cast<float>(weight);
  }
  return newest;
}

}  // namespace group_average

Vec group_mean(Node& self, const Group& group, Iter round, const Vec& mine, const char* why) {
  Vec mean = Vec::uninitialised(mine.size(), mine.space());
  const RingMean ring = ring_mean(self, group, round, share(mine), mean, 0, why);
  self.averaged(round, group, ring.weight);
  return mean;
}

Vec group_mean_at(Node& self, int server, const Group& group, Iter round, const Vec& mine, const char* why) {
  self.send(server, kParams, round, share(mine));
  const Message answer = self.recv(is_from(kWeights, server, round), why);
  Vec mean = self.computed(bytes_of(2 * mine.size()), [&] { return Vec::copy_of(answer.body); });
  self.averaged(round, group, 1.0 / static_cast<double>(group.size()));  // the server's own event has its weights
  return mean;
}

bool serve_group_mean(Node& self, const Group& group, Iter round) {
  const auto models = self.gather(group, static_cast<int>(group.size()), is(kParams, round), "models of the group");
  if (models.empty()) return false;
  const Vec mean = average(self, round, terms_of(models));
  for (const int member : group) self.send(member, kWeights, round, share(mean));
  return true;
}

Iter average_in_group(Node& self, const Assignment& group, Iter tag, Vec& x, double decay) {
  using namespace group_average;
  const std::vector<int>& members = group.members;
  if (members.size() < 2) return tag;
  HB_ASSERT(std::binary_search(members.begin(), members.end(), self.rank));
  std::vector<int> others = members;
  std::erase(others, self.rank);
  std::vector<int> in_turn = others;  // the next one first: if all began with the same member, its link would be full
  std::rotate(in_turn.begin(), std::lower_bound(in_turn.begin(), in_turn.end(), self.rank), in_turn.end());
  const auto slice = [&](int member) {
    const auto place = std::lower_bound(members.begin(), members.end(), member) - members.begin();
    return server::slice_of(x.size(), static_cast<std::size_t>(place), members.size());
  };
  const auto part = [&](int member) { return x.slice(slice(member).offset, slice(member).size); };

  for (int other : in_turn) self.send(other, kReduceScatter, group.number, part(other), {tag});
  std::vector<Term> terms = {{.sender = self.rank, .tag = tag, .value = part(self.rank)}};
  for (int other : others) {
    const auto theirs = self.recv_unless_left(is_from(kReduceScatter, other, group.number), kWhy);
    if (theirs) terms.push_back({.sender = other, .tag = theirs->words[0], .value = theirs->body});
  }
  const Iter newest = weigh(terms, decay);
  const Vec own = average(self, tag, std::move(terms));

  for (int other : in_turn) self.send(other, kAllGather, group.number, share(own));
  Vec result = Vec::uninitialised(x.size(), x.space());
  const auto write = [&](int member, const Payload& sum) {
    self.operate(bytes_of(2 * sum.size()), [&] { result.assign(slice(member).offset, sum); });
  };
  write(self.rank, share(own));
  for (int other : others) {
    const auto theirs = self.recv_unless_left(is_from(kAllGather, other, group.number), kWhy);
    write(other, theirs ? theirs->body : part(other));
  }
  x = std::move(result);
  return newest;
}

void local_step(Node& self, Vec& x, Optimizer& optimizer, Iter k) {
  const Gradient g = self.gradient(x, k);
  optimizer.step(x, share(g.values), k);
  self.applied(self.rank, k);
}

bool inner_step(Node& self, Vec& x, Optimizer& optimizer, Iter k, Iter period) {
  self.enter(k);
  local_step(self, x, optimizer, k);
  return (k + 1) % period == 0;
}

}  // namespace hopbench::groups
