// Groups of workers: whom a group holds, what is said of it, and its links. What its members do together is in
// protocols/group_average.h.
#pragma once

#include <optional>
#include <vector>

#include "protocols/node.h"

namespace hopbench {

/// Some ranks, in an order that is the same on every member: a ring goes through them in it.
using Group = std::vector<int>;
/// Every worker is in exactly one of its groups.
using Division = std::vector<Group>;

/// The number of the group that `rank` is in.
std::size_t group_of(const Division& groups, int rank);

// --- Divisions

/// Workers 0 .. n-1, in one group.
Group all_workers(const Setting& setting);
/// Workers 0 .. n-1 in rows of `size` or, where that does not divide n, one row more than fit, whose sizes differ by at
/// most one. Rows go to and fro, so neighbouring ranks are in one row or one column.
Division grid_rows(int n, int size);
/// Column j: the j-th of each row that is so long. If all rows are equally long, the mean over each row and then over
/// each column is the mean over all (and the other way round). Otherwise the last columns are shorter; every row is in
/// the first column, so rows and columns together still connect all.
Division columns_of(const Division& rows);

/// Of each worker.
std::vector<int> hosts_of(const Setting& setting);
std::vector<int> hosts_of(const Node& self);
/// The workers of each host, ascending; hosts by their first worker.
Division by_host(const std::vector<int>& host_of);
Division by_host(const Setting& setting);
Division by_host(const Node& self);

/// In how many rounds, of rows and of columns in turns, every worker hears of every other, which none can be further
/// ahead of: two on a complete grid. Elsewhere a short row or column may have to be left by another one: four. Reads
/// the knobs group_size and division.
std::optional<std::int64_t> rounds_to_all(const Setting& setting);

// --- A group that somebody makes, and tells its members of

struct Assignment {
  Iter number = -1;  // its messages carry it; of one worker's groups a later one has a higher number
  Group members{};   // ascending; nobody: the worker that is told so goes on alone
};

/// The members of a group as the words of a message, 64 workers in each.
Words words_of(const Group& members);
Group members_in(const Words& words);
inline constexpr int kMostGrouped = 64 * int{Words::kMax};

// --- Links

/// For groups of any of the ranks 0 .. ranks - 1.
std::vector<Edge> all_pairs(int ranks);
std::vector<Edge> ring_links(const Group& group);
std::vector<Edge> star_links(int centre, const Group& group);

}  // namespace hopbench
