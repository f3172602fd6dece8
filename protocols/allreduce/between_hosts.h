// The averages between hosts that DASO's workers make in turn (protocols/allreduce/daso.cpp).
#pragma once

#include "protocols/groups/background_mean.h"
#include "protocols/groups/groups.h"

namespace hopbench::allreduce {

/// A worker's place among the hosts, and the average between them that is under way. Reads the knobs skip, wait and
/// warm_up.
class BetweenHosts {
 public:
  BetweenHosts(Node& self, const KnobValues& knobs);

  const groups::Group& own_host() const { return own_; }
  /// Called after the step of iteration k: begins an average, or takes one into x, where it is due.
  void stepped(Vec& x, Iter k);
  /// Takes in an average that is still under way when the iterations are over.
  void finish(Vec& x);

 private:
  int envoy_of(const groups::Group& host) const;
  void begin(const Vec& x);
  void take_in(Vec& x, Iter waited);

  Node& self_;
  const groups::Division hosts_;
  const groups::Group own_;
  const Iter skip_, wait_, warm_up_;
  BackgroundMean mean_;
  Iter round_ = 0, due_ = -1;  // due_: the iteration after which the average is taken in; -1: none is under way
};

}  // namespace hopbench::allreduce
