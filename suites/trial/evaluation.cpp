#include "suites/trial/evaluation.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <future>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "protocols/server/stripes.h"

namespace hopbench {
namespace {

// Runs jobs 0 .. n-1 on `threads` threads. Throws what a job throws.
void in_parallel(std::size_t n, int threads, const std::function<void(std::size_t)>& job) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < n; i = next++) job(i);
  };
  std::vector<std::future<void>> others;
  for (int t = 1; t < threads; ++t) others.push_back(std::async(std::launch::async, work));
  work();
  for (std::future<void>& other : others) other.get();
}

double distance_from(const Vec& mean, const std::vector<Payload>& xs) {
  double sum = 0;
  for (const Payload& x : xs) {
    Vec difference = mean;
    difference.axpy(-1.0f, x);
    const double norm = difference.norm();
    sum += norm * norm;
  }
  return std::sqrt(sum / double(xs.size()));
}

CurvePoint named(CurvePoint point, const char* model, const Evaluation& scores) {
  point.model = model;
  point.loss = scores.loss;
  point.accuracy = scores.accuracy;
  return point;
}

// Returns true for a vector of a model that is only timed.
bool numberless(const Payload& x) { return x.empty() || x.data() == nullptr; }

/// Returns the whole model from what the servers keep of it.
Payload joined(const std::vector<Payload>& servers, const std::vector<Bucket>& buckets) {
  if (servers.size() == 1) return servers.front();
  std::size_t size = 0;
  for (const Payload& own : servers) size += own.size();
  Vec all = Vec::uninitialised(size, servers.front().space());
  for (std::size_t i = 0; i < servers.size(); ++i) server::Stripes(buckets, i, servers.size()).put(servers[i], all);
  return all.share();
}

}  // namespace

CurveRecorder::CurveRecorder(int workers, int points, std::int64_t samples, const Payload& initial)
    : initial_(initial), latest_(std::size_t(workers), Snapshot{.x = initial}) {
  for (int rank = 0; rank < workers; ++rank) latest_[std::size_t(rank)].rank = rank;
  if (points > 0) {
    interval_ = std::max<std::int64_t>(1, samples / points);
    next_ = interval_;
    keep();
  }
}

// Workers in lock step report at one instant. A point is kept when that instant is over, so that all of them are in it.
void CurveRecorder::keep() {
  points_.push_back({last_, total_, latest_, due_ ? std::exchange(due_servers_, {}) : servers_now()});
  std::erase_if(points_.back().ranks, [](const Snapshot& snapshot) { return snapshot.lost; });
  due_ = false;
}

void CurveRecorder::lose(int rank, Time when, std::int64_t samples) {
  if (due_ && when > last_) keep();
  Snapshot& mine = latest_[std::size_t(rank)];
  total_ += samples - mine.samples;
  mine.samples = samples;
  mine.lost = true;
}

void CurveRecorder::report(int rank, Iter k, Time when, std::int64_t samples, const Payload& x) {
  if (due_ && when > last_) keep();
  Snapshot& mine = latest_[std::size_t(rank)];
  total_ += samples - mine.samples;
  mine.iter = k;
  mine.samples = samples;
  mine.x = x;
  mine.lost = false;
  last_ = std::max(last_, when);
  if (interval_ > 0 && total_ >= next_) {
    if (!std::exchange(due_, true)) due_servers_ = servers_now();
    while (next_ <= total_) next_ += interval_;
  }
}

void CurveRecorder::keep_the_end() {
  const auto present = [](const Snapshot& snapshot) { return !snapshot.lost; };
  const auto left = std::size_t(std::count_if(latest_.begin(), latest_.end(), present));
  if (!points_.empty() && points_.back().time == last_ && points_.back().ranks.size() > left) points_.pop_back();
  if (points_.empty() || points_.back().time != last_) keep();
  points_.back().servers = servers_now();  // as they are at the end, after the last worker's report
  if (interval_ > 0 && points_.size() > 1 && !points_.back().servers.empty()) points_.front().servers = {initial_};
}

std::vector<CurvePoint> CurveRecorder::evaluate(Workload& workload, int threads,
                                                const std::function<void()>& one_done) {
  keep_the_end();
  // Replicas are often the same bits (all-reduce), and snapshots of slow ranks stay the same. Each distinct vector is
  // evaluated once.
  std::vector<Payload> distinct;
  std::map<std::uint64_t, std::size_t> index;
  const auto place = [&](const Payload& x) {
    const auto [found, fresh] = index.try_emplace(numberless(x) ? x.size() : hash_bits(x), distinct.size());
    if (fresh) distinct.push_back(x);
    return found->second;
  };
  std::vector<std::vector<std::size_t>> of_ranks;
  std::vector<std::size_t> of_mean;
  std::vector<std::optional<std::size_t>> of_servers;
  std::vector<double> distances;
  for (const Point& point : points_) {
    std::vector<Payload> xs;
    std::vector<std::size_t> places;
    for (const Snapshot& snapshot : point.ranks) {
      xs.push_back(snapshot.x);
      places.push_back(place(snapshot.x));
    }
    const bool equal = std::all_of(places.begin(), places.end(), [&](std::size_t p) { return p == places[0]; });
    const Vec average = equal ? Vec::copy_of(xs[0]) : mean(xs);
    of_mean.push_back(place(average.share()));
    distances.push_back(equal ? 0.0 : distance_from(average, xs));
    of_ranks.push_back(std::move(places));
    const bool served = !point.servers.empty() && !numberless(point.servers.front());
    of_servers.push_back(served ? std::optional(place(joined(point.servers, workload.buckets()))) : std::nullopt);
  }
  std::vector<Evaluation> scores(distinct.size());
  in_parallel(distinct.size(), threads, [&](std::size_t i) {
    scores[i] = workload.evaluate(distinct[i]);
    if (one_done) one_done();
  });

  std::vector<CurvePoint> curve;
  for (std::size_t p = 0; p < points_.size(); ++p) {
    CurvePoint point;
    point.time = points_[p].time;
    point.samples = points_[p].samples;
    point.consensus_distance = distances[p];
    for (const Snapshot& snapshot : points_[p].ranks)
      point.iteration += double(snapshot.iter) / double(points_[p].ranks.size());
    std::vector<std::size_t> by_loss = of_ranks[p];
    std::stable_sort(by_loss.begin(), by_loss.end(),
                     [&](std::size_t a, std::size_t b) { return scores[a].loss < scores[b].loss; });
    curve.push_back(named(point, "mean", scores[of_mean[p]]));
    curve.push_back(named(point, "median rank", scores[by_loss[(by_loss.size() - 1) / 2]]));
    curve.push_back(named(point, "worst rank", scores[by_loss.back()]));
    if (of_servers[p]) curve.push_back(named(point, "server", scores[*of_servers[p]]));
  }
  return curve;
}

void mark_if_diverged(TrialRecord& record, const std::vector<Payload>& finals) {
  const auto lost_itself = [](const RankRecord& rank) {
    return std::any_of(rank.marks.begin(), rank.marks.end(),
                       [](const IterationMark& mark) { return mark.samples > 0 && !std::isfinite(mark.loss); });
  };
  const bool diverged =
      std::any_of(record.ranks.begin(), record.ranks.end(), lost_itself) ||
      std::any_of(record.curve.begin(), record.curve.end(), [](const auto& p) { return !std::isfinite(p.loss); }) ||
      std::any_of(finals.begin(), finals.end(),
                  [](const Payload& x) { return !numberless(x) && !std::isfinite(squared_norm(x)); });
  if (diverged) record.warnings.emplace_back(WarningKind::kDiverged);
}

void mark_if_unchanged(TrialRecord& record, const std::vector<Payload>& finals, const Payload& initial) {
  const std::uint64_t hash = hash_bits(initial);
  const auto is_initial = [&](const Payload& x) { return !numberless(x) && hash_bits(x) == hash; };
  if (!finals.empty() && std::all_of(finals.begin(), finals.end(), is_initial))
    record.warnings.emplace_back(WarningKind::kUnchanged);
}

std::string params_hash(const std::vector<Payload>& finals) {
  if (std::all_of(finals.begin(), finals.end(), numberless)) return "";
  std::uint64_t hash = 0;
  for (const Payload& x : finals) hash = hash_bits(x, hash);
  return fmt::format("{:016x}", hash);
}

}  // namespace hopbench
