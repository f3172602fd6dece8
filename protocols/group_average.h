// What the members of a group do together (protocols/groups.h): they average their models, in one of three ways. All
// members get the same bits, whatever the speeds: the order of every sum is fixed by the group, not by who came first.
#pragma once

#include "protocols/groups.h"
#include "protocols/node.h"

namespace hopbench {

// `round` is the same on every member and tells one average from the others.

/// The mean of the members' `mine`, by a ring all-reduce.
Vec group_mean(Node& self, const Group& group, Iter round, const Vec& mine, const char* why);
/// The same at a server, which sums by ascending rank.
Vec group_mean_at(Node& self, int server, const Group& group, Iter round, const Vec& mine, const char* why);
/// The server's part of one such mean; of several groups in one round each has a server of its own. False: all members
/// have left.
bool serve_group_mean(Node& self, const Group& group, Iter round);

/// x becomes the average of the members' vectors, of models of unequal age: `tag` says how old x is, and a vector that
/// is s behind the group's newest has decay^s times its weight. Returns the newest tag.
///
/// Member i of n sums the i-th slices of all, by ascending rank, and sends the sum to all: 2 (n - 1) messages a member,
/// of 1/n of the vector each, as around a ring, but in two steps.
///
/// Of members that die meanwhile nothing is awaited: a slice is the average of those whose slices came; the slice that
/// a dead one was to sum stays as it is on each of the others.
Iter group_average(Node& self, const Assignment& group, Iter tag, Vec& x, double decay = 1.0);

/// What comes before or after the average: one step of SGD on the worker's own model, the gradient at x over its
/// samples of iteration k, at once applied.
void local_step(Node& self, Vec& x, Optimizer& optimizer, Iter k);

}  // namespace hopbench
