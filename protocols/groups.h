// Groups of workers: how they are divided, and the average within a group.
//
// An average is along a ring of the members or at a server. Either way all members get the same bits, whatever the
// speeds: the order of every sum is fixed by the group, not by who came first.
#pragma once

#include <span>
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
/// The workers of each host, ascending; hosts by their first worker.
Division by_host(const Setting& setting);
Division by_host(const Node& self);

// --- The average within a group. `round` is the same on every member and tells one average from the others.

/// The mean of the members' `mine`, by a ring all-reduce.
Vec group_mean(Node& self, const Group& group, Iter round, const Vec& mine, const char* why);
/// The same at a server, which sums by ascending rank.
Vec group_mean_at(Node& self, int server, const Group& group, Iter round, const Vec& mine, const char* why);
/// The server's part of one such mean; of several groups in one round each has a server of its own. False: all members
/// have left.
bool serve_group_mean(Node& self, const Group& group, Iter round);

/// The links that they need.
std::vector<Edge> ring_links(const Group& group);
std::vector<Edge> star_links(int centre, const Group& group);

// --- What comes before or after the average.

/// One step of SGD on the worker's own model: the gradient at x over its samples of iteration k, at once applied.
void local_step(Node& self, Vec& x, Optimizer& optimizer, Iter k);

}  // namespace hopbench
