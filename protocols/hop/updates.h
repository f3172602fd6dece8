// Hop's update queues: a worker's updates from in-neighbours, and which of them an average may use
// (protocols/hop/hop.cpp).
#pragma once

#include <memory>
#include <vector>

#include "protocols/node/node.h"

namespace hopbench::hop {

/// The queue UpdateQ(self). With staleness 0 it keeps updates until their iteration has been averaged, and drops those
/// that arrive afterwards. Otherwise it is one slot per neighbour, overwritten on arrival (decision H5). The first is
/// not the limit of the second, in which "the newest" of a neighbour that is ahead would not be D-PSGD's (H6).
class Updates {
 public:
  /// `reuse`: true if an update may be in several averages, with staleness (decision H17).
  Updates(Node& self, int staleness, bool reuse);

  /// Blocks for the in-neighbours' terms of iteration k's average and returns them. They are those tagged k, of which
  /// `absent` may be missing. With staleness s, they are each one's newest, tagged k - s or later, and none may be
  /// missing. Finished in-neighbours may always be missing. Dead ones are among the `absent`; throws Error if there are
  /// more. Without reuse, an update that was averaged before lets the worker go on, but is not averaged again.
  std::vector<Term> receive(Iter k, int absent);

  /// Does the same after a jump to k + 1, when an in-neighbour of a directed graph may itself have jumped over k. Then
  /// its update counts as gone (H9). On undirected graphs all that is needed is here already.
  std::vector<Term> receive_after_jump(Iter k, int absent);
  /// Tells the out-neighbours that the updates skipped by this worker's jump to k will never come. Does nothing where
  /// none can wait for them: on undirected graphs, and with staleness (H9).
  void announce_jump(Iter k);

  /// Returns the worker's own vector, tagged `tag`, as a term of iteration k's average.
  Term own(Iter k, Iter tag, const Vec& x) const;

 private:
  std::vector<Term> receive_newest(Iter k);
  void check_enough_live(int absent) const;
  bool jumped_over(int sender, Iter k) const;
  float weight(Iter k, Iter tag) const;

  Node& self_;
  const std::vector<int>& senders_;
  int staleness_;
  bool reuse_;
  std::vector<Iter> averaged_;  // by sender: its newest that was a term; without reuse
  std::shared_ptr<std::vector<Message>>
      newest_;  // in the order of senders_; shared with a strand that outlives the body
};

}  // namespace hopbench::hop
