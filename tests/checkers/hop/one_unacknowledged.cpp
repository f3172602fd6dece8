// NOTIFY-ACK: the next update goes over an edge only after the previous one was acknowledged, and a receiver
// acknowledges an update only after the Reduce that used it.
#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class OneUnacknowledged : public Checker {
 public:
  explicit OneUnacknowledged(const CheckedRun& run)
      : Checker("one_unacknowledged"), reduced_(std::size_t(run.workers), -1) {}

  void on(const Event& event) override {
    if (std::size_t(event.rank) >= reduced_.size()) return;
    const std::size_t rank = std::size_t(event.rank);
    if (event.what == EventKind::kReduced) reduced_[rank] = event.iter;
    if (event.what == EventKind::kDeliver && event.kind == kAckKind) open_[{event.rank, event.peer}] = false;
    if (event.what != EventKind::kSend) return;
    if (event.kind == kParamsKind) {
      look();
      bool& open = open_[{event.rank, event.peer}];
      if (open) {
        fail(event.time, event.rank,
             "sent update " + std::to_string(event.iter) + " to rank " + std::to_string(event.peer) +
                 " before the one before was acknowledged");
      }
      open = true;
    }
    if (event.kind == kAckKind && event.iter > reduced_[rank]) {
      fail(event.time, event.rank,
           "acknowledged update " + std::to_string(event.iter) + " of rank " + std::to_string(event.peer) +
               " before its Reduce");
    }
  }

 private:
  std::vector<Iter> reduced_;
  std::map<std::pair<int, int>, bool> open_;  // (sender, receiver): waits for an acknowledgement
};

}  // namespace

CheckerPtr one_unacknowledged(const CheckedRun& run) { return std::make_unique<OneUnacknowledged>(run); }

}  // namespace hopbench::checkers
