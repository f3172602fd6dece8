#include "suites/trial/bounds.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace hopbench {
namespace {

/// A worker draws slowdowns for at most this many gradients that it did not compute. More of them take the mean time.
constexpr std::int64_t kMostDraws = 100'000;

/// The most by which rounding changes a sample. Durations are whole nanoseconds; a gradient has a sample or more.
constexpr double kRounding_s = 1e-9;

Scenario::Where place_of(const TrialSpec& spec, const Plan& plan, int rank) {
  return {spec.seed, spec.repeat, spec.workload.number_of(rank), plan.host_of[std::size_t(rank)]};
}

/// Returns the least factor by which `rule` can multiply the compute time of its ranks.
double least_factor(const ComputeRule& rule) {
  const bool always = rule.from == Time{} && rule.until == kNever;
  switch (rule.what) {
    case SlowdownKind::kConstant:
      return always ? rule.factor : std::min(rule.factor, 1.0);
    case SlowdownKind::kBernoulli:
      return std::min(rule.factor, 1.0);
    case SlowdownKind::kExponential:
    case SlowdownKind::kPareto:
      return 1.0;
    case SlowdownKind::kLogNormal:
      return 0.0;
    case SlowdownKind::kTrace:
      return always ? rule.scale * rule.replay.trace->least() : std::min(rule.scale * rule.replay.trace->least(), 1.0);
    case SlowdownKind::kMarkov:
      return std::min(rule.factor, 1.0);
  }
  return 0.0;
}

double least_factor(const TrialSpec& spec, int rank) {
  double least = 1.0 - kMostNoise * spec.noise;
  for (const ComputeRule& rule : spec.scenario.compute) {
    const bool applies =
        rule.ranks.empty() || std::find(rule.ranks.begin(), rule.ranks.end(), rank) != rule.ranks.end();
    if (applies) least *= least_factor(rule);
  }
  return least;
}

/// Returns the time of a full batch in iteration k, begun at `now`.
Duration gradient_time(const TrialSpec& spec, const Scenario::Where& where, Iter k, Time now) {
  const Duration nominal = scaled(spec.costs.gradient, noise_factor(spec.noise, where, k));
  return scaled(nominal, spec.scenario.slowdown(where, k, now));
}

/// The gradients that the device of one worker would have computed in its idle time.
class IdleWork {
 public:
  /// `first`: the iteration of the first of them.
  IdleWork(const TrialSpec& spec, const Scenario::Where& where, Iter first)
      : spec_(spec), where_(where), next_(first) {}

  /// Returns the samples, parts of batches included, that fit into [from, until). Intervals ascend.
  double samples(Time from, Time until) {
    double samples = 0;
    while (from < until) {
      if (drawn_ == kMostDraws) return samples + spec_.workload.batch * to_seconds(until - from) / mean_length();
      if (left_ == Duration{}) draw(from);
      const Duration step = std::min(left_, until - from);
      samples += spec_.workload.batch * to_seconds(step) / to_seconds(length_);
      left_ -= step;
      from += step;
    }
    return samples;
  }

 private:
  void draw(Time now) {
    length_ = left_ = std::max(gradient_time(spec_, where_, next_++, now), Duration{1});
    total_s_ += to_seconds(length_);
    ++drawn_;
  }
  double mean_length() const { return total_s_ / static_cast<double>(drawn_); }

  const TrialSpec& spec_;
  const Scenario::Where where_;
  Iter next_;
  Duration length_{}, left_{};  // of the gradient under way
  double total_s_ = 0;
  std::int64_t drawn_ = 0;
};

/// The device of one worker over the window.
class Device {
 public:
  Device(const TrialSpec& spec, const Plan& plan, const RankRecord& rank, const Window& window)
      : rank_(rank), window_(window), idle_(spec, place_of(spec, plan, rank.rank), after_last()) {
    const int full = std::max(spec.workload.batch, spec.costs.saturation);
    const int roundings = spec.noise > 0 ? 2 : 1;  // before the slowdown's
    const double nominal_s = std::max(0.0, to_seconds(spec.costs.gradient) / full - roundings * kRounding_s);
    least_s_a_sample_ = std::max(0.0, nominal_s * least_factor(spec, spec.workload.number_of(rank.rank)) - kRounding_s);
  }

  /// Returns the samples that it computed in the window, and those that would fit into its idle time.
  double samples() {
    Time begin{};
    for (const IterationMark& mark : rank_.marks) {
      add(mark, begin);
      begin = mark.end;
    }
    idle(std::max(begin, window_.from), window_.until);
    const double owed_s = std::max(0.0, owed_s_ - kRounding_s * samples_);
    return busy_s_ > 0 ? samples_ * (1 - owed_s / busy_s_) + others_ : samples_ + others_;
  }

 private:
  Iter after_last() const {
    Iter next = 0;
    for (const IterationMark& mark : rank_.marks) {
      if (mark.end > window_.until) break;
      next = mark.iter + 1;
    }
    return next;
  }

  /// Adds an iteration. If it crosses an edge of the window, its share of time inside counts, as in the rates.
  void add(const IterationMark& mark, Time begin) {
    const double share = share_inside(begin, mark.end, window_);
    if (share <= 0) return;
    samples_ += share * mark.samples;
    const double busy_s = share * std::max(to_seconds(mark.compute), mark.samples * least_s_a_sample_);
    busy_s_ += busy_s;
    const Time from = std::max(begin, window_.from), until = std::min(mark.end, window_.until);
    const double idle_s = to_seconds(until - from) - busy_s;
    if (idle_s < 0) owed_s_ -= idle_s;
    if (idle_s > 0) idle(until - seconds_to_duration(idle_s), until);
  }

  /// Adds idle time. Work that took longer than its own iteration, as a gradient for another may, is taken from it.
  void idle(Time from, Time until) {
    if (until <= from) return;
    const double paid_s = std::min(owed_s_, to_seconds(until - from));
    owed_s_ -= paid_s;
    others_ += idle_.samples(from + seconds_to_duration(paid_s), until);
  }

  const RankRecord& rank_;
  const Window window_;
  IdleWork idle_;
  double least_s_a_sample_ = 0;
  double samples_ = 0, busy_s_ = 0;  // computed
  double others_ = 0;                // that fit into idle time
  double owed_s_ = 0;                // of work that took more than the time that there was
};

}  // namespace

WindowBounds window_bounds(const TrialRecord& record, const TrialSpec& spec, const Plan& plan, const Window& window) {
  const double length_s = to_seconds(window.until - window.from);
  if (spec.costs.gradient.count() <= 0 || length_s <= 0) return {};
  std::vector<double> samples;  // of each worker
  for (const RankRecord& rank : record.ranks) {
    if (rank.server || rank.rank >= plan.workers || !rank.lost.empty()) continue;
    samples.push_back(Device(spec, plan, rank, window).samples());
  }
  WindowBounds bounds{.ideal = std::accumulate(samples.begin(), samples.end(), 0.0) / length_s};
  std::sort(samples.begin(), samples.end());
  const auto n = double(samples.size());
  if (n > 0) bounds.slowest = std::min(n * samples[0] / length_s, bounds.ideal);  // but for rounding, it is less
  if (n > 1) bounds.without_slowest = std::min((n - 1) * samples[1] / length_s, bounds.ideal);
  return bounds;
}

double slowest_rate(const TrialSpec& spec, const Plan& plan) {
  if (spec.costs.gradient.count() <= 0) return 0;
  const Iter iterations =
      plan.iterations > 0 ? plan.iterations : std::max<Iter>(1, (plan.credits + plan.workers - 1) / plan.workers);
  Time last{};
  for (int r = 0; r < plan.workers; ++r) {
    Time now{};
    for (Iter k = 0; k < iterations; ++k) now = after(now, gradient_time(spec, place_of(spec, plan, r), k, now));
    last = std::max(last, now);
  }
  return double(iterations) * spec.workload.batch / to_seconds(last - Time{});
}

}  // namespace hopbench
