#include "backends/transport/exchange.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "backends/base/error.h"

namespace hopbench {
namespace {

class LocalAverage : public RankExchange {
 public:
  explicit LocalAverage(const ExchangeSpec& spec) : spec_(spec), x_(spec.floats), ys_(std::size_t(spec.neighbours)) {
    for (auto& y : ys_) {
      y.resize(spec.floats, 1.0f);
      places_.push_back(y.data());
    }
  }
  void once() override { average_in_place(x_, places_); }
  std::span<const float> checked() override {
    const std::vector<int> heard = heard_by(spec_);
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = pattern(spec_.rank, i);
    for (std::size_t k = 0; k < ys_.size(); ++k) {
      for (std::size_t i = 0; i < x_.size(); ++i) ys_[k][i] = pattern(heard[k], i);
    }
    once();
    return x_;
  }

 private:
  const ExchangeSpec spec_;
  std::vector<float> x_;
  std::vector<std::vector<float>> ys_;
  std::vector<const float*> places_;
};

/// Returns the mean of the numbers of these ranks at i.
double mean_of_patterns(std::span<const int> ranks, std::size_t i) {
  double sum = 0;
  for (int rank : ranks) sum += pattern(rank, i);
  return sum / double(ranks.size());
}

}  // namespace

std::vector<int> heard_by(const ExchangeSpec& spec) {
  std::vector<int> heard;
  for (int step = 1; step <= spec.neighbours; ++step) heard.push_back((spec.rank + spec.size - step) % spec.size);
  std::sort(heard.begin(), heard.end());
  return heard;
}

std::int64_t count_wrong(const ExchangeSpec& spec, std::span<const float> got) {
  std::vector<int> ranks{0};
  if (spec.operation == Operation::kAverage) {
    ranks = heard_by(spec);
    ranks.push_back(spec.rank);
  } else if (spec.operation == Operation::kAllReduce) {
    for (int rank = 1; rank < spec.size; ++rank) ranks.push_back(rank);
  }
  auto wrong = std::int64_t(std::max(got.size(), spec.floats) - std::min(got.size(), spec.floats));
  for (std::size_t i = 0; i < std::min(got.size(), spec.floats); ++i) {
    const double right = mean_of_patterns(ranks, i);
    if (!(std::abs(double(got[i]) - right) <= 1e-5 * std::max(1.0, right))) ++wrong;
  }
  return wrong;
}

void average_in_place(std::span<float> x, std::span<const float* const> ys) {
  const float part = 1.0f / float(ys.size() + 1);
  float* const out = x.data();
  const auto pass = [&](auto sum) {
    for (std::size_t i = 0; i < x.size(); ++i) out[i] = sum(i) * part;
  };
  // The usual numbers of terms are written out, so that each is one loop that a compiler can vectorise.
  const float *a = ys.empty() ? nullptr : ys[0], *b = ys.size() > 1 ? ys[1] : nullptr;
  if (ys.size() == 1) return pass([=](std::size_t i) { return out[i] + a[i]; });
  if (ys.size() == 2) return pass([=](std::size_t i) { return out[i] + a[i] + b[i]; });
  if (ys.size() == 3) return pass([=, c = ys[2]](std::size_t i) { return out[i] + a[i] + b[i] + c[i]; });
  if (ys.size() == 4)
    return pass([=, c = ys[2], d = ys[3]](std::size_t i) { return out[i] + a[i] + b[i] + c[i] + d[i]; });
  pass([&](std::size_t i) {
    float sum = out[i];
    for (const float* y : ys) sum += y[i];
    return sum;
  });
}

std::unique_ptr<RankExchange> local_average(const ExchangeSpec& spec) {
  HB_ASSERT(spec.operation == Operation::kAverage);
  return std::make_unique<LocalAverage>(spec);
}

}  // namespace hopbench
