// GBA: the tokens are dealt M of each number, in the order in which batches are fetched; every M gradients make a
// global step, as their sum over M; one counts as nothing exactly if its token is over iota steps old.
#include <cmath>
#include <set>

#include "tests/checkers/late/at_first_server.h"

namespace hopbench::checkers {
namespace {

class GlobalBatch : public AtFirstServer {
 public:
  explicit GlobalBatch(const CheckedRun& run)
      : AtFirstServer("global_batch", run),
        batches_(run.integer("batches") > 0 ? run.integer("batches") : run.workers),
        tolerance_(run.integer("tolerance")),
        fetched_(run.workers) {
    for (int worker = 0; worker < run.workers; ++worker) tokens_.push_back(worker / batches_);
  }

  void on(const Event& event) override {
    // A worker that was away goes on with the newest step's number.
    if (event.rank == workers() && event.what == EventKind::kSend && event.kind == kStateKind)
      tokens_[std::size_t(event.peer)] = come_ / batches_;
    AtFirstServer::on(event);
  }

  void finish() override {
    if (closing_ && !due_.empty()) fail(Time{}, workers(), "made no step of the last gradients");
  }

 private:
  void took(const Event& event) override {
    if (closing_ && !due_.empty()) fail(event.time, event.rank, "took a gradient before it made a step of the last");
    closing_ = false;
    const std::int64_t token = tokens_[std::size_t(event.peer)], step = come_ / batches_;
    if (event.count != token)
      fail(event.time, event.rank,
           "was told token " + std::to_string(event.count) + " of rank " + std::to_string(event.peer));
    if (step - token <= tolerance_) due_.insert({event.peer, event.iter});
    if (step - token > tolerance_) late_.insert({event.peer, event.iter});
    closing_ = ++come_ % batches_ == 0;
  }
  void answered(const Event& event) override {
    const std::int64_t token = fetched_++ / batches_;
    if (event.count != token)
      fail(event.time, event.rank,
           "gave token " + std::to_string(event.count) + " instead of " + std::to_string(token));
    tokens_[std::size_t(event.peer)] = token;
  }
  void updated(const ServerUpdate& update, const Event& event) override {
    if (!closing_) fail(event.time, event.rank, "made a step of fewer gradients than a global batch has");
    std::set<std::pair<int, Iter>> used;
    for (const UsedGradient& g : update.gradients) {
      used.insert({g.worker, g.iter});
      if (std::abs(g.weight * double(batches_) - 1) > 1e-4)
        fail(event.time, event.rank, "gave a gradient another weight");
    }
    if (used != due_) fail(event.time, event.rank, "made a step of other gradients than those that are in time");
    due_.clear();
  }
  void lost(const Event& event, std::int64_t) override {
    if (late_.erase({event.rank, event.iter}) == 0) fail(event.time, event.rank, "lost a gradient that was in time");
  }

  std::int64_t batches_, tolerance_, fetched_, come_ = 0;
  bool closing_ = false;
  std::vector<std::int64_t> tokens_;  // by worker
  std::set<std::pair<int, Iter>> due_, late_;
};

}  // namespace

CheckerPtr global_batch(const CheckedRun& run) { return std::make_unique<GlobalBatch>(run); }

}  // namespace hopbench::checkers
