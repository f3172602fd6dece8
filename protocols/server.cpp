#include "protocols/server.h"

#include <algorithm>

#include "protocols/shard.h"

namespace hopbench {

void push_gradient(Node& self, Iter k, const Vec& g, Words words) {
  const std::vector<int>& servers = self.servers();
  for (std::size_t i = 0; i < servers.size(); ++i) {
    const Slice slice = slice_of(g.size(), i, servers.size());
    self.send(servers[i], kPush, k, g.slice(slice.offset, slice.size), words);
  }
}

Vec pull_weights(Node& self, Iter k, const Vec& like, Words* said) {
  const std::vector<int>& servers = self.servers();
  const int all = static_cast<int>(servers.size());
  Vec weights = Vec::uninitialised(like.size(), like.space());
  for (const Message& answer : self.gather(servers, all, is(kWeights, k), "weights from the servers")) {
    const auto i = static_cast<std::size_t>(answer.from - servers.front());
    if (i == 0 && said != nullptr) *said = answer.words;
    self.operate(bytes_of(2 * answer.body.size()),
                 [&] { weights.assign(slice_of(like.size(), i, servers.size()).offset, answer.body); });
  }
  return weights;
}

void work(Node& self, const Talk& talk) {
  Vec x = self.initial();
  for (Iter k = 0; self.running(k); ++k) {
    self.enter(k);
    const Gradient g = self.gradient(x, k);
    push_gradient(self, k, g.values, talk.say ? talk.say(k) : Words{});
    Words said;
    x = pull_weights(self, k, x, &said);
    if (talk.hear) talk.hear(k, said);
    self.report(k + 1, x);
  }
}

void serve_bsp(Node& self, bool by_samples) {
  Shard shard(self);
  for (Iter k = 0;; ++k) {
    const auto pushes = self.gather(self.workers(), self.worker_count(), is(kPush, k), "gradients of all workers");
    if (pushes.empty()) return;  // everybody has left
    std::vector<float> weights;
    for (const Message& push : pushes) weights.push_back(by_samples ? static_cast<float>(push.words[0]) : 1.0f);
    shard.apply_mean(k, pushes, weights);
    for (const Message& push : pushes) shard.answer(push.from, k);
  }
}

std::vector<Message> first_pushes(Node& self, int enough, const std::function<bool(const Message& push)>& fits) {
  std::vector<Message> first;
  const auto to_come = [&](int worker) {
    const auto theirs = [worker](const Message& push) { return push.from == worker; };
    return self.present(worker) && std::none_of(first.begin(), first.end(), theirs);
  };
  const auto& workers = self.workers();
  while (static_cast<int>(first.size()) < enough) {
    self.until([&] { return self.has(is(kPush)) || std::none_of(workers.begin(), workers.end(), to_come); },
               "enough gradients");
    auto push = self.take(is(kPush));
    if (!push) break;
    if (fits(*push)) first.push_back(std::move(*push));
  }
  return first;
}

void tell_servers(Node& self, Iter k, Words decision) {
  for (const int server : self.servers()) {
    if (server != self.rank) self.send(server, kClock, k, {}, decision);
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
