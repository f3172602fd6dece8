// Whose vectors can be in an average: followed through the messages of its iteration (or round), whatever the
// algorithm. A worker that says that it averaged some ranks' vectors has heard of each of them, directly or through
// others, and of nobody else; one that applied a rank's gradient has heard of that rank.
#include <deque>
#include <set>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class Heard : public Checker {
 public:
  explicit Heard(const CheckedRun& run) : Checker("heard"), workers_(run.workers) {}

  void on(const Event& event) override {
    switch (event.what) {
      case EventKind::kSend:
        under_way_[{event.rank, event.peer, event.kind, event.iter}].push_back(known(event.rank, event.iter));
        break;
      case EventKind::kTake:
        take(event);
        break;
      case EventKind::kReduced:
        if (event.rank < workers_) reduced(event);
        break;
      case EventKind::kApplied:
        look();
        if (known(event.rank, event.iter).count(event.peer) == 0) {
          fail(event.time, event.rank,
               "applied a gradient of rank " + std::to_string(event.peer) + " that cannot be here yet");
        }
        break;
      default:
        break;
    }
  }

 private:
  using Ranks = std::set<int>;

  // A rank knows only its own at the start, if it has any.
  Ranks& known(int rank, Iter k) {
    Ranks& ranks = known_[{rank, k}];
    if (rank < workers_) ranks.insert(rank);
    return ranks;
  }

  void take(const Event& event) {
    auto& messages = under_way_[{event.peer, event.rank, event.kind, event.iter}];
    if (messages.empty()) return;  // the end of a peer; inventions are found by `delivery`
    known(event.rank, event.iter).insert(messages.front().begin(), messages.front().end());
    messages.pop_front();
  }

  void reduced(const Event& event) {
    look();
    const Ranks claimed(event.senders.begin(), event.senders.end());
    const Ranks& heard = known(event.rank, event.iter);
    if (claimed == heard) return;
    fail(event.time, event.rank,
         "averaged " + std::to_string(claimed.size()) + " vectors of iteration " + std::to_string(event.iter) +
             ", but has heard of " + std::to_string(heard.size()) + " (or of others)");
  }

  struct Way {
    int from, to;
    std::uint16_t kind;
    Iter k;
    auto operator<=>(const Way&) const = default;
  };
  int workers_;
  std::map<std::pair<int, Iter>, Ranks> known_;
  std::map<Way, std::deque<Ranks>> under_way_;
};

}  // namespace

CheckerPtr heard(const CheckedRun& run) { return std::make_unique<Heard>(run); }

}  // namespace hopbench::checkers
