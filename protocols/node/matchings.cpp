#include "protocols/node/matchings.h"

#include <algorithm>

#include "backends/base/error.h"

namespace hopbench {
namespace {

/// The colours of edges: those of one colour are a matching.
class Colouring {
 public:
  explicit Colouring(const Topology& graph) : graph_(graph) {
    std::size_t degree = 0;
    for (int r = 0; r < graph.size(); ++r) degree = std::max(degree, graph.in(r).size());
    at_.assign(static_cast<std::size_t>(graph.size()), std::vector<int>(degree + 1, kNone));
  }

  /// Colours edge u - v, which has no colour yet, by changing those of other edges where it must.
  void add(int u, int v) {
    for (int colour = 0; colour < int(at_[0].size()); ++colour) {
      if (is_free(u, colour) && is_free(v, colour)) return set(u, v, colour);
    }
    std::vector<int> fan = fan_of(u, v);
    const int c = free_colour(u), d = free_colour(fan.back());
    flip_path(u, d, c);
    fan.resize(prefix_with_free(u, fan, d));
    for (std::size_t i = 0; i + 1 < fan.size(); ++i) {
      const int colour = colour_of(u, fan[i + 1]);
      clear(u, fan[i + 1], colour);
      set(u, fan[i], colour);
    }
    set(u, fan.back(), d);
  }

  std::vector<std::vector<Edge>> matchings() const {
    std::vector<std::vector<Edge>> all(at_[0].size());
    for (int a = 0; a < graph_.size(); ++a) {
      for (std::size_t colour = 0; colour < all.size(); ++colour) {
        const int b = partner(a, int(colour));
        if (b > a) all[colour].emplace_back(a, b);
      }
    }
    std::erase_if(all, [](const auto& each) { return each.empty(); });
    return all;
  }

 private:
  static constexpr int kNone = -1;

  int partner(int vertex, int colour) const { return at_[std::size_t(vertex)][std::size_t(colour)]; }
  bool is_free(int vertex, int colour) const { return partner(vertex, colour) == kNone; }
  int free_colour(int vertex) const { return colour_of(vertex, kNone); }
  int colour_of(int a, int b) const {
    const auto& colours = at_[std::size_t(a)];
    return int(std::find(colours.begin(), colours.end(), b) - colours.begin());
  }
  void set(int a, int b, int colour) {
    at_[std::size_t(a)][std::size_t(colour)] = b;
    at_[std::size_t(b)][std::size_t(colour)] = a;
  }
  void clear(int a, int b, int colour) {
    at_[std::size_t(a)][std::size_t(colour)] = kNone;
    at_[std::size_t(b)][std::size_t(colour)] = kNone;
  }

  /// Returns a longest fan: neighbours of u, from v on, such that the colour of each one's edge is free at the one
  /// before it.
  std::vector<int> fan_of(int u, int v) const {
    std::vector<int> fan{v};
    for (bool grows = true; grows;) {
      grows = false;
      for (int colour = 0; colour < int(at_[0].size()) && !grows; ++colour) {
        const int next = partner(u, colour);
        if (next == kNone || !is_free(fan.back(), colour)) continue;
        if (std::find(fan.begin(), fan.end(), next) != fan.end()) continue;
        fan.push_back(next);
        grows = true;
      }
    }
    return fan;
  }

  /// Exchanges the colours on the path from u whose edges have the colours `first` and `second` in turn.
  void flip_path(int u, int first, int second) {
    std::vector<int> path{u};
    for (int colour = first; !is_free(path.back(), colour); colour = colour == first ? second : first)
      path.push_back(partner(path.back(), colour));
    const auto colour_at = [&](std::size_t i) { return i % 2 == 0 ? first : second; };
    for (std::size_t i = 0; i + 1 < path.size(); ++i) clear(path[i], path[i + 1], colour_at(i));
    for (std::size_t i = 0; i + 1 < path.size(); ++i) set(path[i], path[i + 1], colour_at(i + 1));
  }

  /// Returns the length of the shortest part of the fan that is still a fan and ends where `colour` is free.
  std::size_t prefix_with_free(int u, const std::vector<int>& fan, int colour) const {
    for (std::size_t i = 0; i < fan.size(); ++i) {
      if (is_free(fan[i], colour)) return i + 1;
      HB_ASSERT(i + 1 < fan.size() && is_free(fan[i], colour_of(u, fan[i + 1])));
    }
    return fan.size();
  }

  const Topology& graph_;
  std::vector<std::vector<int>> at_;  // by vertex and colour: the other end of the edge
};

}  // namespace

std::vector<std::vector<Edge>> matchings_of(const Topology& graph) {
  Colouring colouring(graph);
  for (int a = 0; a < graph.size(); ++a) {
    for (const int b : graph.out(a)) {
      if (b > a) colouring.add(a, b);
    }
  }
  return colouring.matchings();
}

}  // namespace hopbench
