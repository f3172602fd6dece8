// The workers' graphs in a suite. Inside of configuration.cpp and expand.cpp.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "protocols/protocol.h"
#include "protocols/topology.h"
#include "suites/draft.h"

namespace hopbench {

/// What a variant of a configuration trains on: the graph and the hosts of those workers that it does not leave out.
class TrainingSetting {
 public:
  /// `whole`, of everybody, and the others must outlive this. What `without` says must be right.
  TrainingSetting(const Configuration& c, const VariantDraft& variant, const Topology& whole);
  /// Of a model with so many parameters, where the suite sets it.
  Setting of(std::int64_t parameters = 0) const;
  /// Why the workers that are left cannot train: they are not connected. Empty: they can.
  std::string why_torn() const;

 private:
  const Topology& graph() const { return rest_ ? *rest_ : whole_; }
  const VariantDraft& variant_;
  const Topology& whole_;
  std::optional<Topology> rest_;  // without those who are left out, where somebody is
  std::vector<int> host_of_;
};

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
