#include "suites/language/check_graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/base/error.h"

namespace hopbench {
namespace {

constexpr std::size_t kMostHeld = 10'000'000;  // some 200 MB

std::vector<Edge> edges_of(const Configuration& c) {
  std::vector<Edge> edges;
  if (const Value* list = c.find("topology.edges")) {
    for (const Value& edge : list->items) edges.emplace_back(int(edge.items[0].integer), int(edge.items[1].integer));
  }
  return edges;
}

/// "": it is connected.
std::string torn_at(const Topology& graph) {
  const std::vector<int> from = graph.distances_from(0), to = graph.distances_to(0);
  for (int rank = 1; rank < graph.size(); ++rank) {
    const bool there = from[std::size_t(rank)] < 0;
    if (!there && to[std::size_t(rank)] >= 0) continue;
    return fmt::format("the topology is not connected: no path leads from rank {} to rank {}", there ? 0 : rank,
                       there ? rank : 0);
  }
  return "";
}

}  // namespace

TrainingSetting::TrainingSetting(const Configuration& c, const VariantDraft& variant, const Topology* whole)
    : variant_(variant),
      whole_(whole),
      left_out_(variant.left_out()),
      host_of_(c.host_of()),
      batch_(int(c.at("model.batch").integer)) {
  if (!uses_topology(variant)) own_ = Topology(c.at("topology.name").text, c.workers(), {});
  if (left_out_.empty()) return;
  own_ = graph().without(left_out_);
  std::vector<int> hosts;
  for (int rank = 0; rank < c.workers(); ++rank) {
    if (std::binary_search(left_out_.begin(), left_out_.end(), rank)) continue;
    hosts.push_back(host_of_.empty() ? rank : host_of_[std::size_t(rank)]);
  }
  host_of_ = hosts;
}

Setting TrainingSetting::of(std::int64_t parameters) const {
  return {variant_.knobs, graph(), graph().size(), host_of_, parameters, batch_};
}

std::string TrainingSetting::of_whom() const {
  if (left_out_.empty()) return "";
  return fmt::format(" without rank{} {} (ranks 0 to {} are the others, numbered anew)",
                     left_out_.size() == 1 ? "" : "s", fmt::join(left_out_, ", "), graph().size() - 1);
}

std::string TrainingSetting::why_torn() const { return own_ && uses_topology(variant_) ? torn_at(*own_) : ""; }

bool uses_topology(const VariantDraft& variant) {
  return variant.protocol != nullptr && uses_topology(*variant.protocol, variant.knobs);
}

const Topology* Graphs::of(const Draft& draft, const Configuration& c, bool asked, Mistakes& mistakes) {
  if (draft.bad.count("topology.name") + draft.bad.count("topology.edges") > 0) return nullptr;
  const std::string& name = c.at("topology.name").text;
  const Value* edges = c.find("topology.edges");
  const Value& said = edges != nullptr ? *edges : c.at("topology.name");
  const SourceLocation& place = place_or(said, c.at("run.world_size").place);
  if (name != "edges" && edges != nullptr)
    mistakes.add(edges->place,
                 "'edges' and the topology '{}' exclude each other: write name = \"edges\" or leave one out", name);
  if (name == "edges" && edges == nullptr) mistakes.add(place, "topology 'edges' needs a list of edges");
  if ((name == "edges") != (edges != nullptr)) return nullptr;
  if (!asked && edges == nullptr) return nullptr;
  const Made& one = made({name, c.workers(), edges_of(c)});
  if (!one.why.empty() && (asked || one.graph == nullptr)) mistakes.add(place, one.why);
  return one.why.empty() ? one.graph.get() : nullptr;
}

const Graphs::Made& Graphs::made(const Key& key) {
  if (const auto found = made_.find(key); found != made_.end()) return found->second;
  const auto& [name, workers, edges] = key;
  Made one;
  try {
    one.graph =
        std::make_unique<Topology>(name == "edges" ? Topology(name, workers, edges) : make_topology(name, workers));
    one.why = torn_at(*one.graph);
  } catch (const Error& error) {
    one.why = fmt::format("topology: {}", error.what());
  }
  std::size_t size = std::size_t(workers);
  for (int rank = 0; one.graph != nullptr && rank < workers; ++rank) size += one.graph->in(rank).size();
  if (held_ + size > kMostHeld) {
    made_.clear();
    held_ = 0;
  }
  held_ += size;
  return made_.emplace(key, std::move(one)).first->second;
}

}  // namespace hopbench
