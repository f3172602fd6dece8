#include "protocols/server/server.h"

#include "protocols/server/pushes.h"
#include "protocols/server/shard.h"

namespace hopbench::server {

Stripes stripes_at(Node& self, int server) {
  const std::vector<int>& servers = self.servers();
  return Stripes(self.buckets(), std::size_t(server - servers.front()), servers.size());
}

void push_gradient(Node& self, Iter k, const Vec& g, Words words) {
  for (const int server : self.servers()) self.send(server, kPush, k, stripes_at(self, server).taken(share(g)), words);
}

Vec pull_weights(Node& self, Iter k, const Vec& like, Words* said) {
  const std::vector<int>& servers = self.servers();
  Vec weights = Vec::uninitialised(like.size(), like.space());
  for (const Message& answer : self.gather(servers, int(servers.size()), is(kWeights, k), "weights from the servers")) {
    if (answer.from == servers.front() && said != nullptr) *said = answer.words;
    self.operate(bytes_of(2 * answer.body.size()), [&] { stripes_at(self, answer.from).put(answer.body, weights); });
  }
  return weights;
}

Iter rejoin(Node& self, Iter k, Vec& x, const std::function<void(const Words&)>& hear) {
  constexpr const char* kWhy = "weights to go on with";
  const std::vector<int>& servers = self.servers();
  Vec weights = Vec::uninitialised(x.size(), x.space());
  const auto put = [&](const Message& state) {
    self.operate(bytes_of(2 * state.body.size()), [&] { stripes_at(self, state.from).put(state.body, weights); });
  };
  self.ask_for_state(servers.front(), k);
  const Message first = self.recv(is_from(kState, servers.front()), kWhy);
  k = first.iter;
  if (hear) hear(first.words);
  put(first);
  const std::vector<int> others(servers.begin() + 1, servers.end());
  for (const int server : others) self.ask_for_state(server, k);
  for (const Message& state : self.gather(others, int(others.size()), is(kState), kWhy)) put(state);
  x = std::move(weights);
  return k;
}

void work(Node& self, const KnobValues& knobs, const Talk& talk) {
  Vec x = self.initial();
  Pushes pushes(self, knobs.flag("overlap"));
  for (Iter k = 0; self.running(k); ++k) {
    if (self.returned()) k = rejoin(self, k, x, talk.back);
    if (k >= self.end()) break;  // the others have done the last iteration without it
    self.enter(k);
    const Gradient g = pushes.gradient(x, k, k);
    pushes.push(k, g.values, talk.say ? talk.say(k) : Words{});
    Words said;
    x = pull_weights(self, k, x, &said);
    if (talk.hear) talk.hear(k, said);
    self.report(k + 1, x);
  }
}

namespace server {

/// Waits for the next worker's push of iteration k. Also takes those of the workers after it that are here, up to the
/// first that is not. Sets `next` to the place of that one.
std::vector<Message> pushes_in_order(Node& self, Iter k, std::size_t& next) {
  std::vector<Message> pushes;
  const std::vector<int>& workers = self.workers();
  const Match theirs = is_from(kPush, workers[next], k);
  constexpr const char* kWhy = "gradients of all workers";
  if (auto first = self.recv_unless_left(theirs, kWhy)) {
    pushes.push_back(std::move(*first));
  } else if (self.died(workers[next])) {
    pushes.push_back(self.recv(theirs, kWhy));  // throws, because it died
  }
  for (++next; next < workers.size(); ++next) {
    auto another = self.take(is_from(kPush, workers[next], k));
    if (!another) break;
    pushes.push_back(std::move(*another));
  }
  return pushes;
}

}  // namespace server

void serve_bsp(Node& self, bool by_samples) {
  Shard shard(self);
  for (Iter k = 0;; ++k) {
    const double all = self.worker_count() * (by_samples ? self.batch() : 1);
    std::vector<int> pushed;
    for (std::size_t next = 0; next < self.workers().size();) {
      std::vector<Term> come;
      for (Message& push : server::pushes_in_order(self, k, next)) {
        pushed.push_back(push.from);
        const double weight = (by_samples ? double(push.words[0]) : 1.0) / all;
        come.push_back({.sender = push.from, .tag = k, .value = shard.whole(push), .weight = float(weight)});
      }
      shard.add(std::move(come));
    }
    if (pushed.empty()) return;  // all workers have left
    shard.step(k);
    for (const int worker : pushed) shard.answer(worker, k);
  }
}

void tell_servers(Node& self, Iter k, Words decision) {
  for (const int server : self.servers()) {
    if (server != self.rank) self.send(server, kClock, k, {}, decision);
  }
}

Protocol asynchronous(Protocol own) {
  own.extra_ranks = server_count;
  own.links = server_links;
  own.control = always<Control::kSchedule>;
  own.on_loss = always<OnLoss::kContinues>;
  own.rejoins = always<true>;
  return own;
}

std::vector<Knob> with_server_knobs(std::vector<Knob> own) {
  own.insert(own.end(), {servers_knob(), overlap_knob()});
  return own;
}

Knob servers_knob() {
  return knob("servers", 0, 0, 256, "how many servers share the parameters; 0: one beside each worker", "ours");
}

int server_count(const Setting& setting) { return setting.knobs.integer("servers", setting.workers); }

std::vector<Edge> server_links(const Setting& setting) {
  std::vector<Edge> edges;
  const int n = setting.workers;
  for (int server = n; server < n + server_count(setting); ++server) {
    for (int worker = 0; worker < n; ++worker) edges.emplace_back(worker, server);
    if (server > n) edges.emplace_back(n, server);
  }
  return edges;
}

}  // namespace hopbench::server
