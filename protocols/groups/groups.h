// Groups of workers: their members, how a group is announced, and its links. The averages of a group's members are in
// protocols/groups/group_average.h.
#pragma once

#include <optional>
#include <vector>

#include "protocols/node/node.h"

namespace hopbench::groups {

/// Some ranks, in an order that is the same on every member. A ring goes through them in this order.
using Group = std::vector<int>;
/// Groups that together hold every worker exactly once.
using Division = std::vector<Group>;

/// Returns the number of the group that `rank` is in.
std::size_t group_of(const Division& groups, int rank);

// --- Divisions

/// Returns workers 0 .. n-1 as one group.
Group all_workers(const Setting& setting);
/// Returns workers 0 .. n-1 in rows of `size`. If that does not divide n, there is one row more than fit, and their
/// sizes differ by at most one. Rows alternate in direction, so neighbouring ranks are in one row or one column.
Division grid_rows(int n, int size);
/// Returns the columns: column j holds the j-th worker of each row that is long enough. If all rows are equally long,
/// the mean over each row and then over each column is the mean over all (and the other way round). Otherwise the last
/// columns are shorter. Every row is in the first column, so rows and columns together still connect all workers.
Division columns_of(const Division& rows);

/// Returns the host of each worker.
std::vector<int> hosts_of(const Setting& setting);
std::vector<int> hosts_of(const Node& self);
/// Returns the workers of each host, ascending. The hosts are in the order of their first workers.
Division by_host(const std::vector<int>& host_of);
Division by_host(const Setting& setting);
Division by_host(const Node& self);

/// Returns the number of rounds, rows and columns in turn, after which every worker has heard of every other. It also
/// bounds a worker's lead over another. It is two on a complete grid. Elsewhere it is four, because a short row or
/// column may have to be left by way of another one. Reads the knobs group_size and division.
std::optional<std::int64_t> rounds_to_all(const Setting& setting);

// --- A group that one rank makes and announces to its members

struct Assignment {
  Iter number = -1;  // carried by its messages; among one worker's groups a later one has a higher number
  Group members{};   // ascending; empty: the worker that receives this goes on alone
};

/// Returns the members of a group as the words of a message, 64 workers in each.
Words words_of(const Group& members);
Group members_in(const Words& words);
inline constexpr int kMostGrouped = 64 * int{Words::kMax};

// --- Links

/// Returns the links for groups of any of the ranks 0 .. ranks - 1.
std::vector<Edge> all_pairs(int ranks);
std::vector<Edge> ring_links(const Group& group);
std::vector<Edge> star_links(int centre, const Group& group);
/// Returns both.
std::vector<Edge> joined(std::vector<Edge> some, const std::vector<Edge>& others);

// Functions for the fact `links`: between any two workers, along a ring of all, from each to the first server, or along
// the suite's topology.
std::vector<Edge> all_pairs(const Setting& setting);
std::vector<Edge> ring_links(const Setting& setting);
std::vector<Edge> star_links(const Setting& setting);
std::vector<Edge> graph_links(const Setting& setting);

}  // namespace hopbench::groups
