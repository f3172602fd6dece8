// Hop with jumps: a jump that leaves the worker's own model out declares lost every gradient that only this model
// holds, and no other. An update shares its gradients if some out-neighbour can still use it when it is sent, as far as
// the tokens here tell: in iteration K a worker uses updates of K - staleness or later, and on a directed graph one
// older. Tokens are late, never early, so no other rank ever averages a gradient that was declared lost.
#include <set>

#include "tests/checkers/on_reduce.h"

namespace hopbench::checkers {
namespace {

class HeardOrLost : public OnReduce {
 public:
  explicit HeardOrLost(const CheckedRun& run)
      : OnReduce("heard_or_lost", run), max_ig_(run.integer("max_ig")), works_(std::size_t(run.workers)) {
    use_ = run.integer("staleness") + (graph().undirected() ? 0 : 1);
    for (int w = 0; w < run.workers; ++w) {
      for (const int owner : graph().out(w)) works_[std::size_t(w)].tokens[owner] = max_ig_;
    }
  }

  void on(const Event& event) override {
    if (event.rank < graph().size()) note(event, works_[std::size_t(event.rank)]);
    OnReduce::on(event);
  }

 private:
  struct Work {
    std::map<int, std::int64_t> tokens{};      // of each out-neighbour, in hand
    std::set<Iter> model{};                    // gradients that only its own model holds
    std::map<Iter, std::set<Iter>> updates{};  // tag -> those it held when it was sent
    std::set<Iter> lost{}, heard{};
  };

  void note(const Event& event, Work& work) {
    if (event.what == EventKind::kTake && event.kind == kTokenKind) work.tokens[event.peer] += event.count;
    if (event.what == EventKind::kSpend) work.tokens[event.peer] -= event.count;
    if (event.what == EventKind::kApplied) work.model.insert(event.iter);
    if (event.what == EventKind::kSend && event.kind == kParamsKind) sends(event, work);
    if (event.what == EventKind::kLost) loses(event, work);
  }

  void loses(const Event& event, Work& work) {
    work.model.erase(event.iter);
    work.lost.insert(event.iter);
    if (work.heard.count(event.iter) != 0) contradict(event.time, event.rank, event.iter);
  }

  void sends(const Event& event, Work& work) {
    work.updates[event.iter].insert(work.model.begin(), work.model.end());
    for (const auto& [owner, tokens] : work.tokens) {
      if (state(event.rank).at + tokens - max_ig_ <= event.iter + use_) return work.model.clear();
    }
  }

  void reduced(const Event& event, const Worker& worker) override {
    bool own = false;
    for (std::size_t i = 0; i < event.senders.size(); ++i) {
      own = own || event.senders[i] == event.rank;
      if (event.senders[i] != event.rank) averages(event, works_[std::size_t(event.senders[i])], i);
    }
    const Work& work = works_[std::size_t(event.rank)];
    if (worker.jumped && !own && !work.model.empty()) {
      fail(event.time, event.rank,
           "jumped away from its gradient of iteration " + std::to_string(*work.model.begin()) +
               ", which no other rank can have, and did not declare it lost");
    }
  }

  void averages(const Event& event, Work& from, std::size_t i) {
    const auto update = from.updates.find(event.tags[i]);
    if (update == from.updates.end()) return;
    for (const Iter gradient : update->second) {
      from.heard.insert(gradient);
      if (from.lost.count(gradient) != 0) contradict(event.time, event.senders[i], gradient);
    }
  }

  void contradict(Time time, int rank, Iter gradient) {
    fail(time, rank,
         "declared its gradient of iteration " + std::to_string(gradient) + " lost, which another rank averaged");
  }

  std::int64_t max_ig_, use_ = 0;
  std::vector<Work> works_;
};

}  // namespace

CheckerPtr heard_or_lost(const CheckedRun& run) { return std::make_unique<HeardOrLost>(run); }

}  // namespace hopbench::checkers
