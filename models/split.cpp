#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "backends/base/error.h"
#include "models/dataset.h"

namespace hopbench {
namespace {

using Indices = std::vector<std::uint32_t>;

/// The draws of one split.
struct Draws {
  std::uint64_t seed;
  std::uint32_t repeat;
  enum Step { kSamples, kShares, kClasses, kPieces };  // their numbers are part of the key
  Random of(Step step, int rank = -1) const {
    return Random({.seed = seed, .repeat = repeat, .purpose = Purpose::kDataSplit, .rank = rank, .iteration = step});
  }
  /// Returns 0 .. n-1 in random order.
  Indices shuffled(std::size_t n, Step step) const {
    Indices all(n);
    std::iota(all.begin(), all.end(), 0u);
    of(step).shuffle(std::span(all));
    return all;
  }
};

/// Cuts `sorted` into nearly equal runs, `each` for every worker, and deals them: worker w gets runs order[w * each],
/// ...
std::vector<Indices> dealt(const Indices& sorted, std::size_t workers, std::size_t each, const Indices& order) {
  const std::size_t n = sorted.size(), pieces = workers * each;
  std::vector<Indices> parts(workers);
  for (std::size_t p = 0; p < pieces; ++p)
    parts[p / each].insert(parts[p / each].end(), sorted.begin() + std::ptrdiff_t(n * order[p] / pieces),
                           sorted.begin() + std::ptrdiff_t(n * (order[p] + 1) / pieces));
  return parts;
}

/// Returns the log of a draw from Gamma(shape, 1) by Marsaglia and Tsang (2000); for shapes below 1 by Gamma(a) =
/// Gamma(a + 1) U^(1/a). Logs are used because for small shapes the draw itself underflows.
double log_gamma_draw(double shape, Random& random) {
  if (shape < 1) return log_gamma_draw(shape + 1, random) + std::log(1.0 - random.uniform()) / shape;
  const double d = shape - 1.0 / 3.0, c = 1.0 / std::sqrt(9.0 * d);
  while (true) {
    const double z = random.normal(), root = 1.0 + c * z;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(1.0 - random.uniform()) < 0.5 * z * z + d - d * v + d * std::log(v)) return std::log(d * v);
  }
}

/// Returns a draw from the symmetric Dirichlet, scaled so that the largest share is 1.
std::vector<double> dirichlet_draw(double alpha, std::size_t classes, Random random) {
  std::vector<double> share(classes);
  for (double& s : share) s = log_gamma_draw(alpha, random);
  const double largest = *std::max_element(share.begin(), share.end());
  for (double& s : share) s = std::exp(s - largest);
  return share;
}

std::size_t draw_index(const std::vector<double>& weights, double total, Random& random) {
  double left = random.uniform() * total;
  std::size_t last = 0;
  for (std::size_t c = 0; c < weights.size(); ++c) {
    if (weights[c] <= 0) continue;
    last = c;
    left -= weights[c];
    if (left < 0) break;
  }
  return last;  // rounding may leave `left` at 0: then the last class with any weight
}

/// Draws a class for a worker that wants classes in these shares, among the classes with samples left. If the shares of
/// all of these underflow to 0, draws in proportion to the samples left.
std::size_t draw_class(const std::vector<double>& share, const std::vector<Indices>& left, Random& random) {
  std::vector<double> weights(left.size(), 0.0);
  double total = 0, samples = 0;
  for (std::size_t c = 0; c < left.size(); ++c) {
    if (!left[c].empty()) weights[c] = share[c];
    total += weights[c];
    samples += static_cast<double>(left[c].size());
  }
  if (total > 0) return draw_index(weights, total, random);
  for (std::size_t c = 0; c < left.size(); ++c) weights[c] = static_cast<double>(left[c].size());
  return draw_index(weights, samples, random);
}

std::vector<Indices> split_dirichlet(const Dataset& train, const Indices& all, double alpha, std::size_t workers,
                                     const Draws& draws) {
  const auto classes = static_cast<std::size_t>(train.classes());
  std::vector<Indices> left(classes), parts(workers);
  for (std::uint32_t i : all) left[static_cast<std::size_t>(train.label(i))].push_back(i);
  std::vector<std::vector<double>> share;
  for (std::size_t w = 0; w < workers; ++w)
    share.push_back(dirichlet_draw(alpha, classes, draws.of(Draws::kShares, static_cast<int>(w))));
  Random random = draws.of(Draws::kClasses);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t w = i % workers;
    Indices& from = left[draw_class(share[w], left, random)];
    parts[w].push_back(from.back());
    from.pop_back();
  }
  return parts;
}

/// Sorts the samples by key; equal keys keep their order.
template <class Key>
Indices sorted_by(Indices samples, const Key& key) {
  std::stable_sort(samples.begin(), samples.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  return samples;
}

/// Does the same as sort_keys() for sparse rows. Zeros change no sum, so no row is expanded.
std::vector<double> sort_keys_of_rows(const SparseDataset& rows, int feature) {
  std::vector<double> keys(rows.rows());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const SparseDataset::Row row = rows.row(i);
    if (feature < 0) {
      keys[i] = std::accumulate(row.values.begin(), row.values.end(), 0.0);
      continue;
    }
    const auto at = std::lower_bound(row.columns.begin(), row.columns.end(), std::uint32_t(feature));
    if (at != row.columns.end() && *at == std::uint32_t(feature))
      keys[i] = double(row.values[std::size_t(at - row.columns.begin())]);
  }
  return keys;
}

/// Returns the sort key of each sample. Sums are in double and in feature order, so they are the same on every machine.
std::vector<double> sort_keys(const Dataset& train, int feature) {
  if (train.rows() != nullptr) return sort_keys_of_rows(*train.rows(), feature);
  std::vector<float> sample(train.shape().size());
  std::vector<double> keys(train.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    train.copy_sample(i, sample.data());
    keys[i] = feature >= 0 ? double(sample[static_cast<std::size_t>(feature)])
                           : std::accumulate(sample.begin(), sample.end(), 0.0);
  }
  return keys;
}

void check_feature(const Dataset& train, int feature) {
  const std::size_t features = train.shape().size();
  if (feature >= -1 && feature < static_cast<std::int64_t>(features)) return;
  throw usage_error(
      fmt::format("model.split.feature = {} is out of range: a sample has the features 0 to {}, and -1 "
                  "is the sum of all",
                  feature, features - 1));
}

void check(const Dataset& train, const SplitSpec& spec, int workers) {
  HB_ASSERT(workers > 0);
  const bool by_label = spec.what == SplitKind::kDirichlet || spec.what == SplitKind::kShards;
  if (by_label && train.classes() == 0)
    throw usage_error("cannot split by label: the data set has no labels: use model.split.kind = \"iid\"");
  if (spec.what == SplitKind::kByFeature) check_feature(train, spec.feature);
  if (spec.what == SplitKind::kDirichlet && !(spec.alpha > 0 && std::isfinite(spec.alpha)))
    throw usage_error(fmt::format("model.split.alpha = {} is out of range: it must be above 0", spec.alpha));
  std::size_t pieces = static_cast<std::size_t>(workers);
  if (spec.what == SplitKind::kShards) {
    if (spec.shards_per_worker < 1)
      throw usage_error(fmt::format("model.split.shards_per_worker = {} is out of range: it must be at least 1",
                                    spec.shards_per_worker));
    pieces *= static_cast<std::size_t>(spec.shards_per_worker);
  }
  if (pieces > train.size())
    throw usage_error(fmt::format("cannot split {} samples into {} parts: each needs at least one: use fewer workers{}",
                                  train.size(), pieces, spec.what == SplitKind::kShards ? " or shards" : ""));
}

}  // namespace

std::vector<std::vector<std::uint32_t>> split(const Dataset& train, const SplitSpec& spec, int workers,
                                              std::uint64_t seed, std::uint32_t repeat) {
  check(train, spec, workers);
  const Draws draws{seed, repeat};
  const auto count = static_cast<std::size_t>(workers);
  const Indices all = draws.shuffled(train.size(), Draws::kSamples);
  Indices in_order(train.size());
  std::iota(in_order.begin(), in_order.end(), 0u);
  std::vector<Indices> parts;
  switch (spec.what) {
    case SplitKind::kIid:
      parts = dealt(all, count, 1, in_order);
      break;
    case SplitKind::kDirichlet:
      parts = split_dirichlet(train, all, spec.alpha, count, draws);
      break;
    case SplitKind::kShards: {
      const auto each = static_cast<std::size_t>(spec.shards_per_worker);
      parts = dealt(sorted_by(all, [&](std::uint32_t i) { return train.label(i); }), count, each,
                    draws.shuffled(count * each, Draws::kPieces));
      break;
    }
    case SplitKind::kByFeature: {
      const std::vector<double> keys = sort_keys(train, spec.feature);
      parts = dealt(sorted_by(in_order, [&](std::uint32_t i) { return keys[i]; }), count, 1,
                    draws.shuffled(count, Draws::kPieces));
      break;
    }
  }
  for (Indices& part : parts) std::sort(part.begin(), part.end());
  return parts;
}

SampleOrder::SampleOrder(std::vector<std::uint32_t> part, std::uint64_t seed, std::uint32_t repeat, int rank)
    : part_(std::move(part)), seed_(seed), repeat_(repeat), rank_(rank) {
  HB_ASSERT(!part_.empty());
}

void SampleOrder::fill(std::uint64_t first, std::span<std::uint32_t> to) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::uint64_t position = first + i;
    to[i] = epoch(position / part_.size())[position % part_.size()];
  }
}

const std::vector<std::uint32_t>& SampleOrder::epoch(std::uint64_t e) {
  if (current_ == e) return permutation_;
  permutation_ = part_;
  Random random({.seed = seed_,
                 .repeat = repeat_,
                 .purpose = Purpose::kDataOrder,
                 .rank = rank_,
                 .iteration = static_cast<std::int64_t>(e)});
  random.shuffle(std::span(permutation_));
  current_ = e;
  return permutation_;
}

}  // namespace hopbench
