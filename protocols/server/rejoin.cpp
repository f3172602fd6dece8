#include "protocols/server/rejoin.h"

#include "protocols/server/server.h"

namespace hopbench::server {

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

}  // namespace hopbench::server
