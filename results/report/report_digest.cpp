// Reads a trial's event log for the report, in one pass.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>

#include "backends/base/error.h"
#include "backends/base/record/event.h"
#include "results/files/event_reader.h"
#include "results/report/report_parts.h"

namespace hopbench::report {
namespace {

constexpr std::size_t kParts = 60;  // of a trial's time, in the map of gaps

/// The iteration of each worker, and how far it is ahead of the slowest that still runs.
class GapMap {
 public:
  GapMap(const TrialRecord& record, Digest& digest) : digest_(digest) {
    std::size_t workers = 0;
    for (const RankRecord& rank : record.ranks) {
      if (!rank.server) place_of_.try_emplace(rank.rank, workers++);
    }
    at_.assign(workers, 0);
    working_[0] = at_.size();
    digest_.gaps.assign(at_.size(), std::vector<double>(kParts, std::numeric_limits<double>::quiet_NaN()));
    part_ns_ = std::max(1.0, record.time_s * 1e9 / double(kParts));
  }

  /// Returns true if the event's rank is a worker.
  bool on(const Event& e) {
    const auto worker = place_of_.find(e.rank);
    if (worker == place_of_.end()) return false;
    if (e.what != EventKind::kEnter && e.what != EventKind::kFinished) return true;
    go_to(e.time);
    const Iter before = slowest();
    move(at_[worker->second], e.what == EventKind::kFinished ? kGone : e.iter);
    // If the slowest is no further back than before, no other worker's gap has grown.
    if (!begun_ || slowest() < before) {
      note_all(now_);
    } else {
      note(worker->second, now_);
    }
    begun_ = true;
    return true;
  }
  void end() {
    if (now_ < kParts) go_to(Time{Duration{std::int64_t(part_ns_ * double(kParts))}});
  }

 private:
  static constexpr Iter kGone = -1;

  void go_to(Time time) {
    const double part = double(time.time_since_epoch().count()) / part_ns_;
    const std::size_t to = std::min(kParts - 1, std::size_t(std::max(0.0, part)));
    for (; now_ < to; ++now_) note_all(now_ + 1);
  }

  void move(Iter& at, Iter to) {
    const auto here = working_.find(at);
    if (here != working_.end() && --here->second == 0) working_.erase(here);
    if (to != kGone) ++working_[to];
    at = to;
  }

  Iter slowest() const { return working_.empty() ? std::numeric_limits<Iter>::max() : working_.begin()->first; }

  void note_all(std::size_t part) {
    for (std::size_t w = 0; w < at_.size(); ++w) note(w, part);
  }

  void note(std::size_t worker, std::size_t part) {
    if (at_[worker] == kGone) return;
    const auto gap = double(at_[worker] - slowest());
    double& cell = digest_.gaps[worker][part];
    cell = std::isnan(cell) ? gap : std::max(cell, gap);
    digest_.gap_most = std::max(digest_.gap_most, gap);
  }

  Digest& digest_;
  std::unordered_map<int, std::size_t> place_of_;  // of a worker, by its rank
  std::vector<Iter> at_;                           // by place
  std::map<Iter, std::size_t> working_;            // the number of workers in each iteration that have not finished
  bool begun_ = false;
  double part_ns_ = 1;
  std::size_t now_ = 0;
};

int reason_place(Digest& digest, const std::string& reason) {
  const auto known = std::find(digest.reasons.begin(), digest.reasons.end(), reason);
  if (known != digest.reasons.end()) return int(known - digest.reasons.begin());
  digest.reasons.push_back(reason);
  return int(digest.reasons.size()) - 1;
}

/// Keeps the slices of ranks that have a lane, and counts all.
void add_slice(Digest& digest, const LoggedEvent& logged, const std::set<int>& lanes) {
  const Event& e = logged.event;
  Slice slice{e.rank, Slice::kGradient, e.since.time_since_epoch().count(), e.time.time_since_epoch().count(),
              e.delay.count()};
  if (e.what == EventKind::kWait) slice.kind = reason_place(digest, logged.text);
  if (e.what == EventKind::kOperated) slice.kind = Slice::kOperation;
  if (slice.to <= slice.from) return;
  ++digest.slices_in_log;
  if (lanes.contains(slice.rank)) digest.slices.push_back(slice);
}

void add_staleness(Digest& digest, const Event& e) {
  for (std::size_t s = 0; s < std::min(e.senders.size(), e.tags.size()); ++s) {
    if (e.senders[s] != e.rank) ++digest.staleness[e.iter - e.tags[s]];
  }
}

}  // namespace

Digest digest_of(const RunFolder& run, const TrialRow& row) {
  Digest digest;
  const std::string log = find_event_log(run, row.record.id);
  try {
    EventReader reader(log, row);
    LogEnds ends(row.record);
    GapMap gaps(row.record, digest);
    std::set<int> lanes;
    for (std::size_t r = 0; r < std::min(kMostRanks, row.record.ranks.size()); ++r) {
      lanes.insert(row.record.ranks[r].rank);
    }
    while (const std::optional<LoggedEvent> logged = reader.next()) {
      const Event& e = logged->event;
      const bool worker = gaps.on(e);
      ends.on(e);
      if (e.what == EventKind::kReduced && worker) add_staleness(digest, e);
      if (e.what == EventKind::kGradient || e.what == EventKind::kWait || e.what == EventKind::kOperated) {
        add_slice(digest, *logged, lanes);
      }
    }
    gaps.end();
    digest.flaw = ends.flaw();
  } catch (const Error& error) {
    digest = {};
    digest.problem = error.what();
    if (std::filesystem::exists(log)) digest.flaw = error.what();
  }
  if (!digest.flaw.empty()) digest.flaw = fmt::format("trial {}: {}", row.record.id, digest.flaw);
  return digest;
}

}  // namespace hopbench::report
