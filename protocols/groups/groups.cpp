#include "protocols/groups/groups.h"

#include <algorithm>
#include <map>

#include "backends/base/error.h"

namespace hopbench::groups {

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

std::vector<int> hosts_of(const Setting& setting) {
  if (setting.host_of.empty()) return all_workers(setting);
  return {setting.host_of.begin(), setting.host_of.begin() + setting.workers};
}

std::vector<int> hosts_of(const Node& self) {
  std::vector<int> hosts;
  for (const int rank : self.workers()) hosts.push_back(self.host(rank));
  return hosts;
}

Division by_host(const std::vector<int>& host_of) {
  Division groups;
  std::map<int, std::size_t> group_on;
  for (std::size_t i = 0; i < host_of.size(); ++i) {
    const auto [found, is_new] = group_on.emplace(host_of[i], groups.size());
    if (is_new) groups.emplace_back();
    groups[found->second].push_back(static_cast<int>(i));
  }
  return groups;
}

Division by_host(const Setting& setting) { return by_host(hosts_of(setting)); }
Division by_host(const Node& self) { return by_host(hosts_of(self)); }

Words words_of(const Group& members) {
  std::uint64_t bits[Words::kMax] = {};
  std::size_t used = 0;
  for (int member : members) {
    const auto word = static_cast<std::size_t>(member) / 64;
    HB_ASSERT(word < Words::kMax);
    bits[word] |= std::uint64_t{1} << (member % 64);
    used = std::max(used, word + 1);
  }
  Words words;
  for (std::size_t i = 0; i < used; ++i) words.push_back(static_cast<std::int64_t>(bits[i]));
  return words;
}

Group members_in(const Words& words) {
  Group members;
  for (int r = 0; r < static_cast<int>(64 * words.size()); ++r) {
    const auto bits = static_cast<std::uint64_t>(words[static_cast<std::size_t>(r) / 64]);
    if ((bits >> (r % 64) & 1) != 0) members.push_back(r);
  }
  return members;
}

std::vector<Edge> all_pairs(int ranks) {
  std::vector<Edge> edges;
  for (int a = 0; a < ranks; ++a) {
    for (int b = 0; b < a; ++b) edges.emplace_back(a, b);
  }
  return edges;
}

std::optional<std::int64_t> rounds_to_all(const Setting& setting) {
  const int n = setting.workers, size = setting.knobs.integer("group_size");
  bool complete = size > 0 && n % size == 0;
  for (int d = 2; d < n && size == 0; ++d) complete = complete || n % d == 0;
  return complete && setting.knobs.text("division") == "grid" ? 2 : 4;
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

std::vector<Edge> joined(std::vector<Edge> some, const std::vector<Edge>& others) {
  some.insert(some.end(), others.begin(), others.end());
  return some;
}

std::vector<Edge> all_pairs(const Setting& setting) { return all_pairs(setting.workers); }
std::vector<Edge> ring_links(const Setting& setting) { return ring_links(all_workers(setting)); }
std::vector<Edge> star_links(const Setting& setting) { return star_links(setting.workers, all_workers(setting)); }

std::vector<Edge> graph_links(const Setting& setting) {
  std::vector<Edge> edges;
  for (int a = 0; a < setting.workers; ++a) {
    for (const int b : setting.graph.out(a)) edges.emplace_back(a, b);
  }
  return edges;
}

}  // namespace hopbench::groups
