#include "protocols/node/collectives.h"

#include <algorithm>
#include <bit>

namespace hopbench {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 18;  // floats: 1 MiB, as in Gloo's ring

/// Returns the words of a message along a ring: the sum of the counts so far, and the sum of the vectors' weights.
Words beside(std::int64_t counted, double mass) { return {counted, std::bit_cast<std::int64_t>(mass)}; }

}  // namespace

int present_workers(const Node& self) {
  return static_cast<int>(std::ranges::count_if(self.workers(), [&](int worker) { return self.present(worker); }));
}

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

Vec combined(std::initializer_list<Scaled> terms) {
  std::vector<Payload> values;
  std::vector<float> factors;
  for (const auto& [factor, value] : terms) {
    factors.push_back(static_cast<float>(factor));
    values.push_back(value);
  }
  return weighted_sum(values, factors);
}

Vec combined(Node& self, std::initializer_list<Scaled> terms) {
  double read = 0;
  for (const auto& [factor, value] : terms) read += bytes_of(value);
  return self.computed(read + read / static_cast<double>(terms.size()), [&] { return combined(terms); });
}

Payload added(Node& self, const Payload& a, const Payload& b, float weight) {
  return share(combined(self, {{weight, a}, {weight, b}}));
}

RingMean ring_mean(Node& self, std::span<const int> group, Iter k, const Payload& mine, Vec& result, std::size_t offset,
                   const char* why, std::int64_t count) {
  const int n = static_cast<int>(group.size());
  const int me = static_cast<int>(std::find(group.begin(), group.end(), self.rank) - group.begin());
  HB_ASSERT(me < n);
  const int right = group[static_cast<std::size_t>((me + 1) % n)];
  const int left = group[static_cast<std::size_t>((me + n - 1) % n)];
  if (n == 1) {
    self.operate(2 * bytes_of(mine), [&] { result.assign(offset, mine); });
    return {count, 1, {count}};
  }
  // Chunk c of n is sent in pieces, which are passed on as they arrive.
  const auto begin = [&](int chunk) {
    return mine.size() * static_cast<std::size_t>(chunk) / static_cast<std::size_t>(n);
  };
  const auto longest = std::max<std::size_t>(1, static_cast<std::size_t>(static_cast<double>(kPiece) / self.charge()));
  const std::size_t pieces = (mine.size() / static_cast<std::size_t>(n) + longest) / longest;
  const auto place = [&](int chunk, std::size_t piece) {
    return begin(chunk) + (begin(chunk + 1) - begin(chunk)) * piece / pieces;
  };
  const auto part = [&](int chunk, std::size_t piece) {
    return mine.slice(place(chunk, piece), place(chunk, piece + 1) - place(chunk, piece));
  };
  const auto keep = [&](int chunk, std::size_t piece, const Payload& mean) {
    self.operate(2 * bytes_of(mean), [&] { result.assign(offset + place(chunk, piece), mean); });
  };

  // Reduce-scatter: chunk c starts at rank c and gathers a term at each stop. Rank c - 1 adds the last term, which
  // makes it the mean. The sum lies in a Vec of its own, so no rank's slice is written.
  for (std::size_t piece = 0; piece < pieces; ++piece)
    self.send(right, kReduceScatter, k, part(me, piece), beside(count, 1));
  std::int64_t counted = 0;
  double mass = 0;
  for (int step = 1; step < n; ++step) {
    const int chunk = (me - step + n) % n;
    const float weight = step < n - 1 ? 1.0f : 1.0f / static_cast<float>(n);
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      const Message theirs = self.recv(is_from(kReduceScatter, left, k), why);
      const Payload sum = added(self, theirs.body, part(chunk, piece), weight);
      counted = theirs.words[0] + count;
      mass = double(weight) * (std::bit_cast<double>(theirs.words[1]) + 1);
      const bool last = step == n - 1;
      self.send(right, last ? kAllGather : kReduceScatter, k, sum, last ? Words{count} : beside(counted, mass));
      if (last) keep(chunk, piece, sum);
    }
  }

  // All-gather: the finished chunks go round, each with the count of the rank that finished it.
  std::vector<std::int64_t> counts(group.size(), count);
  for (int step = 1; step < n; ++step) {
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      const Message mean = self.recv(is_from(kAllGather, left, k), why);
      if (step < n - 1) self.send(right, kAllGather, k, mean.body, mean.words);
      keep((me + 1 - step + n) % n, piece, mean.body);
      counts[static_cast<std::size_t>((me - step + n) % n)] = mean.words[0];
    }
  }
  self.contributed();
  return {counted, mass / n, std::move(counts)};
}

void averaged_by_counts(Node& self, std::span<const int> group, Iter k, const RingMean& mean) {
  const double each = mean.weight * static_cast<double>(group.size()) / static_cast<double>(mean.count);
  std::vector<float> weights;
  for (const std::int64_t count : mean.counts) weights.push_back(static_cast<float>(each * static_cast<double>(count)));
  self.averaged(k, group, std::move(weights));
}

std::vector<Message> exchanged(Node& self, Kind kind, Iter k, const Payload& body, const Words& words,
                               const char* why) {
  std::vector<int> others = self.workers();
  std::erase(others, self.rank);
  for (const int peer : others) self.send(peer, kind, k, body, words);
  std::vector<Message> all = self.gather(others, static_cast<int>(others.size()), is(kind, k), why);
  const auto place = std::ranges::upper_bound(all, self.rank, {}, &Message::from);
  all.insert(place, {.from = self.rank, .kind = kind, .iter = k, .words = words, .body = body});
  return all;
}

void take_state(Node& self, std::span<const int> peers, Iter k, Vec& x) {
  for (const int peer : peers) {
    if (!self.present(peer)) continue;
    self.ask_for_state(peer, k);
    const auto state = self.recv_unless_left(is_from(kState, peer), "another worker's parameters");
    if (!state) continue;
    if (!state->body.empty()) self.operate(bytes_of(2 * x.size()), [&] { x = Vec::copy_of(state->body); });
    return;
  }
}

}  // namespace hopbench
