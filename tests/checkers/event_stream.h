// A stream of events written by hand, in a small language, for the tests of checkers.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {

inline CheckedRun ring(int n) {
  CheckedRun run{.protocol = "hop", .workers = n};
  for (int i = 0; i < n; ++i) {
    run.edges.emplace_back(i, (i + 1) % n);
    run.edges.emplace_back((i + 1) % n, i);
  }
  run.knobs["gap_control"] = std::string("tokens");
  run.knobs["max_ig"] = std::int64_t{1};
  run.knobs["backup"] = std::int64_t{0};
  run.knobs["staleness"] = std::int64_t{0};
  run.knobs["max_jump"] = std::int64_t{0};
  return run;
}

inline CheckedRun with(CheckedRun run, const std::string& knob, Setting value) {
  run.knobs[knob] = std::move(value);
  return run;
}

inline CheckedRun servers(const std::string& protocol, int workers) {
  return {.protocol = protocol, .workers = workers, .servers = 1};
}

inline CheckedRun groups(const std::string& protocol, int workers, std::int64_t size) {
  CheckedRun run{.protocol = protocol, .workers = workers, .servers = 1};
  run.knobs["group_size"] = size;
  return run;
}

/// Returns the names of the checkers that watch such a run.
inline std::vector<std::string> names(const CheckedRun& run) {
  std::vector<std::string> all;
  for (const CheckerPtr& checker : make_checkers(run)) all.push_back(checker->name());
  return all;
}

// Everything returns the stream itself, so that a case reads as one chain of events.
class Stream {
 public:
  explicit Stream(CheckerPtr checker) : checker_(std::move(checker)) {}

  Stream& enter(int rank, Iter k) { return put({.rank = rank, .what = EventKind::kEnter, .iter = k}); }
  Stream& send(int from, int to, std::uint16_t kind, Iter k, std::int64_t count = 0) {
    return put({.rank = from, .what = EventKind::kSend, .iter = k, .peer = to, .kind = kind, .count = count});
  }
  Stream& deliver(int from, int to, std::uint16_t kind, Iter k) {
    return put({.rank = to, .what = EventKind::kDeliver, .iter = k, .peer = from, .kind = kind});
  }
  Stream& take(int from, int to, std::uint16_t kind, Iter k, std::int64_t count = 0) {
    return put({.rank = to, .what = EventKind::kTake, .iter = k, .peer = from, .kind = kind, .count = count});
  }
  /// New weights, in the very instant of the event before.
  Stream& answer(int server, int worker, Iter k) {
    now_ -= Duration{1000};
    return send(server, worker, kWeightsKind, k);
  }
  Stream& drop(int from, int to, std::uint16_t kind, Iter k) {
    return put({.rank = to, .what = EventKind::kDrop, .iter = k, .peer = from, .kind = kind});
  }
  Stream& pass(int from, int to, std::uint16_t kind, Iter k, std::int64_t count = 0) {
    return send(from, to, kind, k, count).deliver(from, to, kind, k);
  }
  Stream& spend(int rank, int owner, std::int64_t n) {
    return put({.rank = rank, .what = EventKind::kSpend, .peer = owner, .count = n});
  }
  Stream& reduce(int rank, Iter k, std::vector<int> who, std::vector<Iter> tags, std::vector<float> weights = {}) {
    if (weights.empty()) weights.assign(who.size(), 1.0f / float(who.size()));
    return put({.rank = rank,
                .what = EventKind::kReduced,
                .iter = k,
                .senders = std::move(who),
                .tags = std::move(tags),
                .weights = std::move(weights)});
  }
  /// A gradient that began at the event before.
  Stream& gradient(int rank, Iter k, std::int64_t first, std::int64_t count) {
    return put({.rank = rank, .what = EventKind::kGradient, .iter = k, .count = count, .first = first, .since = now_});
  }
  Stream& apply(int server, int worker, Iter k) {
    return put({.rank = server, .what = EventKind::kApplied, .iter = k, .peer = worker});
  }
  Stream& put_applied(int server, int worker, Iter k, double scale) {
    return put({.rank = server, .what = EventKind::kApplied, .iter = k, .peer = worker, .value = scale});
  }
  Stream& lose(int rank, Iter k) { return put({.rank = rank, .what = EventKind::kLost, .iter = k}); }
  Stream& cut(int rank, Iter k, std::int64_t samples) {
    return put({.rank = rank, .what = EventKind::kLost, .iter = k, .count = samples});
  }
  Stream& finished(int rank) { return put({.rank = rank, .what = EventKind::kFinished}); }
  /// A worker's death, as clusters tell of it.
  Stream& dies(int rank) { return hears_of_death(rank, rank).finished(rank); }
  Stream& hears_of_death(int rank, int of) { return put({.rank = rank, .what = EventKind::kPeerDied, .peer = of}); }
  Stream& settle() {
    checker_->settled(now_);
    return *this;
  }

  bool ok() {
    settle();
    checker_->finish();
    return checker_->ok();
  }
  /// Does the same, and holds the records against the events.
  bool counts(const std::vector<RankRecord>& records) {
    settle();
    checker_->finish();
    checker_->hold_against(records);
    return checker_->ok();
  }
  const Checker& checker() const { return *checker_; }

 private:
  Stream& put(Event event) {
    now_ += Duration{1000};
    event.time = now_;
    checker_->on(event);
    return *this;
  }
  CheckerPtr checker_;
  Time now_{};
};

}  // namespace hopbench::checkers
