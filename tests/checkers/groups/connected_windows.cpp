// Partial Reduce: any `window` groups in a row connect all workers that have not finished: so their models keep being
// mixed, and no workers stay among themselves. A group counts when its last member is told.
#include <numeric>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class ConnectedWindows : public Checker {
 public:
  explicit ConnectedWindows(const CheckedRun& run)
      : Checker("connected_windows"),
        workers_(run.workers),
        size_(std::size_t(run.integer("group_size"))),
        window_(std::size_t(run.integer("window"))),
        finished_(std::size_t(run.workers), 0) {
    const auto others = std::size_t(workers_ - 1), joined = size_ - 1;
    if (window_ == 0) window_ = 4 * ((others + joined - 1) / joined);  // the default
  }

  void on(const Event& event) override {
    if (event.what == EventKind::kFinished && event.rank < workers_) finished_[std::size_t(event.rank)] = 1;
    if (event.rank < workers_ || event.what != EventKind::kSend || event.kind != kReplyKind || event.iter < 0) return;
    if (groups_.empty() || numbers_.back() != event.iter) {
      groups_.emplace_back();
      numbers_.push_back(event.iter);
    }
    groups_.back().push_back(event.peer);
    if (groups_.back().size() == size_ && groups_.size() >= window_) check(event);
  }

 private:
  void check(const Event& event) {
    look();
    std::vector<int> part(std::size_t(workers_), 0);
    std::iota(part.begin(), part.end(), 0);
    for (std::size_t g = groups_.size() - window_; g < groups_.size(); ++g) {
      const int into = part[std::size_t(groups_[g].front())];
      for (const int member : groups_[g]) {
        const int from = part[std::size_t(member)];
        for (int& each : part) each = each == from ? into : each;
      }
    }
    int one = -1;
    for (int w = 0; w < workers_; ++w) {
      if (finished_[std::size_t(w)] != 0) continue;
      if (one < 0) one = part[std::size_t(w)];
      if (part[std::size_t(w)] == one) continue;
      return fail(event.time, w,
                  "is cut off from others in the " + std::to_string(window_) + " groups up to group " +
                      std::to_string(event.iter));
    }
  }

  int workers_;
  std::size_t size_, window_;
  std::vector<char> finished_;
  std::vector<std::vector<int>> groups_;
  std::vector<Iter> numbers_;
};

}  // namespace

CheckerPtr connected_windows(const CheckedRun& run) { return std::make_unique<ConnectedWindows>(run); }

}  // namespace hopbench::checkers
