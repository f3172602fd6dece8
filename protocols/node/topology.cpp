#include "protocols/node/topology.h"

#include <algorithm>
#include <cmath>

#include "backends/base/error.h"
#include "backends/base/text.h"
#include "protocols/node/eigenvalues.h"

namespace hopbench {
namespace {

using Matrix = std::vector<std::vector<double>>;

using Neighbours = std::vector<std::vector<int>>;

/// Returns the number of edges from rank a to every rank along `next`, by breadth-first search; -1: there is no path.
std::vector<int> search(const Neighbours& next, int a) {
  std::vector<int> distance(next.size(), -1), reached{a};
  reached.reserve(next.size());
  distance[static_cast<std::size_t>(a)] = 0;
  for (std::size_t at = 0; at < reached.size(); ++at) {
    const auto here = static_cast<std::size_t>(reached[at]);
    for (const int neighbour : next[here]) {
      int& there = distance[static_cast<std::size_t>(neighbour)];
      if (there >= 0) continue;
      there = distance[here] + 1;
      reached.push_back(neighbour);
    }
  }
  return distance;
}

bool all_reached(const std::vector<int>& distances) {
  return *std::min_element(distances.begin(), distances.end()) >= 0;
}

/// Returns true if all have the same number of neighbours.
bool equal_degrees(const Neighbours& all) {
  return std::all_of(all.begin(), all.end(), [&](const auto& each) { return each.size() == all[0].size(); });
}

void both_ways(std::vector<Edge>& edges, int a, int b) {
  if (a == b) return;
  edges.emplace_back(a, b);
  edges.emplace_back(b, a);
}

/// Adds a ring of the ranks first .. first + n - 1.
void add_ring(std::vector<Edge>& edges, int first, int n) {
  for (int i = 0; i < n; ++i) both_ways(edges, first + i, first + (i + 1) % n);
}

void add_ring_based(std::vector<Edge>& edges, int first, int n) {
  add_ring(edges, first, n);
  for (int i = 0; i < n / 2; ++i) both_ways(edges, first + i, first + i + n / 2);
}

/// Returns the number of rows of the torus of n workers that is nearest to a square; 0: there is none with three rows
/// and three columns.
int torus_rows(int n) {
  int rows = 0;
  for (int d = 3; d * d <= n; ++d) {
    if (n % d == 0) rows = d;
  }
  return rows;
}

void add_torus(std::vector<Edge>& edges, int n) {
  const int columns = n / torus_rows(n);
  for (int i = 0; i < n; ++i) {
    both_ways(edges, i, i / columns * columns + (i + 1) % columns);
    both_ways(edges, i, (i + columns) % n);
  }
}

// Enough for 2000 workers. With more, the graph alone would use up the machine's memory before an error message.
constexpr std::int64_t kMostEdges = 4'000'000;

void check_complete(int n) {
  const std::int64_t edges = std::int64_t{n} * (n - 1);
  if (edges <= kMostEdges) return;
  throw usage_error("topology 'complete' of " + std::to_string(n) + " workers has " + std::to_string(edges) +
                    " edges, more than " + std::to_string(kMostEdges) + ": take fewer workers, or 'ring'");
}

Error not_defined(const std::string& name, int n, const char* for_which) {
  return usage_error("topology '" + name + "' is not defined for " + std::to_string(n) + " workers: it needs " +
                     for_which + ": change the number of workers, or take 'ring' or 'complete'");
}

}  // namespace

Topology::Topology(std::string name, int n, std::vector<Edge> edges) : name_(std::move(name)) {
  if (n < 1) throw usage_error("topology '" + name_ + "': a graph needs at least one worker");
  for (int r = 0; r < n; ++r) ranks_.push_back(r);
  starts_ = ranks_;
  in_.resize(static_cast<std::size_t>(n));
  out_.resize(static_cast<std::size_t>(n));
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  for (const auto& [a, b] : edges) {
    const std::string edge = "topology '" + name_ + "': edge " + std::to_string(a) + " -> " + std::to_string(b);
    if (a < 0 || b < 0 || a >= n || b >= n)
      throw usage_error(edge + ": there is no such worker: ranks go from 0 to " + std::to_string(n - 1));
    if (a == b) throw usage_error(edge + " is a loop: every worker counts itself anyway, leave it out");
    out_[static_cast<std::size_t>(a)].push_back(b);
    in_[static_cast<std::size_t>(b)].push_back(a);
  }
  regular_ = equal_degrees(in_) && equal_degrees(out_);
}

Topology Topology::without(const std::vector<int>& left_out) const {
  std::vector<int> anew(in_.size());  // -1: left out
  int others = 0;
  for (int r = 0; r < size(); ++r)
    anew[std::size_t(r)] = std::binary_search(left_out.begin(), left_out.end(), r) ? -1 : others++;
  std::vector<Edge> edges;
  for (int a = 0; a < size(); ++a) {
    for (const int b : out(a)) {
      const Edge edge{anew[std::size_t(a)], anew[std::size_t(b)]};
      if (edge.first >= 0 && edge.second >= 0) edges.push_back(edge);
    }
  }
  return Topology(name_, others, edges);
}

bool Topology::undirected() const { return in_ == out_; }

bool Topology::strongly_connected() const { return all_reached(distances_from(0)) && all_reached(distances_to(0)); }

std::string unconnected(const Topology& graph) {
  if (graph.strongly_connected()) return "";
  return "topology '" + graph.name() + "' is not strongly connected: some worker never hears of another's work";
}

int Topology::distance(int a, int b) const { return distances_from(a)[static_cast<std::size_t>(b)]; }

std::vector<int> Topology::distances_from(int a) const { return search(out_, a); }

std::vector<int> Topology::distances_to(int b) const { return search(in_, b); }

std::int64_t Topology::largest_lead(std::int64_t there, std::int64_t back) const {
  if (there == 0 && back == 0) return -1;
  if (there == 0 || back == 0 || undirected()) {  // then the lead grows with one distance alone
    const std::int64_t longest = diameter();
    return longest < 0 ? -1 : longest * (there == 0 ? back : back == 0 ? there : std::min(there, back));
  }
  if (!strongly_connected()) return -1;
  std::int64_t largest = 0;
  for (const int i : starts_) {
    const std::vector<int> to = distances_from(i), from = distances_to(i);
    for (std::size_t j = 0; j < to.size(); ++j) largest = std::max(largest, std::min(there * to[j], back * from[j]));
  }
  return largest;
}

int Topology::diameter() const {
  if (!strongly_connected()) return -1;
  int largest = 0;
  for (const int a : starts_) {
    const std::vector<int> distances = distances_from(a);
    largest = std::max(largest, *std::max_element(distances.begin(), distances.end()));
  }
  return largest;
}

double metropolis_weight(const Topology& graph, int i, int j) {
  return 1.0 / static_cast<double>(1 + std::max(graph.in(i).size(), graph.in(j).size()));
}

double smallest_mixing_eigenvalue(const Topology& graph) {
  static thread_local std::pair<Neighbours, double> last;  // every rank of a simulation asks for the same
  Neighbours in;
  for (const int r : graph.ranks()) in.push_back(graph.in(r));
  if (last.first == in) return last.second;
  Matrix w(in.size(), std::vector<double>(in.size(), 0.0));
  for (std::size_t i = 0; i < w.size(); ++i) {
    w[i][i] = 1;
    for (const int j : in[i]) {
      w[i][static_cast<std::size_t>(j)] = metropolis_weight(graph, static_cast<int>(i), j);
      w[i][i] -= w[i][static_cast<std::size_t>(j)];
    }
  }
  last = {std::move(in), eigenvalues(w).front()};
  return last.second;
}

std::vector<std::vector<double>> Topology::weights() const {
  Matrix w(in_.size(), std::vector<double>(in_.size(), 0.0));
  for (std::size_t i = 0; i < in_.size(); ++i) {
    const double weight = 1.0 / static_cast<double>(in_[i].size() + 1);
    w[i][i] = weight;
    for (int j : in_[i]) w[i][static_cast<std::size_t>(j)] = weight;
  }
  return w;
}

double Topology::spectral_gap() const {
  HB_ASSERT(undirected());
  if (size() == 1) return 1.0;
  // W = D^-1 (A + I) has the eigenvalues of the symmetric D^-1/2 (A + I) D^-1/2.
  Matrix m = weights();
  for (std::size_t i = 0; i < m.size(); ++i) {
    for (std::size_t j = 0; j < m.size(); ++j) {
      if (m[i][j] != 0) m[i][j] = 1.0 / std::sqrt(static_cast<double>((in_[i].size() + 1) * (in_[j].size() + 1)));
    }
  }
  const std::vector<double> values = eigenvalues(m);  // the last is 1
  return 1.0 - std::max(std::abs(values.front()), std::abs(values[values.size() - 2]));
}

Topology make_topology(const std::string& name, int n) {
  std::vector<std::string> known;
  for (const auto& [each, summary] : topologies()) known.emplace_back(each);
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    throw usage_error("unknown topology '" + name + "': there are " + join(known, ", ") + "." +
                      did_you_mean(name, known));
  }
  std::vector<Edge> edges;
  if (n <= 1) return Topology(name, n, edges);
  if (name == "ring") {
    add_ring(edges, 0, n);
  } else if (name == "ring_based") {
    if (n % 2 != 0) throw not_defined(name, n, "an even number");
    add_ring_based(edges, 0, n);
  } else if (name == "double_ring") {
    if (n % 4 != 0) throw not_defined(name, n, "a multiple of 4");
    add_ring_based(edges, 0, n / 2);
    add_ring_based(edges, n / 2, n / 2);
    for (int i = 0; i < n / 2; ++i) both_ways(edges, i, i + n / 2);
  } else if (name == "complete") {
    check_complete(n);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < i; ++j) both_ways(edges, i, j);
    }
  } else if (name == "torus") {
    if (torus_rows(n) == 0) throw not_defined(name, n, "a product of two numbers that are 3 or more");
    add_torus(edges, n);
  } else if (name == "exponential") {
    for (int i = 0; i < n; ++i) {
      for (int ahead = 1; ahead < n; ahead *= 2) edges.emplace_back(i, (i + ahead) % n);
    }
  } else {
    for (int i = 1; i < n; ++i) both_ways(edges, 0, i);
  }
  Topology graph(name, n, edges);
  graph.starts_ = name == "star" ? std::vector<int>{0, 1} : std::vector<int>{0};
  return graph;
}

const std::vector<std::pair<const char*, const char*>>& topologies() {
  static const std::vector<std::pair<const char*, const char*>> all = {
      {"ring", "worker i and its neighbours i-1 and i+1"},
      {"ring_based", "a ring, and each worker with the one opposite, i + n/2 (n even)"},
      {"double_ring", "two ring-based graphs of n/2 workers, joined worker to worker (n a multiple of 4)"},
      {"complete", "everybody with everybody"},
      {"star", "everybody with worker 0"},
      {"torus", "a grid that closes on itself, as near to a square as n allows: four neighbours each"},
      {"exponential", "worker i sends to i + 1, i + 2, i + 4, ... below n (one direction)"},
  };
  return all;
}

}  // namespace hopbench
