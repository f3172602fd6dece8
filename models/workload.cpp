#include "models/workload.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "backends/base/error.h"

namespace hopbench {
namespace {

void at_least_one(const char* what, std::int64_t value) {
  if (value < 1) throw usage_error(fmt::format("{} = {} is out of range: it must be at least 1", what, value));
}

void check(const WorkloadSpec& spec) {
  at_least_one("model.batch", spec.batch);
  at_least_one("run.world_size", spec.workers);
  at_least_one("compute.threads", spec.threads);
}

/// The state that one thread computes with. One thread has it at a time.
struct Lane {
  std::atomic_flag lent;
  std::unique_ptr<Learner> learner;  // made when first needed
  int largest_batch = 0;             // of that learner
  std::vector<std::uint32_t> samples;
  std::vector<Crop> crops;  // of each sample; none if they are taken as they are
  std::vector<float> inputs, picture;
  std::vector<SparseDataset::Row> rows;
  std::vector<std::int32_t> labels;
};

struct GiveBack {
  void operator()(Lane* lane) const {
    lane->lent.clear(std::memory_order_release);
    lane->lent.notify_all();
  }
};
using Loan = std::unique_ptr<Lane, GiveBack>;
/// Lends a lane. There is one for every worker and one for evaluation; who finds none free waits for the first, which
/// is lent most.
Loan borrow(std::vector<Lane>& lanes) {
  while (true) {
    for (Lane& lane : lanes) {
      if (!lane.lent.test_and_set(std::memory_order_acquire)) return Loan(&lane);
    }
    lanes.front().lent.wait(true);
  }
}

/// One worker's place in the data.
struct Worker {
  explicit Worker(SampleOrder its_order) : order(std::move(its_order)) {}
  void samples(std::uint64_t first, std::span<std::uint32_t> to) {
    while (busy.test_and_set(std::memory_order_acquire)) busy.wait(true);
    order.fill(first, to);
    busy.clear(std::memory_order_release);
    busy.notify_one();
  }
  SampleOrder order;
  std::atomic_flag busy;
};

class Training final : public Workload {
 public:
  Training(WorkloadSpec spec, DatasetPair data);

  const WorkloadSpec& spec() const override { return spec_; }
  std::size_t size() const override { return size_; }
  std::size_t trainable() const override { return trainable_; }
  Space& space() const override { return backend_->space(); }
  Vec initial() const override;
  bool sparse() const override { return sparse_; }
  void columns(int worker, std::uint64_t first, int count, std::vector<std::uint32_t>& to) override;
  const std::vector<Bucket>& buckets() const override { return buckets_; }
  std::vector<Tensor> tensors() const override { return tensors_; }
  double flops_per_sample() const override { return flops_; }
  float gradient(const Payload& x, int worker, std::uint64_t first, int count, Vec& g,
                 const std::function<void(int bucket)>& done) override;
  Evaluation evaluate(const Payload& x) override;
  std::vector<std::uint32_t> samples_of(int worker, const Samples& which) override {
    std::vector<std::uint32_t> samples(std::size_t(which.count));
    name_samples(which.shared ? kEverybody : worker, std::uint64_t(which.first), samples, {});
    return samples;
  }
  void load_data() override { data_.train->load(); }
  void make_room(int batch) override { announced_ = batch; }
  std::size_t part_size(int worker) const override { return of(worker).order.part_size(); }

 private:
  Worker& of(int worker) const {
    HB_ASSERT(worker >= 0 && worker < spec_.workers);
    return *workers_[static_cast<std::size_t>(worker)];
  }
  void name_samples(int worker, std::uint64_t first, std::span<std::uint32_t> to, std::span<Crop> crops) const;
  Learner& learner(Lane& lane, int batch) const;
  Batch gather(Lane& lane, const Dataset& from) const;
  Batch gather(Lane& lane, const Dataset& from, std::size_t first, std::size_t count) const;
  static void gather_inputs(Lane& lane, const Dataset& from);

  WorkloadSpec spec_;
  DatasetPair data_;
  std::unique_ptr<Backend> backend_;
  std::vector<std::unique_ptr<Worker>> workers_;
  mutable std::vector<Lane> lanes_;
  int announced_ = 0;  // the largest batch that is expected
  std::size_t size_ = 0, trainable_ = 0;
  bool sparse_ = false;
  std::vector<Bucket> buckets_;
  std::vector<Tensor> tensors_;
  double flops_ = 0;
};

Training::Training(WorkloadSpec spec, DatasetPair data)
    : spec_(std::move(spec)),
      data_(std::move(data)),
      backend_(create_backend(spec_.backend, {.threads = spec_.threads,
                                              .precision = spec_.precision,
                                              .deterministic = spec_.deterministic,
                                              .local_rank = spec_.local.number,
                                              .local_ranks = spec_.local.ranks,
                                              .ipc = spec_.ipc})),
      lanes_(static_cast<std::size_t>(spec_.workers) + 1) {
  announced_ = spec_.batch;
  check_augment(spec_.augment, *data_.train);
  auto parts = split(*data_.train, spec_.split, spec_.everybody(), spec_.seed, spec_.repeat);
  for (int w = 0; w < spec_.workers; ++w) {
    const int number = spec_.number_of(w);
    workers_.push_back(std::make_unique<Worker>(
        SampleOrder(std::move(parts[static_cast<std::size_t>(number)]), spec_.seed, spec_.repeat, number)));
  }
  const Learner& first = learner(lanes_.front(), spec_.batch);
  size_ = first.size();
  trainable_ = first.trainable();
  sparse_ = first.sparse();
  if (sparse_ && data_.train->rows() == nullptr)
    throw usage_error(
        fmt::format("model {} takes sparse rows, and data set {} has none: use spamassassin, svmlight or "
                    "synthetic_sparse",
                    spec_.model, spec_.dataset));
  buckets_ = first.buckets();
  tensors_ = first.tensors();
  flops_ = first.flops_per_sample();
}

Learner& Training::learner(Lane& lane, int batch) const {
  if (!lane.learner || lane.largest_batch < batch) {
    const int largest = batch <= announced_ ? announced_ : std::max(batch, 2 * lane.largest_batch);  // may grow on
    lane.learner.reset();  // before there is another: a device may not have room for both
    lane.largest_batch = 0;
    lane.learner =
        find_model(spec_.model).create(*backend_, spec_, data_.train->shape(), data_.train->classes(), largest);
    lane.largest_batch = largest;
  }
  return *lane.learner;
}

/// Crops are as many as samples, or none.
void Training::name_samples(int worker, std::uint64_t first, std::span<std::uint32_t> to, std::span<Crop> crops) const {
  if (worker != kEverybody) {
    of(worker).samples(first, to);
    const int number = spec_.number_of(worker);
    for (std::size_t i = 0; i < crops.size(); ++i) crops[i] = draw_crop(spec_.seed, spec_.repeat, number, first + i);
    return;
  }
  const auto batch = static_cast<std::uint64_t>(spec_.batch), workers = static_cast<std::uint64_t>(spec_.workers);
  while (!to.empty()) {
    const std::uint64_t turn = first / batch, within = first % batch;
    const std::size_t count = std::min<std::size_t>(to.size(), batch - within);
    const std::size_t cropped = std::min(count, crops.size());
    name_samples(static_cast<int>(turn % workers), turn / workers * batch + within, to.first(count),
                 crops.first(cropped));
    first += count;
    to = to.subspan(count);
    crops = crops.subspan(cropped);
  }
}

/// The samples named in the lane, side by side.
Batch Training::gather(Lane& lane, const Dataset& from) const {
  const std::size_t count = lane.samples.size();
  lane.labels.resize(count);
  for (std::size_t i = 0; i < count; ++i) lane.labels[i] = from.label(lane.samples[i]);
  Batch batch{.size = static_cast<int>(count), .labels = lane.labels.data()};
  if (sparse_) {
    lane.rows.resize(count);
    for (std::size_t i = 0; i < count; ++i) lane.rows[i] = from.rows()->row(lane.samples[i]);
    batch.rows = lane.rows.data();
  } else {
    gather_inputs(lane, from);
    batch.inputs = lane.inputs.data();
  }
  return batch;
}

void Training::gather_inputs(Lane& lane, const Dataset& from) {
  const std::size_t features = from.shape().size();
  lane.inputs.resize(lane.samples.size() * features);
  lane.picture.resize(features);
  for (std::size_t i = 0; i < lane.samples.size(); ++i) {
    float* const input = lane.inputs.data() + i * features;
    from.copy_sample(lane.samples[i], lane.crops.empty() ? input : lane.picture.data());
    if (!lane.crops.empty()) crop_picture(lane.crops[i], from.shape(), lane.picture.data(), input);
  }
}

Batch Training::gather(Lane& lane, const Dataset& from, std::size_t first, std::size_t count) const {
  lane.samples.resize(count);
  std::iota(lane.samples.begin(), lane.samples.end(), static_cast<std::uint32_t>(first));
  return gather(lane, from);
}

void Training::columns(int worker, std::uint64_t first, int count, std::vector<std::uint32_t>& to) {
  HB_ASSERT(sparse_);
  const Loan lane = borrow(lanes_);
  lane->samples.resize(static_cast<std::size_t>(count));
  name_samples(worker, first, lane->samples, {});
  to.assign(1, static_cast<std::uint32_t>(size_ - 1));  // the bias
  for (const std::uint32_t sample : lane->samples) {
    const SparseDataset::Row row = data_.train->rows()->row(sample);
    to.insert(to.end(), row.columns.begin(), row.columns.end());
  }
}

Vec Training::initial() const {
  const Loan lane = borrow(lanes_);
  return learner(*lane, spec_.batch).initial(spec_.seed, spec_.repeat);
}

float Training::gradient(const Payload& x, int worker, std::uint64_t first, int count, Vec& g,
                         const std::function<void(int bucket)>& done) {
  HB_ASSERT(x.size() == size_ && (sparse_ || g.size() == size_) && count > 0);
  const Loan lane = borrow(lanes_);
  lane->samples.resize(static_cast<std::size_t>(count));
  lane->crops.resize(spec_.augment == Augment::kNone ? 0 : lane->samples.size());
  name_samples(worker, first, lane->samples, lane->crops);
  const Batch batch = gather(*lane, *data_.train);
  if (sparse_) {
    const float loss = learner(*lane, count).sparse_gradient(x.data(), batch, g);
    if (done) done(0);
    return loss;
  }
  return learner(*lane, count).gradient(x.data(), batch, g.mutable_data(), done);
}

Evaluation Training::evaluate(const Payload& x) {
  HB_ASSERT(x.size() == size_ && spec_.evaluation_samples > 0);
  const Loan lane = borrow(lanes_);
  lane->crops.clear();
  const std::size_t total = std::min(data_.test->size(), static_cast<std::size_t>(spec_.evaluation_samples));
  Learner& scored = learner(*lane, spec_.batch);
  if (const auto wanted = static_cast<std::size_t>(scored.estimated_from()); wanted > 0) {
    const std::size_t there = std::min(wanted, data_.train->size());
    scored.estimate(x.data(), gather(*lane, *data_.train, 0, there), spec_.batch);
  }
  Learner::Score sum;
  for (std::size_t first = 0; first < total;) {
    const std::size_t count = std::min(total - first, static_cast<std::size_t>(spec_.batch));
    const Learner::Score part = scored.score(x.data(), gather(*lane, *data_.test, first, count));
    sum.loss_sum += part.loss_sum;
    sum.correct += part.correct;
    first += count;
  }
  return {sum.loss_sum / static_cast<double>(total), static_cast<double>(sum.correct) / static_cast<double>(total)};
}

/// A workload whose vectors hold no numbers: gradients cost time and bytes only.
class WithoutNumbers : public Workload {
 public:
  Space& space() const override { return null_space(); }
  Vec initial() const override { return Vec(size(), null_space()); }
  float gradient(const Payload&, int, std::uint64_t, int, Vec&, const std::function<void(int)>& done) override {
    for (std::size_t b = 0; done && b < buckets().size(); ++b) done(static_cast<int>(b));
    return 0;
  }
  Evaluation evaluate(const Payload&) override { return {}; }
};

/// Parameters of any number. Its data set is a count: that of Fashion-MNIST, divided equally.
class TimingOnly final : public WithoutNumbers {
 public:
  explicit TimingOnly(WorkloadSpec spec) : spec_(std::move(spec)) {
    if (spec_.size == 0)
      throw usage_error("model timing_only needs a size: set model.size to its number of parameters");
    spec_.dataset.clear();
    buckets_ = spec_.profile.empty() ? equal_buckets(spec_.size) : spec_.profile;
  }
  const WorkloadSpec& spec() const override { return spec_; }
  std::size_t size() const override { return spec_.size; }
  const std::vector<Bucket>& buckets() const override { return buckets_; }
  std::vector<Tensor> tensors() const override { return square_tensors(buckets_); }
  double flops_per_sample() const override { return 0; }
  std::size_t part_size(int) const override {
    return std::max<std::size_t>(1, 60000 / static_cast<std::size_t>(spec_.everybody()));
  }

 private:
  WorkloadSpec spec_;
  std::vector<Bucket> buckets_;
};

/// Another workload without its numbers: as large, and as long to compute.
class Emptied final : public WithoutNumbers {
 public:
  explicit Emptied(std::unique_ptr<Workload> real) : real_(std::move(real)) {}
  const WorkloadSpec& spec() const override { return real_->spec(); }
  std::size_t size() const override { return real_->size(); }
  std::size_t trainable() const override { return real_->trainable(); }
  const std::vector<Bucket>& buckets() const override { return real_->buckets(); }
  std::vector<Tensor> tensors() const override { return real_->tensors(); }
  double flops_per_sample() const override { return real_->flops_per_sample(); }
  std::size_t part_size(int worker) const override { return real_->part_size(worker); }

 private:
  std::unique_ptr<Workload> real_;
};

}  // namespace

std::unique_ptr<Workload> make_workload(const WorkloadSpec& spec, DatasetPair data) {
  check(spec);
  HB_ASSERT_MSG(find_model(spec.model).create != nullptr, "timing_only takes no data");
  return std::make_unique<Training>(spec, std::move(data));
}

std::unique_ptr<Workload> make_workload(const WorkloadSpec& spec) {
  check(spec);
  const ModelEntry& model = find_model(spec.model);
  if (model.create == nullptr) return std::make_unique<TimingOnly>(spec);
  WorkloadSpec resolved = spec;
  if (resolved.dataset.empty()) resolved.dataset = model.default_dataset;
  const DatasetRequest request{.path = spec.dataset_path, .size = spec.size, .seed = spec.seed};
  std::unique_ptr<Workload> workload = make_workload(resolved, find_dataset(resolved.dataset).load(request));
  if (spec.numbers || workload->sparse()) return workload;
  return std::make_unique<Emptied>(std::move(workload));
}

WorkloadSpec WorkloadSpec::on(int rank, const LocalPlace& where) const {
  WorkloadSpec one = *this;
  one.local = where;
  for (const OtherBackend& other : others) {
    if (std::find(other.ranks.begin(), other.ranks.end(), number_of(rank)) != other.ranks.end())
      one.backend = other.backend;
  }
  one.ipc = ipc && others.empty();  // who has no GPU cannot read what lies on another's
  one.others.clear();
  return one;
}

int WorkloadSpec::number_of(int rank) const {
  for (const int out : without) {
    if (out <= rank) ++rank;
  }
  return rank;
}

}  // namespace hopbench
