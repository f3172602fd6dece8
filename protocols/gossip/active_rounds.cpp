#include "protocols/gossip/active_rounds.h"

#include "protocols/gossip/mixing.h"
#include "protocols/groups/groups.h"
#include "protocols/node/collectives.h"

namespace hopbench::gossip {

void control_rounds(Node& self, Rounds rounds) {
  PathSearch search(self.graph());
  for (Iter number = 0;;) {
    self.until([&] { return self.has(is(kRequest)) || present_workers(self) < search.workers_left(); },
               "a worker that is done");
    self.sleep(Duration{}, "a worker that is done");  // others of the same instant
    for (const int w : self.workers()) {
      if (!self.present(w)) search.left(w);
    }
    while (const auto request = self.take(is(kRequest))) {
      const bool in_time = rounds == Rounds::kOnTheirOwn || request->iter == number;
      if (in_time && self.present(request->from)) search.done(request->from);
    }
    const std::vector<int> group = search.next_group();
    if (group.empty()) continue;
    for (const int worker : rounds == Rounds::kTogether ? self.workers() : group)
      self.send(worker, kReply, number, {}, groups::words_of(group));
    ++number;
  }
}

void average_active(Node& self, Iter k, Iter number, const ActiveNeighbours& active, Vec& x) {
  for (const int peer : active.ranks) self.send(peer, kParams, number, share(x), {k});
  std::vector<Term> terms;
  double own = active.own;
  for (std::size_t i = 0; i < active.ranks.size(); ++i) {
    const auto model = self.recv_unless_left(is_from(kParams, active.ranks[i], number), "models of neighbours");
    if (!model) own += active.weights[i];
    if (!model) continue;
    terms.push_back({.sender = model->from,
                     .tag = model->words[0],
                     .value = model->body,
                     .weight = static_cast<float>(active.weights[i])});
  }
  if (terms.empty()) return;
  terms.push_back({.sender = self.rank, .tag = k, .value = share(x), .weight = static_cast<float>(own)});
  x = average(self, k, std::move(terms));
}

std::vector<Edge> links_with_controller(const Setting& setting) {
  return groups::joined(groups::star_links(setting), groups::graph_links(setting));
}

std::string too_many_or_not_symmetric(const Setting& setting) {
  if (setting.workers > groups::kMostGrouped)
    return "a round is told in one message, of up to " + std::to_string(groups::kMostGrouped) + " workers: take fewer";
  return not_symmetric(setting);
}

}  // namespace hopbench::gossip
