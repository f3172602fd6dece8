#include "protocols/group_average.h"

#include <algorithm>

#include "protocols/collectives.h"
#include "protocols/shard.h"

namespace hopbench {
namespace {

constexpr const char* kWhy = "models of the group";

/// Multiplied out, as pow() differs between machines. Returns the newest tag.
Iter weigh(std::vector<Term>& terms, double decay) {
  const auto older = [](const Term& a, const Term& b) { return a.tag < b.tag; };
  const Iter newest = std::max_element(terms.begin(), terms.end(), older)->tag;
  for (Term& term : terms) {
    double weight = 1;
    for (Iter age = term.tag; age < newest && decay < 1; ++age) weight *= decay;
    term.weight = static_cast<float>(weight);
  }
  return newest;
}

}  // namespace

Words words_of(const std::vector<int>& members) {
  std::uint64_t bits[Words::kMax] = {};
  std::size_t used = 0;
  for (int member : members) {
    const auto word = static_cast<std::size_t>(member) / 64;
    HB_ASSERT(word < Words::kMax);
    bits[word] |= std::uint64_t{1} << (member % 64);
    used = std::max(used, word + 1);
  }
  Words words;
  for (std::size_t i = 0; i < used; ++i) words.push_back(static_cast<std::int64_t>(bits[i]));
  return words;
}

std::vector<int> members_in(const Words& words) {
  std::vector<int> members;
  for (int r = 0; r < static_cast<int>(64 * words.size()); ++r) {
    const auto bits = static_cast<std::uint64_t>(words[static_cast<std::size_t>(r) / 64]);
    if ((bits >> (r % 64) & 1) != 0) members.push_back(r);
  }
  return members;
}

Iter group_average(Node& self, const Assignment& group, Iter tag, Vec& x, double decay) {
  const std::vector<int>& members = group.members;
  if (members.size() < 2) return tag;
  HB_ASSERT(std::binary_search(members.begin(), members.end(), self.rank));
  std::vector<int> others = members;
  std::erase(others, self.rank);
  const auto slice = [&](int member) {
    const auto place = std::lower_bound(members.begin(), members.end(), member) - members.begin();
    return slice_of(x.size(), static_cast<std::size_t>(place), members.size());
  };
  const auto part = [&](int member) { return x.slice(slice(member).offset, slice(member).size); };

  for (int other : others) self.send(other, kReduceScatter, group.number, part(other), {tag});
  std::vector<Term> terms = {{.sender = self.rank, .tag = tag, .value = part(self.rank)}};
  for (int other : others) {
    const Message theirs = self.recv(is_from(kReduceScatter, other, group.number), kWhy);
    terms.push_back({.sender = other, .tag = theirs.words[0], .value = theirs.body});
  }
  const Iter newest = weigh(terms, decay);
  const Vec own = average(self, tag, std::move(terms));

  for (int other : others) self.send(other, kAllGather, group.number, share(own));
  Vec result = Vec::uninitialised(x.size(), x.space());
  const auto write = [&](int member, const Payload& sum) {
    const double bytes = static_cast<double>(2 * sum.size() * sizeof(float));
    self.operate(bytes, [&] { result.assign(slice(member).offset, sum); });
  };
  write(self.rank, share(own));
  for (int other : others) write(other, self.recv(is_from(kAllGather, other, group.number), kWhy).body);
  x = std::move(result);
  return newest;
}

std::vector<Edge> all_pairs(int ranks) {
  std::vector<Edge> edges;
  for (int a = 0; a < ranks; ++a) {
    for (int b = 0; b < a; ++b) edges.emplace_back(a, b);
  }
  return edges;
}

}  // namespace hopbench
