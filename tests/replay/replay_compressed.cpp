// The oracles for compressed gradients: powersgd, error_feedback. All workers are in lock step and have one model.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "backends/base/random.h"
#include "tests/replay/replay.h"

namespace hopbench {
namespace {

using GradientsOf = std::map<int, const Event*>;  // by worker

std::vector<GradientsOf> gradients_by_iteration(const Cluster& cluster) {
  std::vector<GradientsOf> all(std::size_t(cluster.iterations));
  for (const Event& event : cluster.events) {
    if (event.what == EventKind::kGradient) all[std::size_t(event.iter)][event.rank] = &event;
  }
  return all;
}

/// A matrix as rows.
using Rows = std::vector<Numbers>;

/// Makes the columns orthonormal, the first one first.
void orthonormal_columns(Rows& p) {
  for (std::size_t j = 0; j < p.front().size(); ++j) {
    for (std::size_t i = 0; i < j; ++i) {
      double along = 0;
      for (const Numbers& row : p) along += row[i] * row[j];
      for (Numbers& row : p) row[j] -= along * row[i];
    }
    double square = 0;
    for (const Numbers& row : p) square += row[j] * row[j];
    for (Numbers& row : p) row[j] = square > 0 ? row[j] / std::sqrt(square) : 0;
  }
}

/// PowerSGD. The mean of all workers' M Q is the product of their mean M with Q.
class PowerIterations {
 public:
  PowerIterations(const Cluster& cluster, const Knobs& knobs, const Numbers& start)
      : cluster_(cluster),
        model_{start, Numbers(start.size(), 0.0)},
        errors_(std::size_t(cluster.nodes), Numbers(start.size(), 0.0)) {
    for (const Tensor& tensor : cluster.work->tensors()) {
      const auto rank =
          std::size_t(std::min({number_in(knobs, "rank", 2), double(tensor.rows), double(tensor.columns)}));
      if (rank * (tensor.rows + tensor.columns) >= tensor.rows * tensor.columns) continue;
      Rows q(tensor.columns, Numbers(rank));
      for (std::size_t j = 0; j < rank; ++j) {  // a column has draws of its own
        Random random({.seed = cluster.seed,
                       .repeat = cluster.repeat,
                       .purpose = Purpose::kProtocol,
                       .rank = -1,
                       .iteration = Iter(1024 * matrices_.size() + j)});
        for (Numbers& row : q) row[j] = 2 * random.uniform() - 1;
      }
      matrices_.push_back({tensor, q});
    }
  }

  std::string run() {
    const std::vector<GradientsOf> gradients = gradients_by_iteration(cluster_);
    for (std::size_t k = 0; k < gradients.size(); ++k) {
      step(gradients[k]);
      for (int w = 0; w < cluster_.nodes; ++w) {
        if (const std::string wrong = misreported(cluster_, w, k, model_.x); !wrong.empty()) return wrong;
      }
    }
    return "";
  }

 private:
  struct Matrix {
    Tensor at;
    Rows q;  // a row for each column of the matrix
  };

  void step(const GradientsOf& gradients) {
    std::vector<Numbers> wanted;  // of each worker
    Numbers mean(model_.x.size(), 0.0);
    for (const auto& [worker, event] : gradients) {
      wanted.push_back(gradient_at(cluster_, model_.x, *event, false));
      for (std::size_t i = 0; i < mean.size(); ++i) {
        wanted.back()[i] += errors_[std::size_t(worker)][i];
        mean[i] += wanted.back()[i] / double(cluster_.nodes);
      }
    }
    for (Matrix& matrix : matrices_) approximate(matrix, mean);
    for (Numbers& error : errors_) std::fill(error.begin(), error.end(), 0.0);
    for (const Matrix& matrix : matrices_) {
      for (std::size_t i = matrix.at.offset; i < matrix.at.offset + matrix.at.rows * matrix.at.columns; ++i) {
        for (std::size_t w = 0; w < wanted.size(); ++w) errors_[w][i] = wanted[w][i] - mean[i];
      }
    }
    model_.step(cluster_, mean);
  }

  /// Replaces the matrix within `all` by what its factors give.
  static void approximate(Matrix& matrix, Numbers& all) {
    const std::size_t columns = matrix.at.columns, rank = matrix.q.front().size();
    const auto number = [&](std::size_t i, std::size_t c) -> double& {
      return all[matrix.at.offset + i * columns + c];
    };
    Rows p(matrix.at.rows, Numbers(rank, 0.0));
    for (std::size_t i = 0; i < p.size(); ++i) {
      for (std::size_t j = 0; j < rank; ++j) {
        for (std::size_t c = 0; c < columns; ++c) p[i][j] += number(i, c) * matrix.q[c][j];
      }
    }
    orthonormal_columns(p);
    for (std::size_t c = 0; c < columns; ++c) {
      for (std::size_t j = 0; j < rank; ++j) {
        matrix.q[c][j] = 0;
        for (std::size_t i = 0; i < p.size(); ++i) matrix.q[c][j] += number(i, c) * p[i][j];
      }
    }
    for (std::size_t i = 0; i < p.size(); ++i) {
      for (std::size_t c = 0; c < columns; ++c)
        number(i, c) = std::inner_product(p[i].begin(), p[i].end(), matrix.q[c].begin(), 0.0);
    }
  }

  const Cluster& cluster_;
  Trained model_;
  std::vector<Numbers> errors_;
  std::vector<Matrix> matrices_;
};

/// error_feedback, one step at a time from the model that was reported: signs and the largest entries depend on the
/// last bit, so what a worker keeps is worked out in single precision.
class Kept {
 public:
  Kept(const Cluster& cluster, const Knobs& knobs, const Numbers& start)
      : cluster_(cluster),
        knobs_(knobs),
        start_(start),
        momentum_(start.size(), 0.0),
        errors_(std::size_t(cluster.nodes), std::vector<float>(start.size(), 0.0f)) {}

  std::string run() {
    const std::vector<GradientsOf> gradients = gradients_by_iteration(cluster_);
    for (std::size_t k = 0; k < gradients.size(); ++k) {
      Numbers x = k == 0 ? start_ : numbers_of(cluster_.reports[0].at(k - 1).x), mean(x.size(), 0.0);
      for (const auto& [worker, event] : gradients[k]) {
        const std::vector<float> sent = sent_by(worker, gradient_at(cluster_, x, *event, false));
        for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += double(sent[i]) / double(cluster_.nodes);
      }
      for (std::size_t i = 0; i < x.size(); ++i) {
        momentum_[i] = double(cluster_.optimizer.momentum) * momentum_[i] + mean[i];
        x[i] -= double(cluster_.optimizer.lr) * momentum_[i];
      }
      for (int w = 0; w < cluster_.nodes; ++w) {
        if (const std::string wrong = misreported(cluster_, w, k, x); !wrong.empty()) return wrong;
      }
    }
    return "";
  }

 private:
  std::vector<float> sent_by(int worker, const Numbers& g) {
    std::vector<float>& kept = errors_[std::size_t(worker)];
    for (std::size_t i = 0; i < g.size(); ++i) kept[i] += float(g[i]);
    const std::vector<float> sent = knobs_.count("compressor") > 0 ? signs_of(kept) : largest_of(kept);
    for (std::size_t i = 0; i < sent.size(); ++i) kept[i] -= sent[i];
    return sent;
  }

  static std::vector<float> signs_of(const std::vector<float>& d) {
    double sum = 0;
    for (const float each : d) sum += std::abs(double(each));
    const auto size = float(sum / double(d.size()));
    std::vector<float> signs;
    for (const float each : d) signs.push_back(each < 0 ? -size : size);
    return signs;
  }

  std::vector<float> largest_of(const std::vector<float>& d) const {
    const auto k = std::size_t(std::ceil(number_in(knobs_, "share", 0.01) * double(d.size())));
    std::vector<std::size_t> order(d.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return std::abs(d[a]) > std::abs(d[b]); });
    std::vector<float> largest(d.size(), 0.0f);
    for (std::size_t i = 0; i < k; ++i) largest[order[i]] = d[order[i]];
    return largest;
  }

  const Cluster& cluster_;
  const Knobs& knobs_;
  Numbers start_, momentum_;
  std::vector<std::vector<float>> errors_;
};

}  // namespace

std::string replayed_compressed(const Cluster& cluster, const std::string& protocol, const Knobs& knobs) {
  HB_ASSERT_MSG(!cluster.events.empty(), "a run that kept no events cannot be replayed");
  const Numbers start = numbers_of(cluster.work->initial().share());
  if (protocol == "powersgd") return PowerIterations(cluster, knobs, start).run();
  return Kept(cluster, knobs, start).run();
}

}  // namespace hopbench
