#include "cli/bench/bench_sparse.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "backends/base/error.h"
#include "backends/base/random.h"
#include "backends/compute/peak.h"
#include "models/workload.h"
#include "protocols/node/lazy_sgd.h"

namespace hopbench {
namespace {

constexpr std::size_t kNumbered = 16'609'143, kRowValues = 3662, kRows = 1024;

/// Draws rows. Columns are u^power of all, with u uniform; with power 1 every column is equally likely.
SparseDataset draw_rows(int power, bool drop_unused) {
  Random random({.seed = 1, .purpose = Purpose::kSynthetic});
  SparseVectors all;
  all.offsets.push_back(0);
  for (std::size_t r = 0; r < kRows; ++r) {
    std::vector<std::uint32_t> row(kRowValues);
    for (std::uint32_t& column : row)
      column = static_cast<std::uint32_t>(std::pow(random.uniform(), power) * double(kNumbered));
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    all.columns.insert(all.columns.end(), row.begin(), row.end());
    all.offsets.push_back(all.columns.size());
    all.labels.push_back(r % 2 == 0 ? 1.0f : -1.0f);
  }
  all.values.assign(all.columns.size(), 1.0f / std::sqrt(float(kRowValues)));
  std::vector<std::uint32_t> place(kNumbered);
  for (const std::uint32_t column : all.columns) place[column] = 1;
  for (std::uint32_t c = 0; c < kNumbered; ++c) {
    if (drop_unused && place[c] == 0) continue;
    place[c] = static_cast<std::uint32_t>(all.original.size());
    all.original.push_back(c + 1);  // as files number them
  }
  for (std::uint32_t& column : all.columns) column = place[column];
  return make_sparse(std::move(all));
}

/// Steps of two models on the same batches: one by plain SGD, one with momentum and weight decay.
class SparseStepper {
 public:
  SparseStepper(const SparseDataset& data, int batch)
      : data_(data),
        backend_(create_backend("reference")),
        learner_(find_model("linear_svm")
                     .create(*backend_, {.model = "linear_svm", .batch = batch},
                             {1, 1, static_cast<int>(data.columns())}, 2, batch)),
        x_(learner_->size()),
        lazy_x_(learner_->size()),
        lazy_(std::make_shared<LazySgd>(learner_->size(), Vec())),
        rows_(static_cast<std::size_t>(batch)),
        labels_(rows_.size()) {
    lazy_x_.defer(lazy_);
  }

  /// Chooses the k-th batch from now on; returns the number of its non-zeros.
  double choose(std::size_t k) {
    double values = 0;
    columns_.clear();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const std::size_t r = (k * rows_.size() + i) % data_.rows();
      rows_[i] = data_.row(r);
      labels_[i] = rows_[i].label > 0 ? 1 : 0;
      columns_.insert(columns_.end(), rows_[i].columns.begin(), rows_[i].columns.end());
      values += double(rows_[i].columns.size());
    }
    return values;
  }
  void read() {
    float sum = 0;
    const float* const x = x_.data();
    for (const std::uint32_t column : columns_) sum += x[column];
    sink_ = sum;
  }
  void gradient() {
    learner_->sparse_gradient(x_.data(), {.size = int(rows_.size()), .labels = labels_.data(), .rows = rows_.data()},
                              g_);
  }
  void step() { x_.axpy(-0.1f, g_.share()); }
  void lazy_step() {
    lazy_x_.share_at(columns_);  // as the gradient asks for it
    lazy_->step(lazy_x_, g_.share().entries(), {.lr = 0.1f, .momentum = 0.9f, .weight_decay = 1e-4f});
  }

 private:
  const SparseDataset& data_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Learner> learner_;
  Vec x_, lazy_x_, g_;
  std::shared_ptr<LazySgd> lazy_;
  std::vector<SparseDataset::Row> rows_;
  std::vector<std::int32_t> labels_;
  std::vector<std::uint32_t> columns_;
  volatile float sink_ = 0;
};

SparseBench measure(const std::string& name, const SparseDataset& data, int batch, int repeats) {
  const SparseArrays& arrays = data.arrays();
  SparseBench bench;
  bench.data = name;
  bench.numbered = arrays.original.back();
  bench.columns = data.columns();
  bench.row = double(data.nonzeros()) / double(data.rows());
  bench.batch = batch;
  SparseStepper stepper(data, batch);
  const auto timed = [&](double values, std::vector<double>& to, const std::function<void()>& f) {
    const double begin = thread_cpu_seconds();
    f();
    to.push_back((thread_cpu_seconds() - begin) / values);
  };
  constexpr int kFirst = 2;  // they touch memory for the first time
  for (int k = 0; k < kFirst + repeats; ++k) {
    if (k == kFirst) bench.reading = bench.gradient = bench.step = bench.lazy_step = {};
    const std::size_t turn = 2 * static_cast<std::size_t>(k);
    const double unread = stepper.choose(turn);
    timed(unread, bench.reading, [&] { stepper.read(); });
    const double values = stepper.choose(turn + 1);  // its weights have not just been read
    timed(values, bench.gradient, [&] { stepper.gradient(); });
    timed(values, bench.step, [&] { stepper.step(); });
    timed(values, bench.lazy_step, [&] { stepper.lazy_step(); });
  }
  return bench;
}

SparseBench measure_spamassassin(int batch, int repeats) {
  try {
    const DatasetPair data = find_dataset("spamassassin").load({});
    return measure("spamassassin, trigrams", *data.train->rows(), batch, repeats);
  } catch (const Error& error) {
    SparseBench none;
    none.data = "spamassassin, trigrams";
    none.skipped = error.what();
    return none;
  }
}

}  // namespace

std::vector<SparseBench> bench_sparse(int batch, int repeats) {
  return {measure_spamassassin(batch, repeats),
          measure("random, some columns frequent", draw_rows(8, true), batch, repeats),
          measure("random, every column equally likely", draw_rows(1, false), batch, repeats)};
}

}  // namespace hopbench
