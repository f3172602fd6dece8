// The workers' graphs in a suite. Inside of configuration.cpp and expand.cpp.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "protocols/node/protocol.h"
#include "protocols/node/topology.h"
#include "suites/language/draft.h"

namespace hopbench {

/// The graph and the hosts of the workers that a variant trains with.
class TrainingSetting {
 public:
  /// `whole` is the graph of all workers; protocols that use no topology need none. `variant` and `whole` must outlive
  /// this. The variant must pass check_without.
  TrainingSetting(const Configuration& c, const VariantDraft& variant, const Topology* whole);
  /// Returns the protocol's setting. `parameters`: the size of the model if the suite sets it, else 0.
  Setting of(std::int64_t parameters = 0) const;
  /// Returns " without rank 3 (ranks 0 to 2 are the others, numbered anew)"; empty if nobody is left out.
  std::string of_whom() const;
  /// Returns why the remaining workers are not connected; empty if they are, or need not be.
  std::string why_torn() const;

 private:
  const Topology& graph() const { return own_ ? *own_ : *whole_; }
  const VariantDraft& variant_;
  const Topology* whole_;
  std::optional<Topology> own_;  // set if workers are left out, or if the protocol uses no topology
  std::vector<int> left_out_, host_of_;
  int batch_;
};

/// Returns true if the variant runs on the suite's topology. A variant of an unknown protocol does not.
bool uses_topology(const VariantDraft& variant);

/// The graphs of all configurations. Each is made and checked once, because thousands of configurations may have the
/// same one, and a graph may have millions of edges.
class Graphs {
 public:
  /// nullptr: none on which workers can train; why is among the mistakes. Valid until the next call. `asked`: false if
  /// no variant uses the topology, so that only what the suite says of edges must be right.
  const Topology* of(const Draft& draft, const Configuration& c, bool asked, Mistakes& mistakes);

 private:
  struct Made {
    std::unique_ptr<Topology> graph;
    std::string why;  // there is none, or workers cannot train on it
  };
  using Key = std::tuple<std::string, int, std::vector<Edge>>;
  const Made& made(const Key& key);
  std::map<Key, Made> made_;
  std::size_t held_ = 0;  // edges and ranks of all of them
};

}  // namespace hopbench
