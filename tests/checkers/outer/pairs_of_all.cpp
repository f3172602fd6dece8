// NoLoCo: in each round every worker averages with one partner, which averages with it; with an odd number of workers
// one stays alone. Both have sent to each other before.
#include <set>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class PairsOfAll : public Checker {
 public:
  explicit PairsOfAll(const CheckedRun& run) : Checker("pairs_of_all"), workers_(run.workers) {}

  void on(const Event& event) override {
    if (event.what == EventKind::kSend && event.kind == kParamsKind) sent_.insert({event.iter, event.rank, event.peer});
    if (event.what != EventKind::kReduced) return;
    look();
    const bool pair = event.senders.size() == 2 && event.senders[0] != event.senders[1];
    if (!pair) return fail(event.time, event.rank, "averaged over no pair");
    const int other = event.senders[0] == event.rank ? event.senders[1] : event.senders[0];
    if (sent_.count({event.iter, other, event.rank}) == 0)
      fail(event.time, event.rank, "averaged what it was not sent");
    if (!partners_[event.iter].emplace(event.rank, other).second) fail(event.time, event.rank, "averaged twice");
  }

  void finish() override {
    for (const auto& [round, partners] : partners_) {
      if (int(partners.size()) != workers_ - workers_ % 2)
        fail(Time{}, 0, "round " + std::to_string(round) + " has " + std::to_string(partners.size()) + " in pairs");
      for (const auto& [one, other] : partners) {
        const auto back = partners.find(other);
        if (back == partners.end() || back->second != one)
          fail(Time{}, one, "its partner in round " + std::to_string(round) + " had another partner");
      }
    }
  }

 private:
  int workers_;
  std::set<std::tuple<Iter, int, int>> sent_;    // round, from, to
  std::map<Iter, std::map<int, int>> partners_;  // by round
};

}  // namespace

CheckerPtr pairs_of_all(const CheckedRun& run) { return std::make_unique<PairsOfAll>(run); }

}  // namespace hopbench::checkers
