// Each Reduce of iteration k uses between |N_in| - backup and |N_in| updates, the own one included, each sender's once,
// all tagged k. Right after a jump to k it uses the others' updates of k-1 instead: no own update has that tag, unless
// skip_keep_self adds the last own model as one more, or there is nothing else to average.
//
// An update that never comes is not waited for: its sender has finished, or jumped over that tag. Those of the dead
// never come either, but may not be more than `backup`.
#include <algorithm>
#include <set>

#include "tests/checkers/on_reduce.h"

namespace hopbench::checkers {
namespace {

class Quorum : public OnReduce {
 public:
  explicit Quorum(const CheckedRun& run)
      : OnReduce("quorum", run), backup_(run.integer("backup")), keeps_self_(run.flag("skip_keep_self")) {}

  void on(const Event& event) override {
    if (is_death(event)) dead_.insert(event.rank);
    if (event.what == EventKind::kSend && event.kind == kParamsKind) sent_.insert({event.rank, event.peer, event.iter});
    OnReduce::on(event);
  }

 private:
  bool never_comes(int sender, int receiver, Iter tag) const {
    return sent_.count({sender, receiver, tag}) == 0 && (state(sender).finished || state(sender).at > tag);
  }

  void reduced(const Event& event, const Worker& worker) override {
    const Iter tag = worker.jumped ? worker.at - 1 : worker.at;
    std::set<int> others;
    int own = 0;
    for (std::size_t i = 0; i < event.senders.size(); ++i) {
      const int sender = event.senders[i];
      if (sender == event.rank) {
        ++own;
      } else {
        const std::vector<int>& in = graph().in(event.rank);
        if (!others.insert(sender).second || !std::binary_search(in.begin(), in.end(), sender)) {
          fail(event.time, event.rank, "averaged an update of rank " + std::to_string(sender) + " it should not have");
        } else if (sent_.count({sender, event.rank, event.tags[i]}) == 0) {
          fail(event.time, event.rank,
               "averaged an update of rank " + std::to_string(sender) + " tagged " + std::to_string(event.tags[i]) +
                   " that was never sent to it");
        }
      }
      if (event.tags[i] != tag && !(sender == event.rank && worker.jumped)) {
        fail(
            event.time, event.rank,
            "averaged an update tagged " + std::to_string(event.tags[i]) + " where " + std::to_string(tag) + " is due");
      }
    }
    count(event, worker, tag, std::int64_t(others.size()), own);
    if (!worker.jumped) count_dead(event, tag);
  }

  void count_dead(const Event& event, Iter tag) {
    const auto lost = [&](int sender) { return dead_.count(sender) != 0 && never_comes(sender, event.rank, tag); };
    const std::vector<int>& in = graph().in(event.rank);
    const std::int64_t dead = std::count_if(in.begin(), in.end(), lost);
    if (dead > backup_)
      fail(event.time, event.rank, "averaged although " + std::to_string(dead) + " of its in-neighbours are dead");
  }

  void count(const Event& event, const Worker& worker, Iter tag, std::int64_t others, int own) {
    const int own_due = worker.jumped && !keeps_self_ && others > 0 ? 0 : 1;
    if (own != own_due) {
      fail(event.time, event.rank,
           "averaged " + std::to_string(own) + " own models where " + std::to_string(own_due) + " are due");
    }
    // In |N_in| the worker counts itself; after a jump it is one of the absent.
    std::int64_t least = std::int64_t(graph().in(event.rank).size()) + (worker.jumped ? 1 : 0) - backup_;
    std::int64_t missing = 0;
    for (int sender : graph().in(event.rank)) missing += never_comes(sender, event.rank, tag) ? 1 : 0;
    least = std::min(least, std::int64_t(graph().in(event.rank).size()) - missing);
    if (others < least) {
      fail(event.time, event.rank,
           "averaged updates of " + std::to_string(others) + " neighbours, the quorum is " + std::to_string(least));
    }
  }

  struct Sent {
    int from, to;
    Iter tag;
    auto operator<=>(const Sent&) const = default;
  };
  std::int64_t backup_;
  bool keeps_self_;
  std::set<Sent> sent_;
  std::set<int> dead_;
};

}  // namespace

CheckerPtr quorum(const CheckedRun& run) { return std::make_unique<Quorum>(run); }

}  // namespace hopbench::checkers
