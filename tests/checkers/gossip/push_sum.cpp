// SGP: what a worker has of x and w is given away whole: the shares of all who take a part of one push, the pusher's
// own included, sum to 1, and each takes its part once and only of what was pushed to it. So the sums of x and w over
// all workers, with what is on the way, are kept. The weight that a worker sends beside x is the one that follows from
// the shares so far, it is positive, and it is 1 where everybody gives to as many as he takes from, without overlap.
#include <bit>
#include <cmath>
#include <set>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class PushSum : public Checker {
 public:
  explicit PushSum(const CheckedRun& run) : Checker("push_sum"), w_(std::size_t(run.workers), 1.0) {
    const Graph graph(run);
    stays_one_ = (run.text("graph") == "exponential" || graph.regular()) && run.integer("overlap") == 0;
  }

  void on(const Event& event) override {
    if (std::size_t(event.rank) >= w_.size()) return;
    if (event.what == EventKind::kSend && event.kind == kParamsKind) pushes(event);
    if (event.what == EventKind::kReduced) receives(event);
  }

  void finish() override {
    for (const auto& [who, push] : open_) {
      if (std::abs(push.left) < kRounding) continue;
      fail(Time{}, who.first,
           "what it pushed in iteration " + std::to_string(who.second) + " was taken but for a share of " +
               std::to_string(push.left));
    }
    double sum = 0;
    for (double w : w_) sum += w;
    const double n = double(w_.size());
    if (std::abs(sum - n) > kRounding * n) fail(Time{}, 0, "the weights sum to " + std::to_string(sum));
  }

 private:
  static constexpr double kRounding = 1e-4;  // of shares kept as floats, over the iterations of a test
  struct Push {
    double w = 1, left = 1;  // weight of the pusher; share that nobody has taken yet
    std::set<int> to{};
  };

  Push& push_of(int rank, Iter k) {
    return open_.try_emplace({rank, k}, Push{.w = w_[std::size_t(rank)]}).first->second;
  }

  void pushes(const Event& event) {
    Push& push = push_of(event.rank, event.iter);
    const double said = std::bit_cast<double>(event.count);
    if (!(std::abs(said - push.w) < kRounding)) {
      fail(event.time, event.rank,
           "sent the weight " + std::to_string(said) + ", its shares make it " + std::to_string(push.w));
    }
    if (!push.to.insert(event.peer).second) fail(event.time, event.rank, "pushed twice to one rank");
  }

  void receives(const Event& event) {
    look();
    push_of(event.rank, event.iter);  // where nobody else is pushed to
    double w = 0;
    for (std::size_t i = 0; i < event.senders.size(); ++i) {
      const int sender = event.senders[i];
      const double share = double(event.weights[i]);
      Push& push = push_of(sender, event.tags[i]);
      if (sender == event.rank ? event.tags[i] != event.iter : push.to.erase(event.rank) == 0) {
        fail(event.time, event.rank,
             "took of rank " + std::to_string(sender) + " what was not pushed to it, or took it before");
      }
      if (!(share > 0)) fail(event.time, event.rank, "took a share that is not positive");
      push.left -= share;
      w += share * push.w;
    }
    if (!(w > 0)) fail(event.time, event.rank, "has a weight that is not positive");
    if (stays_one_ && std::abs(w - 1) > kRounding) fail(event.time, event.rank, "its weight is " + std::to_string(w));
    w_[std::size_t(event.rank)] = w;
  }

  bool stays_one_ = false;
  std::vector<double> w_;
  std::map<std::pair<int, Iter>, Push> open_;
};

}  // namespace

CheckerPtr push_sum(const CheckedRun& run) { return std::make_unique<PushSum>(run); }

}  // namespace hopbench::checkers
