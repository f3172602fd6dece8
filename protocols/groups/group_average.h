// The averaging of models by the members of a group (protocols/groups/groups.h), in one of three ways. All members get
// the same bits, whatever the speeds, because the group determines the order of every sum, not the order of arrival.
#pragma once

#include "protocols/groups/groups.h"
#include "protocols/node/node.h"

namespace hopbench::groups {

// `round` is the same on every member and distinguishes one average from the others.

/// Returns the mean of the members' `mine`, by a ring all-reduce.
Vec group_mean(Node& self, const Group& group, Iter round, const Vec& mine, const char* why);
/// Returns the same, computed at a server, which sums by ascending rank.
Vec group_mean_at(Node& self, int server, const Group& group, Iter round, const Vec& mine, const char* why);
/// Runs the server's part of one such mean. If a round has several groups, each has a server of its own. Returns false
/// if all members have left.
bool serve_group_mean(Node& self, const Group& group, Iter round);

/// Sets x to the average of the members' vectors, which may be of unequal age. `tag` dates x (larger is newer), and a
/// vector that is s behind the group's newest gets decay^s times its weight. Returns the newest tag.
///
/// Member i of n sums the i-th slices of all members, by ascending rank, and sends the sum to all. A member sends 2 (n
/// - 1) messages of 1/n of the vector each, as around a ring, but in two steps.
///
/// Does not wait for members that die meanwhile. A slice is then the average of those whose slices came, and the slice
/// that a dead member was to sum stays as it is on each of the others.
Iter average_in_group(Node& self, const Assignment& group, Iter tag, Vec& x, double decay = 1.0);

/// Makes one step of SGD on the worker's own model, before or after the average: computes the gradient at x over its
/// samples of iteration k and applies it at once.
void local_step(Node& self, Vec& x, Optimizer& optimizer, Iter k);

/// Enters iteration k and makes a local step. Returns true if a period ends with it, so that an average is due.
bool inner_step(Node& self, Vec& x, Optimizer& optimizer, Iter k, Iter period);

}  // namespace hopbench::groups
