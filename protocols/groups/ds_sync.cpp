// DS-Sync, divide-and-shuffle synchronisation: small groups average in parallel, and the groups change from one
// iteration to the next. Wang, Zhang, Yang, Chen, Tan: "DS-Sync: Addressing Network Bottlenecks with Divide-and-Shuffle
// Synchronization for Distributed DNN Training", INFOCOM 2022.
//
// Rules enforced here:
//   - divide: in every round each worker is in one group. It goes on with the mean of its group's models of that round,
//     and waits for no other worker. Only parameters are averaged; the optimizer's state is not;
//   - shuffle: the workers form a grid, whose rows and columns are the groups in turn. After both, every worker has the
//     mean of all models, exactly if all rows are equally long;
//   - if rows are hosts, a group spans hosts in every other round only, and then with one worker of each host.
#include <algorithm>
#include <cmath>

#include "protocols/groups/group_average.h"
#include "protocols/node/node.h"

namespace hopbench::groups::ds_sync {

/// Returns the divisor of n nearest to its root (the smaller of two), or the rounded root if n is prime.
int side_of_grid(int n) {
  const double root = std::sqrt(n);
  int nearest = 0;
  for (int d = 2; d < n; ++d) {
    if (n % d == 0 && (nearest == 0 || std::abs(d - root) < std::abs(nearest - root))) nearest = d;
  }
  return nearest > 0 ? nearest : static_cast<int>(std::lround(root));
}

template <class Of>
std::vector<Division> rounds_of(const KnobValues& knobs, int n, const Of& of) {
  const int size = knobs.integer("group_size", side_of_grid(n));
  const Division rows = knobs.text("division") == "hosts" ? by_host(of) : grid_rows(n, size);
  return {rows, columns_of(rows)};
}

/// A rank's group in a round. Server number i serves group number i of every round that has such a group.
struct Own {
  Group members;  // empty: a server that this round does not use
  std::size_t number = 0;
};

std::vector<Own> own_rounds(const Node& self, const KnobValues& knobs) {
  std::vector<Own> own;
  for (Division& groups : rounds_of(knobs, self.worker_count(), self)) {
    const auto number =
        self.is_server() ? static_cast<std::size_t>(self.rank - self.worker_count()) : group_of(groups, self.rank);
    own.push_back({number < groups.size() ? std::move(groups[number]) : Group{}, number});
  }
  return own;
}

const Own& own_in(const std::vector<Own>& all, Iter round) { return all[static_cast<std::size_t>(round) % all.size()]; }

void serve(Node& self, const std::vector<Own>& rounds) {
  for (Iter round = 0;; ++round) {
    const Group& group = own_in(rounds, round).members;
    if (!group.empty() && !serve_group_mean(self, group, round)) return;
  }
}

void ds_sync(Node& self, const KnobValues& knobs) {
  const std::vector<Own> rounds = own_rounds(self, knobs);
  if (self.is_server()) return serve(self, rounds);
  const bool before_forward = knobs.text("average_at") == "before_forward";
  Vec x = self.initial();
  Optimizer optimizer = self.optimizer(x.size());
  const auto synchronise = [&](Iter round) {
    const auto& [group, number] = own_in(rounds, round);
    x = self.servers().empty() ? group_mean(self, group, round, x, "models of the group")
                               : group_mean_at(self, self.servers()[number], group, round, x, "the group's mean");
  };

  for (Iter k = 0; self.running(k); ++k) {
    self.enter(k);
    if (before_forward && k > 0) synchronise(k - 1);
    local_step(self, x, optimizer, k);
    if (!before_forward) synchronise(k);
    self.report(k + 1, x);
  }
}

int servers(const Setting& setting) {
  if (setting.knobs.text("inner") == "allreduce") return 0;
  std::size_t most = 0;
  for (const Division& rows : rounds_of(setting.knobs, setting.workers, setting)) most = std::max(most, rows.size());
  return static_cast<int>(most);
}

std::vector<Edge> links(const Setting& setting) {
  const bool at_server = setting.knobs.text("inner") == "ps";
  std::vector<Edge> all;
  for (const Division& groups : rounds_of(setting.knobs, setting.workers, setting)) {
    for (int i = 0; i < static_cast<int>(groups.size()); ++i) {
      const Group& group = groups[static_cast<std::size_t>(i)];
      all = joined(std::move(all), at_server ? star_links(setting.workers + i, group) : ring_links(group));
    }
  }
  return all;
}

std::string refuse(const Setting& setting) {
  const int size = setting.knobs.integer("group_size");
  if (size > setting.workers) {
    return "groups of " + std::to_string(size) + " out of " + std::to_string(setting.workers) +
           " workers: take a divisor of " + std::to_string(setting.workers) + ", or leave group_size at 0";
  }
  if (size > 0 && setting.workers % size != 0) {
    return "group_size = " + std::to_string(size) + " does not divide " + std::to_string(setting.workers) +
           " workers: take a divisor, or leave it at 0";
  }
  if (setting.knobs.text("division") != "hosts") return "";
  const std::size_t hosts = by_host(setting).size();
  if (size > 0) return "division = 'hosts' makes a group of each host's workers: leave group_size at 0";
  if (hosts > 1 && hosts < static_cast<std::size_t>(setting.workers)) return "";
  return "division = 'hosts' needs several hosts, and several workers on some of them: set network.hosts";
}

// Not checked against the paper's text: which workers form a row if hosts matter (medium confidence).
bool experimental(const KnobValues& knobs) { return knobs.text("division") == "hosts"; }

const Protocol& ds_sync_protocol() {
  static const Protocol protocol{
      .name = "ds_sync",
      .summary = "divide and shuffle: small groups average their models, other groups in every iteration",
      .paper =
          "Wang, Zhang, Yang, Chen, Tan: DS-Sync: Addressing Network Bottlenecks with Divide-and-Shuffle "
          "Synchronization for Distributed DNN Training, INFOCOM 2022",
      .family = Family::kGroups,
      .knobs = {knob("group_size", 0, 0, 4096, "workers in a row; 0: the divisor of n nearest to its root", "memory M"),
                choice("division", {"grid", "hosts"}, "grid: rows by rank; hosts: a row is a host", "memory M"),
                choice("inner", {"allreduce", "ps"}, "within a group: a ring, or a server", "code"),
                choice("average_at", {"after_step", "before_forward"},
                       "before_forward: the average waits for the next iteration, and the last one is left out",
                       "code")},
      .body = ds_sync,
      .extra_ranks = servers,
      .links = links,
      .refuse = refuse,
      .gap_bound = rounds_to_all,
      .source = Source::kAbstractAndCode,
      .reading = "ds_sync/grid",
      .experimental = experimental};
  return protocol;
}

}  // namespace hopbench::groups::ds_sync
