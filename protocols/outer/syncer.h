// The syncer of Decoupled DiLoCo, which merges fragments of the learners' models
// (protocols/outer/decoupled_diloco.cpp).
#pragma once

#include <map>
#include <vector>

#include "protocols/node/node.h"
#include "protocols/outer/outer_optimizer.h"

namespace hopbench::outer {

/// A fragment on its way to the next merge.
struct PendingFragment {
  std::map<int, Message> from{};  // the newest of each learner, with the counts of those that it replaced
  Time first{}, due = kNever;     // due: the end of the grace window, once there is a quorum
};

/// Keeps x0, merges what learners push, and sends each new fragment to all of them. The words of a push are the
/// fragment's number, and the learner's samples and steps since it sent it last; the word of an answer is that number.
class Syncer {
 public:
  Syncer(Node& self, const KnobValues& knobs);
  ~Syncer() { self_.keeps(nullptr); }
  Syncer(const Syncer&) = delete;
  Syncer& operator=(const Syncer&) = delete;

  [[noreturn]] void run();

 private:
  Time next_due() const;
  void arrived(Message push);
  void merge(std::size_t p);
  Vec merged_model(const PendingFragment& some, const Slice& part);
  std::size_t trained_in(const Slice& part) const;

  Node& self_;
  const OuterOptimizer::Step step_;
  const double grace_;
  const std::size_t fragments_, quorum_;
  Vec x0_;
  OuterOptimizer outer_;
  std::vector<PendingFragment> gathering_;  // by fragment
  Iter merges_ = 0;
  double spread_ = 0;  // seconds from the first arrival to the quorum: a moving average
};

}  // namespace hopbench::outer
