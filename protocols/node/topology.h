// The communication graph of the workers, which is directed and without self loops, and its mixing weights.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace hopbench {

using Edge = std::pair<int, int>;  // a -> b: a sends to b

class Topology {
 public:
  Topology(std::string name, int n,
           std::vector<Edge> edges);  // duplicates are dropped; Error(kUsage) for bad ends or self loops

  /// Returns the graph without the ranks in `left_out` (ascending). The others are renumbered without gaps.
  Topology without(const std::vector<int>& left_out) const;

  const std::string& name() const { return name_; }
  int size() const { return int(in_.size()); }
  const std::vector<int>& ranks() const { return ranks_; }                         // 0 .. size() - 1
  const std::vector<int>& in(int rank) const { return in_[std::size_t(rank)]; }    // ascending, without rank
  const std::vector<int>& out(int rank) const { return out_[std::size_t(rank)]; }  // ascending, without rank
  bool undirected() const;
  /// Returns true if all ranks have the same number of in-neighbours and the same number of out-neighbours.
  bool regular() const { return regular_; }
  bool strongly_connected() const;
  /// Returns the number of edges on the shortest directed path a -> b; -1 if there is none, 0 if a == b.
  int distance(int a, int b) const;
  /// Returns the same from rank a to every rank, in O(edges).
  std::vector<int> distances_from(int a) const;
  /// Returns the same from every rank to rank b, in O(edges).
  std::vector<int> distances_to(int b) const;
  /// Returns the largest distance; -1 if some rank cannot reach another. Takes O(starts() x edges).
  int diameter() const;
  /// Returns the largest of min(there * distance(i, j), back * distance(j, i)) over all i and j: how far i may be ahead
  /// of j if an edge allows `there` iterations against its direction (tokens) and `back` along it (updates). 0: no
  /// bound that way. Returns -1 if both are 0 or the graph is not strongly connected. Takes O(starts() x edges).
  std::int64_t largest_lead(std::int64_t there, std::int64_t back) const;
  /// Returns the ranks from which distances must be measured to know the largest one. For each other rank, a renaming
  /// of the ranks that keeps all edges (an automorphism) maps it to one of these, so it sees the same set of distances
  /// in both directions. Only make_topology knows such renamings:
  ///   ring, complete, exponential
  ///                     {0}: i -> i + 1 (mod n) keeps every edge.
  ///   torus             {0}: shifts of rows and of columns keep every edge.
  ///   ring_based        {0}: the same, as i <-> i + n/2 becomes i + 1 <-> i + 1 + n/2 (n is even).
  ///   double_ring       {0}: i -> i + 1 (mod n/2) in both halves at once, and the exchange of the two halves.
  ///   star              {0, 1}: every exchange of two outer workers keeps all edges, and no renaming moves the centre.
  /// A graph with edges of its own has all ranks here, whatever its name.
  const std::vector<int>& starts() const { return starts_; }
  /// Returns W. W[i][j] is the weight of j's vector in i's average: 1 / (in-degree + 1) for each in-neighbour and i.
  std::vector<std::vector<double>> weights() const;
  /// Returns 1 - |second largest eigenvalue| of the weights. For undirected graphs only.
  double spectral_gap() const;

 private:
  std::string name_;
  std::vector<int> ranks_, starts_;
  std::vector<std::vector<int>> in_, out_;
  bool regular_;

  friend Topology make_topology(const std::string& name, int n);
};

/// Returns the Metropolis weight that i and j give each other's vector, 1 / (1 + the larger degree of the two). On an
/// undirected graph these are symmetric, so with the rest of 1 for a rank's own vector they are doubly stochastic. On a
/// regular graph they are uniform.
double metropolis_weight(const Topology& graph, int i, int j);

/// Returns the smallest eigenvalue of W with Metropolis weights, for an undirected graph. Takes O(n^3), once for calls
/// with the same graph.
double smallest_mixing_eigenvalue(const Topology& graph);

/// Returns why workers that hear of each other only through this graph cannot train together: it is not strongly
/// connected. Empty if it is.
std::string unconnected(const Topology& graph);

/// Makes ring (i <-> i+-1), ring_based (ring plus i <-> i + n/2), double_ring (two ring-based graphs of n/2, joined
/// node to node), complete, star (all <-> 0), torus (a grid of a x b = n ranks that closes on itself, 3 <= a <= b, as
/// near to a square as possible) or exponential (i -> i + 2^k for all 2^k < n, the static exponential graph of Ying et
/// al., 2021). With one rank, none of them has edges. Throws Error(kUsage) for an unknown name (with the known ones) or
/// an n for which it is not defined.
Topology make_topology(const std::string& name, int n);
const std::vector<std::pair<const char*, const char*>>& topologies();  // name, one line

}  // namespace hopbench
