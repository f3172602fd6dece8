// Node: gradients, averages and what they cost.
#include <algorithm>
#include <memory>
#include <utility>

#include "backends/base/record/event.h"
#include "backends/base/record/rank_record.h"
#include "protocols/node/node.h"

namespace hopbench {

Vec Node::initial() { return workload_.initial(); }

Gradient Node::gradient(const Vec& x, Iter k, Samples samples, const BucketReady& bucket_ready) {
  HB_ASSERT(!is_server());
  if (!faults_.empty()) meet_faults(k);
  const int batch = workload_.spec().batch;
  const int count = samples.count > 0 ? samples.count : batch;
  const std::int64_t first = samples.first >= 0 ? samples.first : k * batch;
  const double slowdown = slowdown_in(k);

  // The job holds it too: a run that ends meanwhile unwinds this strand, not the job.
  const auto gradient = std::make_shared<Gradient>();
  if (!workload_.sparse()) gradient->values = Vec::uninitialised(workload_.size(), workload_.space());
  gradient->samples = count;
  Work work;
  const int flat = options_.costs.saturation;
  work.nominal = scaled(options_.costs.gradient, double(std::max(count, flat)) / std::max(batch, flat));
  if (options_.noise > 0) work.nominal = scaled(work.nominal, noise_factor(options_.noise, where(rank), k));
  // Neither paced nor calibrated: only the proportion counts.
  if (work.nominal == Duration{} && slowdown != 1.0) work.nominal = std::chrono::milliseconds(1);
  work.cost = scaled(work.nominal, slowdown);
  work.job = [gradient, x = for_gradient(x, first, count, samples.shared), &workload = workload_, first, count,
              worker = samples.shared ? Workload::kEverybody : rank,
              announced = bool(bucket_ready)](const std::function<void(int)>& reached) {
    const std::function<void(int)> done = announced ? reached : [](int) {};
    gradient->loss = workload.gradient(x, worker, static_cast<std::uint64_t>(first), count, gradient->values, done);
  };
  if (bucket_ready) {
    for (const Bucket& bucket : buckets()) {
      work.milestones.push_back({bucket.done_at, [&, gradient] { bucket_ready(bucket, gradient->values); }});
    }
  }
  const auto [occupied, end] = occupy(std::move(work));
  gradient->took = occupied.took;
  last_gradient_ = occupied;

  record_->compute += occupied.took;
  const Duration delay = occupied.took - scaled(occupied.took, 1 / slowdown);
  record_->injected_delay += delay;
  record_->gradients += 1;
  record_->samples += count;
  before_ = std::exchange(newest_, {.samples = count, .took = occupied.took, .slow = slowdown != 1.0});
  record_->slow_events += newest_.slow ? 1 : 0;
  record_->overruns += occupied.overran ? 1 : 0;
  open_.samples += count;
  open_.compute += occupied.took;
  open_.loss = gradient->loss;
  emit_at(end, {.what = EventKind::kGradient,
                .iter = k,
                .count = count,
                .first = first,
                .value = gradient->loss,
                .since = end - occupied.took,
                .delay = delay});
  if (options_.computed)
    options_.computed(k, {.first = first, .count = count, .shared = samples.shared}, gradient->values);
  return std::move(*gradient);
}

/// Returns all of x or, if changes of it are pending, what the gradient of these samples reads.
Payload Node::for_gradient(const Vec& x, std::int64_t first, int count, bool shared) {
  if (x.pending() == nullptr || !x.pending()->due()) return x.share();
  const int worker = shared ? Workload::kEverybody : rank;
  workload_.columns(worker, static_cast<std::uint64_t>(first), count, columns_);
  return x.share_at(columns_);
}

Scenario::Where Node::where(int worker) const {
  return {options_.seed, options_.repeat, workload_.spec().number_of(worker), host(worker)};
}

double Node::slowdown_in(Iter k) const { return options_.scenario.slowdown(where(rank), k, now()); }

/// Returns the slowdown of vector operations. A server is as slow as the first worker on its host.
double Node::per_sample(std::int64_t samples) const {
  if (!options_.optimizer.per_sample) return 1;
  return static_cast<double>(samples) / (static_cast<double>(worker_count()) * batch());
}

double Node::vector_slowdown() const {
  int worker = rank;
  if (is_server()) {
    const int own = host(rank);
    worker = 0;
    while (worker < options_.workers && host(worker) != own) ++worker;
  }
  return worker < options_.workers ? options_.scenario.vector_slowdown(where(worker), now()) : 1.0;
}

Load Node::load() {
  const double slowdown = slowdown_in(entered_);
  const double took = to_seconds(last_gradient_.took);
  const double own = took > 0 ? 1 - to_seconds(last_gradient_.stolen) / took : 1;
  loads_.push_back({.cpu = 1 - own / slowdown, .memory = last_gradient_.memory});
  if (std::ssize(loads_) > options_.monitor.delay + 1) loads_.pop_front();
  Load shown = loads_.front();
  if (options_.monitor.noise > 0) {
    constexpr double kMost = 0.99;  // of a core: some is always left
    const int number = workload_.spec().number_of(rank);
    Random error({options_.seed, options_.repeat, Purpose::kMonitor, number, entered_});
    shown.cpu = std::clamp(shown.cpu + options_.monitor.noise * error.normal(), 0.0, kMost);
  }
  return shown;
}

Node::Done Node::occupy(Work work) {
  const bool background = background_;
  const Time began = now();
  Occupied occupied = runtime_.occupy(std::move(work));
  background_ = background;
  const Duration hung = hung_since(began + occupied.took - occupied.late, background);
  occupied.took -= std::min(occupied.late, hung);
  return {occupied, now() - hung};
}

Work Node::vector_work(double bytes, const std::function<void()>& arithmetic) const {
  Work work;
  const double rate = options_.costs.vector_bytes_per_s;
  work.cost = work.nominal = rate > 0 ? seconds_to_duration(charge_ * bytes / rate) : Duration{};
  if (options_.scenario.slows_vectors()) work.cost = scaled(work.nominal, vector_slowdown());
  work.job = [&arithmetic](const std::function<void(int)>&) { arithmetic(); };
  return work;
}

void Node::operate(double bytes, const std::function<void()>& arithmetic) {
  Work work = vector_work(bytes, arithmetic);
  work.yields = false;
  record_->vector_ops += operated(std::move(work));
}

void Node::operate_beside(double bytes, const std::function<void()>& arithmetic) {
  operated(vector_work(bytes, arithmetic));
}

Duration Node::operated(Work work) {
  const auto [occupied, end] = occupy(std::move(work));
  const Duration took = occupied.took;
  if (took > Duration{}) emit_at(end, {.what = EventKind::kOperated, .iter = entered_, .since = end - took});
  return took;
}

Vec Node::reduce(Iter k, std::span<const Term> terms) {
  std::vector<Payload> values;
  std::vector<float> weights;
  for (const Term& term : terms) {
    values.push_back(term.value);
    weights.push_back(term.weight);
  }
  HB_ASSERT(!values.empty());
  Vec result;
  double bytes = 0;
  for (const Payload& value : values) bytes += bytes_of(value);
  bytes *= 1 + 1 / static_cast<double>(values.size());
  operate(bytes, [&] { result = weighted_sum(values, weights); });
  summed(k, terms);
  return result;
}

void Node::summed(Iter k, std::span<const Term> terms) {
  Event event;
  event.what = EventKind::kReduced;
  event.iter = k;
  for (const Term& term : terms) {
    event.senders.push_back(term.sender);
    event.tags.push_back(term.tag);
    event.weights.push_back(term.weight);
    if (term.sender != rank) aged(k - term.tag);
    if (!is_server()) hears(term.sender, term.tag);
  }
  emit(std::move(event));
}

void Node::aged(Iter behind) {
  staleness_sum_ += static_cast<double>(behind);
  record_->staleness_mean = staleness_sum_ / static_cast<double>(++staleness_terms_);
  record_->staleness_max = std::max(record_->staleness_max, behind);
}

}  // namespace hopbench
