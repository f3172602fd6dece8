#include "protocols/collectives.h"

#include <algorithm>

namespace hopbench {

std::vector<Term> terms_of(std::span<const Message> messages) {
  std::vector<Term> terms;
  for (const Message& m : messages) terms.push_back({.sender = m.from, .tag = m.iter, .value = m.body});
  return terms;
}

Vec sum(Node& self, Iter k, std::vector<Term> terms) {
  std::stable_sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.sender < b.sender; });
  return self.reduce(k, terms);
}

Vec average(Node& self, Iter k, std::vector<Term> terms) {
  double total = 0;
  for (const Term& term : terms) total += term.weight;
  for (Term& term : terms) term.weight = static_cast<float>(term.weight / total);
  return sum(self, k, std::move(terms));
}

Payload added(Node& self, const Payload& a, const Payload& b, float weight) {
  Payload sum;
  self.operate(1.5 * (bytes_of(a) + bytes_of(b)), [&] {
    const Payload terms[] = {a, b};
    const float weights[] = {weight, weight};
    sum = share(weighted_sum(terms, weights));
  });
  return sum;
}

std::int64_t ring_mean(Node& self, std::span<const int> group, Iter k, const Payload& mine, Vec& result,
                       std::size_t offset, const char* why, std::int64_t count) {
  const int n = static_cast<int>(group.size());
  const int me = static_cast<int>(std::find(group.begin(), group.end(), self.rank) - group.begin());
  HB_ASSERT(me < n);
  const int right = group[static_cast<std::size_t>((me + 1) % n)];
  const int left = group[static_cast<std::size_t>((me + n - 1) % n)];
  const auto begin = [&](int chunk) {
    return mine.size() * static_cast<std::size_t>(chunk) / static_cast<std::size_t>(n);
  };
  const auto part = [&](int chunk) { return mine.slice(begin(chunk), begin(chunk + 1) - begin(chunk)); };

  // Reduce-scatter: chunk c starts at rank c and gathers a term at each stop; rank c - 1 adds the last one. What is
  // added up lies in a Vec of its own, so nobody's slice is written.
  Payload passing = part(me);
  std::int64_t counted = count;
  for (int step = 1; step < n; ++step) {
    self.send(right, kReduceScatter, k, passing, {counted});
    const Message sum = self.recv(is_from(kReduceScatter, left, k), why);
    counted = sum.words[0] + count;
    const float weight = step < n - 1 ? 1.0f : 1.0f / static_cast<float>(n);  // the last one makes it the mean
    passing = added(self, sum.body, part((me - step + n) % n), weight);
  }

  // All-gather: the finished chunks go round.
  for (int step = 1;; ++step) {
    self.operate(2 * bytes_of(passing), [&] { result.assign(offset + begin((me + 2 - step + n) % n), passing); });
    if (step == n) return counted;
    self.send(right, kAllGather, k, passing);
    passing = self.recv(is_from(kAllGather, left, k), why).body;
  }
}

}  // namespace hopbench
