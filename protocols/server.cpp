#include "protocols/server.h"

#include "protocols/shard.h"

namespace hopbench {

void work(Node& self, const Talk& talk) {
  Vec x = self.initial();
  const std::vector<int>& servers = self.servers();
  for (Iter k = 0; self.running(k); ++k) {
    self.enter(k);
    const Gradient g = self.gradient(x, k);
    const Words said = talk.say ? talk.say(k) : Words{};
    for (std::size_t i = 0; i < servers.size(); ++i) {
      const Slice slice = slice_of(x.size(), i, servers.size());
      self.send(servers[i], kPush, k, g.values.slice(slice.offset, slice.size), said);
    }
    Vec weights = Vec::uninitialised(x.size(), x.space());
    for (std::size_t i = 0; i < servers.size(); ++i) {
      const Message answer = self.recv(is_from(kWeights, servers[i], k), "weights from the server");
      if (i == 0 && talk.hear) talk.hear(k, answer.words);
      const double bytes = static_cast<double>(2 * answer.body.size() * sizeof(float));
      self.operate(bytes, [&] { weights.assign(slice_of(x.size(), i, servers.size()).offset, answer.body); });
    }
    x = std::move(weights);
    self.report(k + 1, x);
  }
}

Knob servers_knob() {
  return {"servers", 0, 0, 256, {}, "how many servers share the parameters; 0: one beside each worker", "ours"};
}

int server_count(const Setting& setting) {
  const int wanted = setting.knobs.integer("servers");
  return wanted > 0 ? wanted : setting.workers;
}

std::vector<Edge> server_links(const Setting& setting) {
  std::vector<Edge> edges;
  const int n = setting.workers;
  for (int server = n; server < n + server_count(setting); ++server) {
    for (int worker = 0; worker < n; ++worker) edges.emplace_back(worker, server);
    if (server > n) edges.emplace_back(n, server);
  }
  return edges;
}

}  // namespace hopbench
