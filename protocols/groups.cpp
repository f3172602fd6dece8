#include "protocols/groups.h"

#include <algorithm>
#include <map>

#include "protocols/collectives.h"

namespace hopbench {
namespace {

// hosts[i]: where worker i is.
Division divided_by(const std::vector<int>& hosts) {
  Division groups;
  std::map<int, std::size_t> group_on;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const auto [found, is_new] = group_on.emplace(hosts[i], groups.size());
    if (is_new) groups.emplace_back();
    groups[found->second].push_back(static_cast<int>(i));
  }
  return groups;
}

}  // namespace

std::size_t group_of(const Division& groups, int rank) {
  const auto found = std::find_if(groups.begin(), groups.end(), [rank](const Group& group) {
    return std::find(group.begin(), group.end(), rank) != group.end();
  });
  HB_ASSERT(found != groups.end());
  return static_cast<std::size_t>(found - groups.begin());
}

Group all_workers(const Setting& setting) {
  Group everybody;
  for (int rank = 0; rank < setting.workers; ++rank) everybody.push_back(rank);
  return everybody;
}

Division grid_rows(int n, int size) {
  HB_ASSERT(size >= 1 && size <= n);
  const int rows = (n + size - 1) / size;
  Division groups;
  for (int row = 0; row < rows; ++row) {
    Group group;
    for (int rank = n * row / rows; rank < n * (row + 1) / rows; ++rank) group.push_back(rank);
    if (row % 2 == 1) std::reverse(group.begin(), group.end());
    groups.push_back(std::move(group));
  }
  return groups;
}

Division columns_of(const Division& rows) {
  Division columns;
  for (const Group& row : rows) {
    columns.resize(std::max(columns.size(), row.size()));
    for (std::size_t j = 0; j < row.size(); ++j) columns[j].push_back(row[j]);
  }
  return columns;
}

Division by_host(const Setting& setting) {
  std::vector<int> hosts;
  for (int rank = 0; rank < setting.workers; ++rank) {
    hosts.push_back(setting.host_of.empty() ? rank : setting.host_of[static_cast<std::size_t>(rank)]);
  }
  return divided_by(hosts);
}

Division by_host(const Node& self) {
  std::vector<int> hosts;
  for (const int rank : self.workers()) hosts.push_back(self.host(rank));
  return divided_by(hosts);
}

Vec group_mean(Node& self, const Group& group, Iter round, const Vec& mine, const char* why) {
  Vec mean = Vec::uninitialised(mine.size(), mine.space());
  ring_mean(self, group, round, share(mine), mean, 0, why);
  self.averaged(round, group);
  return mean;
}

Vec group_mean_at(Node& self, int server, const Group& group, Iter round, const Vec& mine, const char* why) {
  self.send(server, kParams, round, share(mine));
  const Message answer = self.recv(is_from(kWeights, server, round), why);
  Vec mean;
  self.operate(static_cast<double>(2 * mine.size() * sizeof(float)), [&] { mean = Vec::copy_of(answer.body); });
  self.averaged(round, group);
  return mean;
}

bool serve_group_mean(Node& self, const Group& group, Iter round) {
  const auto models = self.gather(group, static_cast<int>(group.size()), is(kParams, round), "models of the group");
  if (models.empty()) return false;
  const Vec mean = average(self, round, terms_of(models));
  for (const int member : group) self.send(member, kWeights, round, share(mean));
  return true;
}

std::vector<Edge> ring_links(const Group& group) {
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < group.size() && group.size() > 1; ++i) {
    edges.emplace_back(group[i], group[(i + 1) % group.size()]);
  }
  return edges;
}

std::vector<Edge> star_links(int centre, const Group& group) {
  std::vector<Edge> edges;
  for (const int member : group) {
    if (member != centre) edges.emplace_back(member, centre);
  }
  return edges;
}

void local_step(Node& self, Vec& x, Optimizer& optimizer, Iter k) {
  const Gradient g = self.gradient(x, k);
  optimizer.step(x, share(g.values), k);
  self.applied(self.rank, k);
}

}  // namespace hopbench
