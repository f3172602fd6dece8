// SelSync: in each iteration a worker tells all others the same flag; if any worker's flag is raised all average their
// parameters in that iteration, and nobody does in another. Nobody decides before all flags of the iteration are out.
#include <set>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class SyncOnFlag : public Checker {
 public:
  explicit SyncOnFlag(const CheckedRun& run)
      : Checker("sync_on_flag"), workers_(run.workers), at_(std::size_t(run.workers), -1) {}

  void on(const Event& event) override {
    if (event.rank >= workers_ || workers_ < 2) return;
    Iter& at = at_[std::size_t(event.rank)];
    if (event.what == EventKind::kSend && event.kind == kRequestKind) flag(event);
    if (event.what == EventKind::kSend && event.kind == kReduceScatterKind) averages(event);
    if (event.what == EventKind::kEnter || event.what == EventKind::kFinished) {
      if (at >= 0) ended(event, at);
      at = event.iter;
    }
  }

 private:
  struct Round {
    std::map<int, bool> flags;          // worker -> what it told
    std::map<int, std::set<int>> told;  // worker -> whom
    std::set<int> averaged;
    bool raised() const {
      for (const auto& [worker, flag] : flags) {
        if (flag) return true;
      }
      return false;
    }
  };

  void flag(const Event& event) {
    look();
    Round& round = rounds_[event.iter];
    const bool raised = event.count != 0;
    const auto [known, first] = round.flags.emplace(event.rank, raised);
    if (known->second != raised)
      fail(event.time, event.rank, "told rank " + std::to_string(event.peer) + " another flag than the others");
    round.told[event.rank].insert(event.peer);
  }

  void averages(const Event& event) {
    Round& round = rounds_[event.iter];
    if (!round.averaged.insert(event.rank).second) return;
    look();
    if (int(round.flags.size()) < workers_) fail(event.time, event.rank, "averages before all flags are out");
    if (!round.raised()) fail(event.time, event.rank, "averages, but nobody raised a flag");
  }

  void ended(const Event& event, Iter k) {
    look();
    Round& round = rounds_[k];
    const std::string where = " in iteration " + std::to_string(k);
    if (int(round.told[event.rank].size()) < workers_ - 1)
      fail(event.time, event.rank, "did not tell everybody its flag" + where);
    if (int(round.flags.size()) < workers_) fail(event.time, event.rank, "went on before all flags were out" + where);
    if (round.raised() && round.averaged.count(event.rank) == 0)
      fail(event.time, event.rank, "did not average although a flag was raised" + where);
    if (++ended_[k] == workers_) {
      rounds_.erase(k);
      ended_.erase(k);
    }
  }

  int workers_;
  std::vector<Iter> at_;
  std::map<Iter, Round> rounds_;
  std::map<Iter, int> ended_;
};

}  // namespace

CheckerPtr sync_on_flag(const CheckedRun& run) { return std::make_unique<SyncOnFlag>(run); }

}  // namespace hopbench::checkers
