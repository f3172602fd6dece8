// GossipGraD: in every iteration a worker sends one model and goes on with the mean of its own and one that it got.
// The weights say which models are in a worker's model: after each turn of log n iterations it is a part of everybody's
// model at the turn's start, and where n is a power of two the n-th part of each.
#include <algorithm>
#include <cmath>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class Diffusion : public Checker {
 public:
  explicit Diffusion(const CheckedRun& run) : Checker("diffusion"), n_(run.workers) {
    for (std::int64_t hop = 1; hop < n_; hop *= 2) ++turn_;
  }

  void on(const Event& event) override {
    if (event.what == EventKind::kSend && event.kind == kParamsKind && ++sent_[{event.rank, event.iter}] > 1)
      fail(event.time, event.rank, "sent a second model in iteration " + std::to_string(event.iter));
    if (event.what == EventKind::kDeliver && event.kind == kParamsKind && ++got_[{event.rank, event.iter}] > 1)
      fail(event.time, event.rank, "got a second model in iteration " + std::to_string(event.iter));
    if (event.what == EventKind::kReduced) mixed(event);
  }

 private:
  using Shares = std::vector<double>;  // of everybody's model at the turn's start
  using At = std::pair<int, Iter>;     // rank, iteration

  /// Returns the shares in the rank's model before it is mixed in iteration k.
  Shares before(int rank, Iter k) const {
    const auto found = after_.find({rank, k - 1});
    if (k % turn_ != 0 && found != after_.end()) return found->second;
    Shares own(std::size_t(n_), 0.0);
    own[std::size_t(rank)] = 1;
    return own;
  }

  void mixed(const Event& event) {
    const std::string where = " in iteration " + std::to_string(event.iter);
    if (event.senders.size() != 2 || sent_[{event.rank, event.iter}] != 1 || got_[{event.rank, event.iter}] != 1)
      fail(event.time, event.rank, "mixed " + std::to_string(event.senders.size()) + " models" + where);
    Shares shares(std::size_t(n_), 0.0);
    for (std::size_t i = 0; i < event.senders.size(); ++i) {
      const Shares theirs = before(event.senders[i], event.tags[i]);
      for (std::size_t j = 0; j < shares.size(); ++j) shares[j] += double(event.weights[i]) * theirs[j];
    }
    if (event.iter % turn_ == turn_ - 1) whole_turn(event, shares);
    after_[{event.rank, event.iter}] = std::move(shares);
  }

  void whole_turn(const Event& event, const Shares& shares) {
    look();
    const bool power_of_two = (n_ & (n_ - 1)) == 0;
    for (std::size_t j = 0; j < shares.size(); ++j) {
      const bool even = std::abs(shares[j] - 1.0 / n_) < 1e-6;
      if (shares[j] > 0 && (even || !power_of_two)) continue;
      fail(event.time, event.rank,
           "after the turn that ends with iteration " + std::to_string(event.iter) + " rank " + std::to_string(j) +
               "'s share in it is " + std::to_string(shares[j]));
    }
  }

  int n_;
  Iter turn_ = 0;
  std::map<At, int> sent_, got_;
  std::map<At, Shares> after_;
};

}  // namespace

CheckerPtr diffusion(const CheckedRun& run) { return std::make_unique<Diffusion>(run); }

}  // namespace hopbench::checkers
