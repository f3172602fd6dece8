// The updates that a server makes, seen from its events, and the gradients in them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tests/checkers/checker.h"

namespace hopbench::checkers {

/// A gradient that a server has used.
struct UsedGradient {
  int worker = 0;
  Iter iter = 0;
  std::int64_t age = 0;  // updates made since its weights were sent to its worker
  double weight = 1;     // in the sum, or of the step if it is alone
};

struct ServerUpdate {
  Time when{};
  std::int64_t number = 0;  // from 0
  std::vector<UsedGradient> gradients{};
};

/// One server. It knows an update of several gradients by the sum before it, and takes any other for a step of its own.
class ServerUpdates {
 public:
  explicit ServerUpdates(int workers) : sent_(std::size_t(workers), 0) {}

  /// Takes an event of this server. Returns the update that it completes.
  std::optional<ServerUpdate> on(const Event& event) {
    if (event.what == EventKind::kTake && event.kind == kPushKind)
      version_[{event.peer, event.iter}] = sent_[std::size_t(event.peer)];
    if (event.what == EventKind::kSend && (event.kind == kWeightsKind || event.kind == kStateKind))
      sent_[std::size_t(event.peer)] = made_;
    if (event.what == EventKind::kReduced) {
      to_come_ = event.senders.size();
      weights_ = event.weights;
    }
    if (event.what != EventKind::kApplied) return std::nullopt;
    const std::size_t place = open_.size();
    const double weight = to_come_ > 0 && place < weights_.size() ? double(weights_[place]) : step_scale(event);
    open_.push_back({event.peer, event.iter, made_ - version_[{event.peer, event.iter}], weight});
    version_.erase({event.peer, event.iter});
    if (to_come_ > open_.size()) return std::nullopt;
    to_come_ = 0;
    return ServerUpdate{event.time, made_++, std::exchange(open_, {})};
  }

  std::int64_t made() const { return made_; }
  /// Returns the number of updates since the worker of this push was sent weights; of a push that was taken.
  std::int64_t age(int worker, Iter k) { return made_ - version_[{worker, k}]; }

 private:
  std::int64_t made_ = 0;
  std::size_t to_come_ = 0;  // gradients of the sum that was computed last; 0: none
  std::vector<float> weights_;
  std::vector<UsedGradient> open_;
  std::vector<std::int64_t> sent_;                        // by worker: updates in the weights that it has
  std::map<std::pair<int, Iter>, std::int64_t> version_;  // of pushes that were taken, and not used yet
};

}  // namespace hopbench::checkers
