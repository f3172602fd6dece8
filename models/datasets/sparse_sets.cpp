// Data sets of sparse rows with two classes: SpamAssassin as trigrams and as single bytes, the user's own in SVMlight
// format, and a drawn one.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/base/error.h"
#include "backends/base/random.h"
#include "models/datasets/dataset_path.h"
#include "models/datasets/svmlight.h"

namespace hopbench {
namespace {

/// Sparse rows as a data set. The smaller of the two labels is class 0.
class SparseSamples final : public Dataset {
 public:
  SparseSamples(SparseDataset rows, float class_1) : rows_(std::move(rows)), class_1_(class_1) {}
  std::size_t size() const override { return rows_.rows(); }
  Shape shape() const override { return {1, 1, static_cast<int>(rows_.columns())}; }
  int classes() const override { return 2; }
  std::int32_t label(std::size_t i) const override { return rows_.row(i).label == class_1_ ? 1 : 0; }
  void copy_sample(std::size_t i, float* to) const override {
    std::fill(to, to + rows_.columns(), 0.0f);
    const SparseDataset::Row row = rows_.row(i);
    for (std::size_t j = 0; j < row.columns.size(); ++j) to[row.columns[j]] = row.values[j];
  }
  const SparseDataset* rows() const override { return &rows_; }

 private:
  SparseDataset rows_;
  float class_1_;
};

/// Returns "2 different labels (-1, 1)", for example. If there are many labels, lists only the first ones.
std::string different(const std::set<float>& labels) {
  constexpr std::ptrdiff_t kShown = 5;
  const auto shown = std::next(labels.begin(), std::min<std::ptrdiff_t>(kShown, std::ptrdiff_t(labels.size())));
  return fmt::format("{} different label{} ({}{})", labels.size(), labels.size() == 1 ? "" : "s",
                     fmt::join(labels.begin(), shown, ", "), shown == labels.end() ? "" : ", ...");
}

/// Throws Error(kUsage) unless the training set has two labels and the test set no others. `train`, `test`: names.
DatasetPair two_classes(const std::string& train, const std::string& test, SparsePair pair) {
  const std::set<float> labels(pair.train.arrays().labels.begin(), pair.train.arrays().labels.end());
  if (labels.size() != 2)
    throw usage_error(fmt::format("{}: the rows have {}: two classes are needed, labelled -1 and 1, or 0 and 1, say",
                                  train, different(labels)));
  std::set<float> tested(pair.test.arrays().labels.begin(), pair.test.arrays().labels.end());
  std::erase_if(tested, [&](float label) { return labels.count(label) > 0; });
  if (!tested.empty())
    throw usage_error(fmt::format("{}: the rows have {} that no row of {} has: the two need the same labels", test,
                                  different(tested), train));
  if (pair.train.columns() == 0)
    throw usage_error(fmt::format("{}: no row has a value: there is nothing to train on", train));
  const float class_1 = *labels.rbegin();
  return {std::make_shared<SparseSamples>(std::move(pair.train), class_1),
          std::make_shared<SparseSamples>(std::move(pair.test), class_1)};
}

DatasetPair load_files(const DatasetRequest& request, const DatasetEntry& entry, const std::string& prefix) {
  if (request.path.empty() && entry.default_path.empty())
    throw usage_error(fmt::format(
        "data set {} has no folder of its own: {} and name their folder in model.dataset.path", entry.name, entry.get));
  const DataFolder folder(request, entry.name, entry.default_path, entry.get);
  const std::filesystem::path train = folder.find(prefix + "train.svm"), test = folder.find(prefix + "test.svm");
  return two_classes(train.string(), test.string(), read_svmlight(train, test));
}

/// Returns what a column adds to the score of a row that has it. The sign is random, and rare columns say more.
double weight_of(std::uint64_t seed, std::uint32_t column) {
  Random random({.seed = seed, .purpose = Purpose::kSynthetic, .rank = -2, .iteration = column});
  return 2.0 * random.uniform() - 1.0;
}

void sort_each_once(std::vector<std::uint32_t>& columns) {
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
}

/// Appends a row like that of a text. Columns follow a power law, so a few are in most rows and most are in few rows.
/// The values form a vector of length 1.
void draw_row(std::size_t columns, std::uint64_t seed, std::int64_t number, SparseVectors& to) {
  constexpr std::size_t kDraws = 64;
  Random random({.seed = seed, .purpose = Purpose::kSynthetic, .rank = 1, .iteration = number});
  std::vector<std::uint32_t> drawn(kDraws);
  for (std::uint32_t& column : drawn) {
    const double u = random.uniform();
    column = static_cast<std::uint32_t>(u * u * u * u * u * double(columns));
  }
  sort_each_once(drawn);
  const auto value = static_cast<float>(1.0 / std::sqrt(double(drawn.size())));
  double score = 0;
  for (const std::uint32_t column : drawn) {
    score += weight_of(seed, column);
    to.columns.push_back(column);
    to.values.push_back(value);
  }
  to.offsets.push_back(to.columns.size());
  to.labels.push_back(score + 2.0 * random.uniform() - 1.0 > 0 ? 1.0f : -1.0f);
}

SparseDataset draw_rows(std::size_t columns, std::uint64_t seed, std::int64_t first, std::int64_t count) {
  SparseVectors all;
  all.offsets.push_back(0);
  for (std::int64_t i = first; i < first + count; ++i) draw_row(columns, seed, i, all);
  all.original = all.columns;
  sort_each_once(all.original);
  std::vector<std::uint32_t> place(columns);
  for (std::size_t i = 0; i < all.original.size(); ++i) place[all.original[i]] = static_cast<std::uint32_t>(i);
  for (std::uint32_t& column : all.columns) column = place[column];
  return make_sparse(std::move(all));
}

DatasetPair load_drawn(const DatasetRequest& request) {
  constexpr std::int64_t kTrain = 4096, kTest = 1024;
  constexpr std::size_t kColumns = std::size_t{1} << 14;
  const SparseDataset train = draw_rows(kColumns, request.seed, 0, kTrain);
  return two_classes("synthetic_sparse", "synthetic_sparse",
                     {train, in_columns_of(draw_rows(kColumns, request.seed, kTrain, kTest), train)});
}

}  // namespace

DatasetEntry spamassassin() {
  return {"spamassassin", "6046 mails as counts of byte trigrams, sparse, 2 classes", fetched_folder("spamassassin"),
          "run `ci/fetch-data spamassassin`",
          [](const DatasetRequest& request) { return load_files(request, spamassassin(), "trigram."); }};
}
DatasetEntry spamassassin_unigram() {
  return {"spamassassin_unigram", "the same mails as counts of bytes", fetched_folder("spamassassin"),
          "run `ci/fetch-data spamassassin`",
          [](const DatasetRequest& request) { return load_files(request, spamassassin_unigram(), "unigram."); }};
}
DatasetEntry svmlight() {
  return {"svmlight", "your own rows: train.svm and test.svm in the folder dataset.path", "",
          "write train.svm and test.svm in the form of SVMlight",
          [](const DatasetRequest& request) { return load_files(request, svmlight(), ""); }};
}
DatasetEntry synthetic_sparse() {
  return {"synthetic_sparse", "drawn: 4096 + 1024 sparse rows like a text's, 2 classes", "", "", load_drawn};
}

}  // namespace hopbench
