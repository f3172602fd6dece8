#include "protocols/gossip/mixing.h"

#include "protocols/node/collectives.h"

namespace hopbench::gossip {
namespace mixing {

constexpr const char* kWhy = "models of neighbours";

std::vector<Message> received_as(Node& self, Iter k, const Exchange& exchange, Kind kind) {
  auto all = self.gather(exchange.from, static_cast<int>(exchange.from.size()), is(kind, k), kWhy);
  HB_ASSERT_MSG(all.size() == exchange.from.size(), "one vector from each neighbour");
  return all;
}

std::vector<Term> weighed(const Node& self, Iter k, const Exchange& exchange, const std::vector<Message>& messages,
                          const Vec& own) {
  std::vector<Term> terms = terms_of(messages);
  for (std::size_t i = 0; i < terms.size(); ++i) terms[i].weight = static_cast<float>(exchange.weights[i]);
  terms.push_back({.sender = self.rank, .tag = k, .value = share(own), .weight = static_cast<float>(exchange.own)});
  return terms;
}

}  // namespace mixing

Exchange with_neighbours(const Node& self, bool lazy) {
  const Topology& graph = self.graph();
  Exchange exchange{.to = graph.out(self.rank), .from = graph.in(self.rank), .weights = {}, .own = 1};
  const double shares = static_cast<double>(exchange.from.size()) + 1;
  if (graph.regular()) {  // all weigh the same, and a sum of ones has no rounding
    exchange.weights.assign(exchange.from.size(), 1.0);
    exchange.own = lazy ? shares + 1 : 1;
    return exchange;
  }
  for (const int peer : exchange.from) {
    exchange.weights.push_back(metropolis_weight(graph, self.rank, peer) / (lazy ? 2 : 1));
    exchange.own -= exchange.weights.back();
  }
  return exchange;
}

void send_to(Node& self, Iter k, const Exchange& exchange, const Vec& x) {
  for (const int peer : exchange.to) self.send(peer, kParams, k, share(x));
}

std::vector<Message> received(Node& self, Iter k, const Exchange& exchange) {
  return mixing::received_as(self, k, exchange, kParams);
}

Vec averaged_with(Node& self, Iter k, const Exchange& exchange, const std::vector<Message>& others, const Vec& x) {
  return others.empty() ? x : average(self, k, mixing::weighed(self, k, exchange, others, x));
}

Vec mixed(Node& self, Iter k, const Exchange& exchange, const Vec& x) {
  send_to(self, k, exchange, x);
  return averaged_with(self, k, exchange, received(self, k, exchange), x);
}

void send_second(Node& self, Iter k, const Exchange& exchange, const Vec& y) {
  for (const int peer : exchange.to) self.send(peer, kPart, k, share(y));
}

Vec averaged_second(Node& self, Iter k, const Exchange& exchange, const Vec& y) {
  if (exchange.from.empty()) return y;
  const std::vector<Term> terms = mixing::weighed(self, k, exchange, mixing::received_as(self, k, exchange, kPart), y);
  double total = 0;
  for (const Term& term : terms) total += static_cast<double>(term.weight);
  std::vector<Payload> values;
  std::vector<float> weights;
  for (const Term& term : terms) {
    values.push_back(term.value);
    weights.push_back(static_cast<float>(static_cast<double>(term.weight) / total));
  }
  return self.computed(bytes_of((terms.size() + 1) * y.size()), [&] { return weighted_sum(values, weights); });
}

std::string not_symmetric(const Setting& setting) {
  if (setting.graph.undirected()) return unconnected(setting.graph);
  return "topology '" + setting.graph.name() + "' has edges of one direction: the mixing weights are symmetric";
}

std::optional<std::int64_t> diameter_of(const Setting& setting) { return setting.graph.diameter(); }

}  // namespace hopbench::gossip
