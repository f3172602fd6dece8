// Servers at which one rule decides about each gradient as it comes: whether it is used, and when an update is made.
// The common part of backup workers, Rennala SGD, Ringmaster ASGD, GBA and others (protocols/late/).
//
// Only the first server decides. The others follow its decisions one by one, so all parts of an answer are of the same
// update.
#pragma once

#include <functional>

#include "protocols/node/node.h"

namespace hopbench::server {

/// A gradient that has come to the first server.
struct Arrival {
  Iter mark = 0;  // came with the weights that it was computed at: the number of updates in them (see Deciding::mark)
  Iter updates = 0;   // made so far
  int collected = 0;  // gradients used since the last one
  Iter delay() const { return updates - mark; }
};

/// The decision about it.
struct GradientVerdict {
  bool used = true;    // else it is dropped, and its worker is told so
  bool closes = true;  // the next update is made, of all gradients used since the last one
  bool held = false;   // its worker is answered once that update is made; else at once
  double scale = 1;    // of the step with this gradient, or of its weight if there are several
};

struct Deciding {
  std::function<GradientVerdict(const Arrival& arrival)> rule;
  /// Returns the mark that goes with weights to a worker. Empty: the number of updates in them.
  std::function<Iter(Iter updates)> mark = {};
  /// An update is the sum of its gradients, each times its scale, over this, and a step with 0 if there are none; 0:
  /// over their number.
  int divisor = 0;
  /// Takes all gradients that have come before it answers any, so that of workers that end at one instant all get the
  /// newest weights.
  bool takes_all_first = false;
};

/// Runs a server for ever. If its workers are all held or gone, an update is made of what there is. An update of one
/// gradient, without a divisor, is a step as under ps_asp.
void serve_deciding(Node& self, const Deciding& deciding);

/// Runs a worker of such servers: it says with each push which mark came with its weights. `mark`: its first one.
void work_marked(Node& self, const KnobValues& knobs, Iter mark = 0);

}  // namespace hopbench::server
