// What the report reads off a trial's event log, in one pass.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/base/error.h"
#include "results/event_reader.h"
#include "results/report_parts.h"

namespace hopbench::report {
namespace {

constexpr std::size_t kParts = 60;  // of a trial's time, in the map of gaps

/// Who is in which iteration, and how far ahead of the slowest that still runs.
class GapMap {
 public:
  GapMap(const TrialRecord& record, Digest& digest) : digest_(digest) {
    for (const RankRecord& rank : record.ranks) {
      if (!rank.server) workers_.push_back(rank.rank);
    }
    at_.assign(workers_.size(), 0);
    digest_.gaps.assign(workers_.size(), std::vector<double>(kParts, std::numeric_limits<double>::quiet_NaN()));
    part_ns_ = std::max(1.0, record.time_s * 1e9 / double(kParts));
  }

  void on(const Event& e) {
    const auto place = std::find(workers_.begin(), workers_.end(), e.rank);
    if (place == workers_.end()) return;
    if (e.what != EventKind::kEnter && e.what != EventKind::kFinished) return;
    go_to(e.time);
    at_[std::size_t(place - workers_.begin())] = e.what == EventKind::kFinished ? kGone : e.iter;
    note(now_);
  }
  void end() {
    if (now_ < kParts) go_to(Time{Duration{std::int64_t(part_ns_ * double(kParts))}});
  }

 private:
  static constexpr Iter kGone = -1;

  void go_to(Time time) {
    const double part = double(time.time_since_epoch().count()) / part_ns_;
    const std::size_t to = std::min(kParts - 1, std::size_t(std::max(0.0, part)));
    for (; now_ < to; ++now_) note(now_ + 1);
  }

  void note(std::size_t part) {
    Iter slowest = std::numeric_limits<Iter>::max();
    for (const Iter iter : at_) slowest = iter == kGone ? slowest : std::min(slowest, iter);
    for (std::size_t w = 0; w < at_.size(); ++w) {
      if (at_[w] == kGone) continue;
      const auto gap = double(at_[w] - slowest);
      double& cell = digest_.gaps[w][part];
      cell = std::isnan(cell) ? gap : std::max(cell, gap);
      digest_.gap_most = std::max(digest_.gap_most, gap);
    }
  }

  Digest& digest_;
  std::vector<int> workers_;
  std::vector<Iter> at_;
  double part_ns_ = 1;
  std::size_t now_ = 0;
};

int reason_place(Digest& digest, const std::string& reason) {
  const auto known = std::find(digest.reasons.begin(), digest.reasons.end(), reason);
  if (known != digest.reasons.end()) return int(known - digest.reasons.begin());
  digest.reasons.push_back(reason);
  return int(digest.reasons.size()) - 1;
}

void add_slice(Digest& digest, const LoggedEvent& logged) {
  const Event& e = logged.event;
  Slice slice{e.rank, Slice::kGradient, e.since.time_since_epoch().count(), e.time.time_since_epoch().count(),
              e.delay.count()};
  if (e.what == EventKind::kWait) slice.kind = reason_place(digest, logged.text);
  if (e.what == EventKind::kOperated) slice.kind = Slice::kOperation;
  if (slice.to > slice.from) digest.slices.push_back(slice);
}

void add_staleness(Digest& digest, const Event& e) {
  for (std::size_t s = 0; s < std::min(e.senders.size(), e.tags.size()); ++s) {
    if (e.senders[s] != e.rank) ++digest.staleness[e.iter - e.tags[s]];
  }
}

}  // namespace

Digest digest_of(const RunFolder& run, const TrialRow& row) {
  Digest digest;
  try {
    EventReader reader(find_event_log(run, row.record.id));
    GapMap gaps(row.record, digest);
    while (const std::optional<LoggedEvent> logged = reader.next()) {
      const Event& e = logged->event;
      gaps.on(e);
      const auto rank = std::find_if(row.record.ranks.begin(), row.record.ranks.end(),
                                     [&](const RankRecord& r) { return r.rank == e.rank; });
      const bool worker = rank != row.record.ranks.end() && !rank->server;
      if (e.what == EventKind::kReduced && worker) add_staleness(digest, e);
      if (e.what == EventKind::kGradient || e.what == EventKind::kWait || e.what == EventKind::kOperated) {
        add_slice(digest, *logged);
      }
    }
    gaps.end();
  } catch (const Error& error) {
    digest = {};
    digest.problem = error.what();
  }
  return digest;
}

}  // namespace hopbench::report
