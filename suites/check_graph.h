// The workers' graphs in a suite. Inside of configuration.cpp and expand.cpp.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "protocols/topology.h"
#include "suites/draft.h"

namespace hopbench {

/// Of all configurations, each graph made and looked at once: there may be thousands of configurations with the same
/// one, and a graph may have millions of edges.
class Graphs {
 public:
  /// nullptr: none on which workers can train; why is among the mistakes. Valid until the next call.
  const Topology* of(const Draft& draft, const Configuration& c, Mistakes& mistakes);

 private:
  struct Made {
    std::unique_ptr<Topology> graph;
    std::string why;  // there is none
  };
  using Key = std::tuple<std::string, int, std::vector<Edge>>;
  const Made& made(const Key& key);
  std::map<Key, Made> made_;
  std::size_t held_ = 0;  // edges and ranks of all of them
};

}  // namespace hopbench
