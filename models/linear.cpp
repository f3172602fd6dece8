// Linear models of two classes on sparse rows: one weight per column, followed by a bias. With y = -1 or 1 and the
// margin m = w x + b, the loss of a sample is
//   linear_svm           max(0, 1 - y m)       (the hinge loss of a support vector machine)
//   logistic_regression  log(1 + exp(-y m))
// The squared norm of the weights, which makes the first one an SVM, is optimizer.weight_decay.
//
// Parameters start at 0, as convex problems allow. The gradient has an entry for each column of the batch, even if its
// value is 0 because every margin is wide enough. So the cost of a step and the size of a message, and with them
// virtual time, depend on the samples alone.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "backends/base/error.h"
#include "models/learner.h"
#include "models/workload.h"

namespace hopbench {
namespace {

struct Loss {
  double (*of)(double ym);     // of y m
  double (*slope)(double ym);  // its derivative
};

// A margin that is not a number gives a loss that is not a number, because comparisons with it are false.
constexpr Loss kHinge = {[](double ym) { return ym >= 1.0 ? 0.0 : 1.0 - ym; },
                         [](double ym) { return ym >= 1.0 ? 0.0 : -1.0; }};
constexpr Loss kLogistic = {
    [](double ym) { return ym > 0 ? std::log1p(std::exp(-ym)) : std::log1p(std::exp(ym)) - ym; },
    [](double ym) { return -1.0 / (1.0 + std::exp(ym)); }};

/// A sum of several rows by column. It processes one window of columns at a time, which stays in the cache. So it finds
/// each column once, in ascending order, without sorting.
class ColumnSums {
 public:
  explicit ColumnSums(std::size_t columns) : columns_(columns) {}

  /// Writes the sum over rows r of factors[r] * row r to g, which has room for one more entry; returns their number.
  std::size_t add_up(const Batch& batch, const std::vector<float>& factors, SparseEntry* g) {
    next_.assign(static_cast<std::size_t>(batch.size), 0);
    SparseEntry* const begin = g;
    for (std::size_t base = 0; base < columns_; base += kWindow) {
      for (std::size_t r = 0; r < next_.size(); ++r) next_[r] = add_row(batch.rows[r], next_[r], base, factors[r]);
      g = take(base, g);
    }
    return static_cast<std::size_t>(g - begin);
  }

 private:
  static constexpr std::size_t kWindow = std::size_t{1} << 15, kBits = 64;

  /// Adds the row's values from the i-th on that lie in the window; returns the index of the first beyond it.
  std::size_t add_row(const SparseDataset::Row& row, std::size_t i, std::size_t base, float factor) {
    for (; i < row.columns.size() && row.columns[i] < base + kWindow; ++i) {
      const std::size_t at = row.columns[i] - base;
      sums_[at] += factor * row.values[i];
      seen_[at / kBits] |= std::uint64_t{1} << (at % kBits);
    }
    return i;
  }
  SparseEntry* take(std::size_t base, SparseEntry* g) {
    for (std::size_t w = 0; w < seen_.size(); ++w) {
      for (std::uint64_t left = std::exchange(seen_[w], 0); left != 0; left &= left - 1) {
        const std::size_t at = w * kBits + static_cast<std::size_t>(std::countr_zero(left));
        *g++ = {static_cast<std::uint32_t>(base + at), std::exchange(sums_[at], 0.0f)};
      }
    }
    return g;
  }

  std::size_t columns_;
  std::vector<std::size_t> next_;  // of each row
  std::array<float, kWindow> sums_{};
  std::array<std::uint64_t, kWindow / kBits> seen_{};
};

class Linear final : public Learner {
 public:
  Linear(Backend& backend, std::size_t columns, const Loss& loss)
      : backend_(backend), columns_(columns), loss_(loss), sums_(columns) {}

  std::size_t size() const override { return columns_ + 1; }
  Space& space() const override { return backend_.space(); }
  Vec initial(std::uint64_t, std::uint32_t) const override { return Vec(size(), space()); }
  const std::vector<Bucket>& buckets() const override { return buckets_; }
  double flops_per_sample() const override { return 0; }  // depends on the sample

  bool sparse() const override { return true; }
  float sparse_gradient(const float* x, const Batch& batch, Vec& g) override;
  /// Computes the same as a dense vector.
  float gradient(const float* x, const Batch& batch, float* g, const std::function<void(int)>& done) override;
  Score score(const float* x, const Batch& batch) override;

 private:
  /// Computes the margin of each row of the batch into margins_.
  void find_margins(const float* x, const Batch& batch);
  static double sign(const Batch& batch, std::size_t r) { return batch.labels[r] == 0 ? -1.0 : 1.0; }

  Backend& backend_;
  std::size_t columns_;
  Loss loss_;
  ColumnSums sums_;
  std::vector<Backend::SparseRow> rows_;
  std::vector<float> margins_;
  std::vector<float> factors_;  // of each row of a batch
  std::vector<Bucket> buckets_{{.offset = 0, .size = columns_ + 1, .done_at = 1.0}};
};

void Linear::find_margins(const float* x, const Batch& batch) {
  const auto rows = static_cast<std::size_t>(batch.size);
  rows_.clear();
  for (std::size_t r = 0; r < rows; ++r) rows_.push_back({batch.rows[r].columns, batch.rows[r].values});
  margins_.resize(rows);
  backend_.margins(x, columns_, rows_, margins_.data());
}

float Linear::sparse_gradient(const float* x, const Batch& batch, Vec& g) {
  const auto rows = static_cast<std::size_t>(batch.size);
  factors_.resize(rows);
  find_margins(x, batch);
  double loss = 0, of_bias = 0;
  std::size_t most = 1;
  for (std::size_t r = 0; r < rows; ++r) {
    const double y = sign(batch, r), ym = y * double(margins_[r]);
    loss += loss_.of(ym);
    factors_[r] = static_cast<float>(y * loss_.slope(ym) / batch.size);
    of_bias += factors_[r];
    most += batch.rows[r].columns.size();
  }
  g = Vec::sparse_with_room(size(), most);
  SparseEntry* const entries = g.room();
  const std::size_t used = sums_.add_up(batch, factors_, entries);
  entries[used] = {static_cast<std::uint32_t>(columns_), static_cast<float>(of_bias)};
  g.keep(used + 1);
  return static_cast<float>(loss / batch.size);
}

float Linear::gradient(const float* x, const Batch& batch, float* g, const std::function<void(int)>& done) {
  Vec sparse;
  const float loss = sparse_gradient(x, batch, sparse);
  space().fill(g, 0.0f, size());
  space().scatter_add(g, 1.0f, sparse.share().entries());
  if (done) done(0);
  return loss;
}

Learner::Score Linear::score(const float* x, const Batch& batch) {
  Score score;
  find_margins(x, batch);
  for (std::size_t r = 0; r < static_cast<std::size_t>(batch.size); ++r) {
    const float m = margins_[r];
    score.loss_sum += loss_.of(sign(batch, r) * double(m));
    score.correct += (m > 0) == (batch.labels[r] != 0) ? 1 : 0;
  }
  return score;
}

template <const Loss& loss>
std::unique_ptr<Learner> create(Backend& backend, const WorkloadSpec& spec, const Shape& input, int classes, int) {
  if (classes != 2)
    throw usage_error(fmt::format("model {} tells two classes apart, and data set {} has {}: use model softmax",
                                  spec.model, spec.dataset, classes));
  return std::make_unique<Linear>(backend, input.size(), loss);
}

}  // namespace

ModelEntry linear_svm() {
  return {"linear_svm", "a linear support vector machine on sparse rows (hinge loss)", "spamassassin", create<kHinge>,
          true};
}
ModelEntry logistic_regression() {
  return {"logistic_regression", "logistic regression on sparse rows", "spamassassin", create<kLogistic>, true};
}

}  // namespace hopbench
