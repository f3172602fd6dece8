// MATCHA: the links of an iteration are used both ways with one weight, the same on all links and in all iterations,
// and the mean share of links in use is near the budget.
#include <cmath>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class Matchings : public Checker {
 public:
  explicit Matchings(const CheckedRun& run)
      : Checker("matchings"), workers_(run.workers), budget_(run.real("budget")), links_(run.edges.size() / 2) {}

  void on(const Event& event) override {
    if (event.what == EventKind::kEnter) last_ = std::max(last_, event.iter);
    if (event.what != EventKind::kReduced || event.rank >= workers_) return;
    double sum = 0;
    for (std::size_t i = 0; i < event.senders.size(); ++i) {
      const double weight = double(event.weights[i]);
      sum += weight;
      if (event.senders[i] == event.rank) continue;
      look();
      weights_[event.iter][{event.rank, event.senders[i]}] = weight;
      if (alpha_ < 0) alpha_ = weight;
      if (std::abs(weight - alpha_) > 1e-5)
        fail(event.time, event.rank,
             "gave a model the weight " + std::to_string(weight) + ", others " + std::to_string(alpha_));
      if (event.tags[i] != event.iter) fail(event.time, event.rank, "averaged a model of another iteration");
    }
    if (std::abs(sum - 1) > 1e-5) fail(event.time, event.rank, "its weights sum to " + std::to_string(sum));
  }

  void finish() override {
    double used = 0;
    for (const auto& [k, pairs] : weights_) {
      used += double(pairs.size()) / 2;
      for (const auto& [pair, weight] : pairs) {
        if (pairs.count({pair.second, pair.first}) == 0 && complete(k))
          fail(Time{}, pair.first,
               "averaged with rank " + std::to_string(pair.second) + ", which did not, in " + std::to_string(k));
      }
    }
    // Matchings are drawn as a whole: the share's deviation is that of a few independent draws an iteration.
    const double draws = double(last_ + 1), share = links_ > 0 ? used / draws / double(links_) : budget_;
    if (draws >= 20 && links_ > 2 && share > budget_ + 5 * std::sqrt(0.25 / draws))
      fail(Time{}, 0, "used a share of " + std::to_string(share) + " of the links");
  }

 private:
  bool complete(Iter k) const { return k < last_; }  // nobody stopped in the middle

  int workers_;
  double budget_, alpha_ = -1;
  std::size_t links_;
  Iter last_ = 0;
  std::map<Iter, std::map<std::pair<int, int>, double>> weights_;  // by iteration, then (worker, neighbour)
};

}  // namespace

CheckerPtr matchings(const CheckedRun& run) { return std::make_unique<Matchings>(run); }

}  // namespace hopbench::checkers
