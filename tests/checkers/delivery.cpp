// Every message arrives exactly once, in the order it was sent over its pair; what is taken or dropped had arrived; and
// when the run ends nothing is still on its way to a rank that never finished.
#include <algorithm>
#include <deque>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class Delivery : public Checker {
 public:
  explicit Delivery(const CheckedRun& run) : Checker("delivery"), ranks_(run.workers + run.servers) {
    finished_.assign(std::size_t(ranks_), 0);
  }

  void on(const Event& event) override {
    switch (event.what) {
      case EventKind::kSend:
        under_way_[{event.peer, event.rank}].push_back(label(event));
        break;
      case EventKind::kDeliver:
        arrive(event);
        break;
      case EventKind::kTake:
        leave(event, "took");
        break;
      case EventKind::kDrop:
        // Dropped out of the mailbox, or on arrival.
        if (here_[label_at(event)] > 0) {
          leave(event, "dropped");
        } else {
          arrive(event);
          leave(event, "dropped");
        }
        break;
      case EventKind::kFinished:
        finished_[std::size_t(event.rank)] = 1;
        break;
      case EventKind::kPeerDied:
        gone_ = true;
        break;
      default:
        break;
    }
  }

  void finish() override {
    if (gone_) return;  // what a dead rank had sent may be lost
    for (const auto& [pair, messages] : under_way_) {
      if (!messages.empty() && !finished_[std::size_t(pair.first)] && pair.first < ranks_) {
        fail(Time{}, pair.first,
             std::to_string(messages.size()) + " messages from rank " + std::to_string(pair.second) + " never arrived");
      }
    }
  }

 private:
  using Label = std::pair<std::uint16_t, Iter>;
  static Label label(const Event& event) { return {event.kind, event.iter}; }
  static std::pair<std::pair<int, int>, Label> label_at(const Event& event) {
    return {{event.rank, event.peer}, label(event)};
  }
  // The end of a peer is told by the runtime itself and was sent by nobody.
  static bool of_runtime(const Event& event) { return event.kind >= 0xFFFE; }

  std::string text(const Event& event) const {
    return "a message of kind " + std::to_string(event.kind) + ", iteration " + std::to_string(event.iter) +
           ", from rank " + std::to_string(event.peer);
  }

  void arrive(const Event& event) {
    if (of_runtime(event)) return;
    look();
    auto& messages = under_way_[{event.rank, event.peer}];
    if (messages.empty() || messages.front() != label(event)) {
      fail(event.time, event.rank, "got " + text(event) + " which is not the next one sent");
      const auto found = std::find(messages.begin(), messages.end(), label(event));
      if (found != messages.end()) messages.erase(found);
    } else {
      messages.pop_front();
    }
    ++here_[label_at(event)];
  }

  void leave(const Event& event, const char* how) {
    if (of_runtime(event)) return;
    if (--here_[label_at(event)] < 0) fail(event.time, event.rank, std::string(how) + " " + text(event) + " twice");
  }

  int ranks_;
  std::vector<char> finished_;
  bool gone_ = false;
  std::map<std::pair<int, int>, std::deque<Label>> under_way_;          // (to, from)
  std::map<std::pair<std::pair<int, int>, Label>, std::int64_t> here_;  // in the mailbox
};

}  // namespace

CheckerPtr delivery(const CheckedRun& run) { return std::make_unique<Delivery>(run); }

}  // namespace hopbench::checkers
