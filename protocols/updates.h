// Hop's update queues: what a worker's in-neighbours sent, and which of it an average may use (protocols/hop.cpp).
#pragma once

#include <memory>
#include <vector>

#include "protocols/node.h"

namespace hopbench {

/// UpdateQ(self). With staleness 0 it keeps updates until their iteration has been averaged and drops later ones on
/// arrival. Otherwise it is one slot a neighbour, overwritten on arrival (decision H5). Staleness 0 is not the limit
/// of the second way: "the newest" of a neighbour that is ahead would not be D-PSGD's (H6).
class Updates {
 public:
  /// `reuse`: true if an update may be in several averages, with staleness (decision H17).
  Updates(Node& self, int staleness, bool reuse);

  /// Blocks for the in-neighbours' terms of iteration k's average, up to `absent` of them missing: those tagged k, or
  /// with staleness s each one's newest, tagged k - s or later, and then none may be missing. Who has finished may. Who
  /// has died is one of the `absent`: Error where these are more. Without reuse, an update that was averaged before
  /// lets the worker go on, but is not averaged again.
  std::vector<Term> receive(Iter k, int absent);

  /// The same after a jump to k + 1, when an in-neighbour of a directed graph may itself have jumped over k: then its
  /// update is as good as gone (H9). On undirected graphs all that is needed is here already.
  std::vector<Term> receive_after_jump(Iter k, int absent);
  /// Tells the out-neighbours that what this worker's jump to k passed will never come. Where somebody may wait for it:
  /// not on undirected graphs, nor with staleness (H9).
  void announce_jump(Iter k);

  /// The worker's own vector, tagged `tag`, as a term of iteration k's average.
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
  std::vector<Iter> averaged_;  // the newest of each sender's that was a term; without reuse
  std::shared_ptr<std::vector<Message>>
      newest_;  // in the order of senders_; shared with a strand that outlives the body
};

}  // namespace hopbench
