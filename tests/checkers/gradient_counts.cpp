// Gradients of a worker, as the events tell of them and as its record counts them:
//   - begun = computed + cut + one in flight at a death. Parts of one iteration are one gradient;
//   - computed = used + lost + those that wait in an unfinished batch of a server: these are its newest ones. Used are
//     those that a server or a worker stepped with; Hop's workers step before a jump that loses the step.
#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class GradientCounts : public Checker {
 public:
  explicit GradientCounts(const CheckedRun& run)
      : Checker("gradient_counts"),
        workers_(std::size_t(run.workers)),
        loses_steps_(run.protocol == "hop"),
        by_version_(run.protocol == "dbw") {}

  void on(const Event& event) override {
    now_ = event.time;
    if (is_death(event)) dead_.insert(event.rank);
    if (event.what == EventKind::kApplied) used(event);
    if (std::size_t(event.rank) >= workers_.size()) return;
    Worker& worker = workers_[std::size_t(event.rank)];
    if (event.what == EventKind::kEnter) worker.open = false;
    if (event.what == EventKind::kGradient) part(event, worker);
    if (event.what == EventKind::kLost && event.count > 0) cut(event, worker);
    if (event.what == EventKind::kLost && event.count == 0) lost(event, worker);
  }

  void hold_against(const std::vector<RankRecord>& records) override {
    for (std::size_t w = 0; w < workers_.size(); ++w) {
      const Worker& worker = workers_[w];
      const RankRecord& record = records[w];
      const auto figure = record.figures.find("gradients cut");
      equal(int(w), "gradients", record.gradients, worker.begun - worker.cut);
      equal(int(w), "gradients cut", figure == record.figures.end() ? 0 : std::int64_t(figure->second), worker.cut);
      equal(int(w), "gradients_lost", record.gradients_lost, std::int64_t(worker.lost.size()));
      equal(int(w), "samples", record.samples, worker.samples);
      if (record.slow_events > record.gradients) fail(now_, int(w), "counts more slow gradients than gradients");
      if (steps_ && dead_.empty()) settled_in_order(int(w), worker);
    }
  }

 private:
  struct Worker {
    bool open = false;
    std::int64_t begun = 0, cut = 0, samples = 0, part = 0;
    std::set<Iter> computed{}, lost{}, used{};
  };

  void part(const Event& event, Worker& worker) {
    if (!worker.open) {
      ++worker.begun;
      worker.computed.insert(event.iter);
      worker.part = 0;
    }
    worker.open = true;
    worker.part += event.count;
    worker.samples += event.count;
  }

  void cut(const Event& event, Worker& worker) {
    look();
    if (!worker.open || event.count != worker.part)
      fail(event.time, event.rank, "cut another gradient than its newest");
    ++worker.cut;
    worker.open = false;
    worker.samples -= event.count;
    worker.computed.erase(event.iter);
  }

  void lost(const Event& event, Worker& worker) {
    look();
    const bool used = worker.used.count(event.iter) > 0 && !loses_steps_ && !by_version_;
    if (worker.computed.count(event.iter) == 0 || used || !worker.lost.insert(event.iter).second)
      fail(event.time, event.rank, "lost a gradient that it has not computed, or that is used or lost");
  }

  void used(const Event& event) {
    steps_ = true;
    if (std::size_t(event.peer) >= workers_.size()) return;
    Worker& worker = workers_[std::size_t(event.peer)];
    worker.used.insert(event.iter);
    if (worker.lost.count(event.iter) > 0 && !loses_steps_ && !by_version_)
      fail(event.time, event.rank, "used a gradient that rank " + std::to_string(event.peer) + " has lost");
  }

  void settled_in_order(int rank, const Worker& worker) {
    look();
    const auto waiting = std::int64_t(worker.computed.size() - worker.used.size() - worker.lost.size());
    if (by_version_ && (waiting < 0 || waiting > 1)) fail(now_, rank, "has more than one gradient at the servers");
    if (by_version_) return;
    for (const Iter k : worker.computed) {
      const bool waits = worker.used.count(k) == 0 && worker.lost.count(k) == 0;
      if (waits && !worker.used.empty() && k < *worker.used.rbegin())
        fail(now_, rank, "its gradient of iteration " + std::to_string(k) + " is neither used nor lost");
    }
  }

  void equal(int rank, const char* what, std::int64_t record, std::int64_t events) {
    look();
    if (record == events) return;
    fail(now_, rank, std::string(what) + ": " + std::to_string(record) + ", by the events " + std::to_string(events));
  }

  std::vector<Worker> workers_;
  const bool loses_steps_;
  const bool by_version_;  // what is used is told with the version of its weights, not its iteration
  bool steps_ = false;     // the protocol tells of steps
  std::set<int> dead_;
  Time now_{};
};

}  // namespace

CheckerPtr gradient_counts(const CheckedRun& run) { return std::make_unique<GradientCounts>(run); }

}  // namespace hopbench::checkers
