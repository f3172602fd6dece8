#include "protocols/compressed/low_rank.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace hopbench::compressed {
namespace low_rank {

constexpr double kNothingLeft = 1e-5;    // of a column's length: rounding
constexpr std::size_t kMostRank = 1024;  // see the knob

double product_of(const std::vector<float>& a, const std::vector<float>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0, std::plus(), [](double x, double y) { return x * y; });
}

bool is_nothing(const std::vector<float>& column) {
  return std::all_of(column.begin(), column.end(), [](float number) { return number == 0; });
}

std::vector<Payload> rows_of(const Vec& m, const Tensor& at) {
  std::vector<Payload> rows;
  rows.reserve(at.rows);
  const Payload all = m.slice(at.offset, at.size());
  for (std::size_t i = 0; i < at.rows; ++i) rows.push_back(all.slice(i * at.columns, at.columns));
  return rows;
}

}  // namespace low_rank

void make_orthonormal(std::vector<std::vector<float>>& columns) {
  using namespace low_rank;
  for (std::size_t j = 0; j < columns.size(); ++j) {
    std::vector<float>& own = columns[j];
    const double before = std::sqrt(product_of(own, own));
    for (std::size_t i = 0; i < j; ++i) {
      const double along = product_of(columns[i], own);
      for (std::size_t n = 0; n < own.size(); ++n)
        own[n] = static_cast<float>(static_cast<double>(own[n]) - along * static_cast<double>(columns[i][n]));
    }
    const double left = std::sqrt(product_of(own, own));
    const double factor = left > kNothingLeft * before ? 1 / left : 0;
    for (float& number : own) number = static_cast<float>(factor * static_cast<double>(number));
  }
}

LowRank::LowRank(Node& self, int rank, const Vec& like)
    : self_(self), size_(like.size()), result_(like.size(), like.space()) {
  std::size_t end = 0;
  for (const Tensor& tensor : self.tensors()) {
    end = tensor.offset + tensor.size();
    const std::size_t r = std::min({static_cast<std::size_t>(rank), tensor.rows, tensor.columns});
    if (!tensor.is_matrix() || r * (tensor.rows + tensor.columns) >= tensor.size()) {
      whole_.push_back({tensor.offset, tensor.size()});
      continue;
    }
    matrices_.push_back({.at = tensor, .rank = r, .p = {}, .q = {}});
    for (std::size_t j = 0; j < r; ++j) matrices_.back().q.push_back(drawn(matrices_.size() - 1, j));
  }
  if (size_ > end) whole_.push_back({end, size_ - end});  // statistics
}

LowRank::Numbers LowRank::drawn(std::size_t matrix, std::size_t column) const {
  const auto number =
      static_cast<Iter>((static_cast<std::size_t>(step_) * matrices_.size() + matrix) * low_rank::kMostRank + column);
  Random random = self_.common_random(Purpose::kProtocol, number);
  Numbers numbers(matrices_[matrix].at.columns);
  for (float& each : numbers) each = static_cast<float>(2 * random.uniform() - 1);
  return numbers;
}

Vec LowRank::left(const Vec& m) {
  std::size_t numbers = 0;
  for (const Matrix& matrix : matrices_) numbers += matrix.rank * matrix.at.rows;
  for (const Slice& whole : whole_) numbers += whole.size;
  return self_.computed(bytes_of(m.size() + numbers), [&] {
    Vec all = Vec::uninitialised(numbers, m.space());
    std::size_t at = 0;
    for (const Matrix& matrix : matrices_) {
      const std::vector<Payload> rows = low_rank::rows_of(m, matrix.at);
      for (const Numbers& q : matrix.q) {
        const Vec column = Vec::from_host(q, m.space());
        Numbers p(matrix.at.rows);
        for (std::size_t i = 0; i < p.size(); ++i) p[i] = static_cast<float>(dot(rows[i], share(column)));
        all.assign(at, share(Vec::from_host(p, m.space())));
        at += p.size();
      }
    }
    for (const Slice& whole : whole_) {
      all.assign(at, m.slice(whole.offset, whole.size));
      at += whole.size;
    }
    return all;
  });
}

Vec LowRank::right(const Vec& m, const Vec& mean_of_left) {
  std::size_t numbers = 0;
  for (const Matrix& matrix : matrices_) numbers += matrix.rank * matrix.at.columns;
  return self_.computed(bytes_of(m.size() + numbers + 2 * mean_of_left.size()), [&] {
    Vec all = Vec::uninitialised(numbers, m.space());
    std::size_t from = 0, at = 0;
    for (Matrix& matrix : matrices_) {
      matrix.p.clear();
      for (std::size_t j = 0; j < matrix.rank; ++j, from += matrix.at.rows)
        matrix.p.push_back(Vec::copy_of(mean_of_left.slice(from, matrix.at.rows)).to_host());
      make_orthonormal(matrix.p);
      const std::vector<Payload> rows = low_rank::rows_of(m, matrix.at);
      for (const Numbers& p : matrix.p) {
        all.assign(at, share(weighted_sum(rows, p)));
        at += matrix.at.columns;
      }
    }
    for (const Slice& whole : whole_) {
      result_.assign(whole.offset, mean_of_left.slice(from, whole.size));
      from += whole.size;
    }
    return all;
  });
}

Vec LowRank::product(const Vec& mean_of_right) {
  ++step_;
  self_.operate(bytes_of(size_ + mean_of_right.size()), [&] {
    std::size_t from = 0;
    for (std::size_t m = 0; m < matrices_.size(); ++m) {
      Matrix& matrix = matrices_[m];
      std::vector<Payload> columns;
      for (std::size_t j = 0; j < matrix.rank; ++j, from += matrix.at.columns) {
        columns.push_back(mean_of_right.slice(from, matrix.at.columns));
        matrix.q[j] = low_rank::is_nothing(matrix.p[j]) ? drawn(m, j) : Vec::copy_of(columns.back()).to_host();
      }
      Numbers weights(matrix.rank);
      for (std::size_t i = 0; i < matrix.at.rows; ++i) {
        for (std::size_t j = 0; j < matrix.rank; ++j) weights[j] = matrix.p[j][i];
        result_.assign(matrix.at.offset + i * matrix.at.columns, share(weighted_sum(columns, weights)));
      }
    }
  });
  return result_;
}

void LowRank::clear_whole(Vec& x) const {
  for (const Slice& whole : whole_) x.assign(whole.offset, share(Vec(whole.size, x.space())));
}

}  // namespace hopbench::compressed
