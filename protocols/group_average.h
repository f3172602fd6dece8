// A group of workers that meet once and average their models, and how they do it: what Prague and Partial Reduce have
// in common. Whom a group holds is decided elsewhere (group_generator.h, ready_queue.h).
#pragma once

#include <vector>

#include "protocols/node.h"

namespace hopbench {

struct Assignment {
  Iter number = -1;            // its messages carry it; of one worker's groups a later one has a higher number
  std::vector<int> members{};  // ascending; nobody: the worker that is told so goes on alone
};

/// The members of a group as the words of a message, 64 workers in each.
Words words_of(const std::vector<int>& members);
std::vector<int> members_in(const Words& words);
inline constexpr int kMostGrouped = 64 * int{Words::kMax};

/// x becomes the average of the members' vectors; each of them calls this with the same group. `tag` says how old x is:
/// a vector that is s behind the group's newest has decay^s times its weight. Returns the newest tag.
///
/// Member i of n sums the i-th slices of all, by ascending rank, and sends the sum to all: 2 (n - 1) messages a member,
/// of 1/n of the vector each, as around a ring, but in two steps. Everybody has the same bits afterwards.
Iter group_average(Node& self, const Assignment& group, Iter tag, Vec& x, double decay = 1.0);

/// Links for groups of any of the ranks 0 .. ranks - 1.
std::vector<Edge> all_pairs(int ranks);

}  // namespace hopbench
