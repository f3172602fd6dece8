// Operations on groups that several protocols share. They are written over send and recv like the protocols themselves,
// so they are simulated, measured and checked like everything else.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "protocols/node/node.h"

namespace hopbench {

/// Returns the number of workers that are present.
int present_workers(const Node& self);

/// Returns the vectors that `messages` carry, each with weight 1.
std::vector<Term> terms_of(std::span<const Message> messages);

/// Returns Node::reduce of the terms by ascending sender, because the order determines the bits.
Vec sum(Node& self, Iter k, std::vector<Term> terms);

/// Returns the same with the weights scaled so that they sum to 1.
Vec average(Node& self, Iter k, std::vector<Term> terms);

/// Returns the sum of factor * vector, added in the order given: combined({{1, a}, {-1, b}}) is a - b.
using Scaled = std::pair<double, Payload>;
Vec combined(std::initializer_list<Scaled> terms);
/// Returns the same, as a vector operation of this rank that reads the vectors and writes their sum.
Vec combined(Node& self, std::initializer_list<Scaled> terms);

/// Returns weight * a + weight * b, as a vector operation of this rank. (a, b) and (b, a) give the same bits.
Payload added(Node& self, const Payload& a, const Payload& b, float weight);

/// Sends a message to all other workers. Waits for theirs, and returns those of all workers, its own included, by
/// ascending rank.
std::vector<Message> exchanged(Node& self, Kind kind, Iter k, const Payload& body, const Words& words, const char* why);

/// A worker that was away (Node::returned) takes the parameters after at least k iterations of the first of these
/// workers that is present. Leaves x as it is if there is none, or if that one has reported nothing yet.
void take_state(Node& self, std::span<const int> peers, Iter k, Vec& x);

/// Ring all-reduce (reduce-scatter, then all-gather), which writes the mean of all members' `mine` to result[offset,
/// offset + mine.size()). Each rank sends 2 (n - 1) messages of 1/n of the vector. If that is more than 1 MiB, it is
/// sent in pieces of at most 1 MiB, so that one piece travels while the next is added up.
///
/// Each n-th part is summed along the ring and scaled by one rank, and all members get that rank's bits, so all results
/// are bit-identical. `group` is the same on every rank and holds this one. Several calls with one k must come in the
/// same order on every rank. `mine` may be a slice of a vector that is still being written elsewhere.
///
/// Also adds up each member's `count`. The weights of the vectors are added up and scaled on the way by the same
/// arithmetic as the vectors, so a wrong divisor shows in the result's weight.
struct RingMean {
  std::int64_t count = 0;            // the sum of the members' counts
  double weight = 1;                 // the weight of each member's vector in the result
  std::vector<std::int64_t> counts;  // of each member
};
RingMean ring_mean(Node& self, std::span<const int> group, Iter k, const Payload& mine, Vec& result, std::size_t offset,
                   const char* why, std::int64_t count = 0);

/// Reports such a mean to the checkers where each member's vector was a mean times its count, and the result is divided
/// by the sum of the counts: the members' weights are their shares of it.
void averaged_by_counts(Node& self, std::span<const int> group, Iter k, const RingMean& mean);

}  // namespace hopbench
