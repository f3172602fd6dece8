// A trial's workload: lent learners, samples, evaluation, and what is refused.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>

#include "backends/base/error.h"
#include "models/quadratic.h"
#include "models/workload.h"

namespace hopbench {
namespace {

WorkloadSpec small(const std::string& model = "mlp") {
  return {.model = model,
          .dataset = model == "quadratic" ? "" : "synthetic",
          .batch = 8,
          .backend = "reference",
          .workers = 4};
}

struct Step {
  std::vector<float> g;
  float loss = 0;
  bool operator==(const Step&) const = default;
};

Step step(Workload& workload, const Payload& x, int worker, std::uint64_t first, int count) {
  Vec g = Vec::uninitialised(workload.size(), workload.space());
  const float loss = workload.gradient(x, worker, first, count, g, {});
  return {g.to_host(), loss};
}

bool has_onednn() {
  return std::any_of(backends().begin(), backends().end(), [](const BackendEntry& entry) {
    return std::string(entry.name) == "onednn" && entry.unavailable().empty();
  });
}

TEST(Workload, GivesTheSameBitsFromManyThreadsAsFromOne) {
  std::vector<WorkloadSpec> specs = {small("lenet"), small("mlp"), small("quadratic"), small("lenet")};
  if (has_onednn()) specs.back().backend = "onednn";
  for (const WorkloadSpec& spec : specs) {
    constexpr int kWorkers = 4, kSteps = 6;
    const auto serial = make_workload(spec), parallel = make_workload(spec);
    const Payload x = serial->initial().share();
    std::vector<std::vector<Step>> steps(kWorkers, std::vector<Step>(kSteps));
    std::vector<std::thread> threads;
    for (int t = 0; t < 2 * kWorkers; ++t)  // two threads a worker: more than there are learners
      threads.emplace_back([&, w = t % kWorkers, first = t / kWorkers] {
        for (int k = first; k < kSteps; k += 2)  // batch sizes differ, so learners grow while others compute
          steps[std::size_t(w)][std::size_t(k)] = step(*parallel, x, w, std::uint64_t(k) * 500, 8 + w * k % 7);
      });
    std::thread evaluating([&] { parallel->evaluate(x); });
    for (std::thread& thread : threads) thread.join();
    evaluating.join();
    for (int w = 0; w < kWorkers; ++w)
      for (int k = 0; k < kSteps; ++k)
        EXPECT_EQ(steps[std::size_t(w)][std::size_t(k)], step(*serial, x, w, std::uint64_t(k) * 500, 8 + w * k % 7))
            << spec.model;
    const Evaluation a = serial->evaluate(x), b = parallel->evaluate(x);
    EXPECT_EQ(a.loss, b.loss);
    EXPECT_EQ(a.accuracy, b.accuracy);
  }
}

TEST(Workload, ServesMoreThreadsThanItHasLearners) {
  WorkloadSpec spec = small("quadratic");
  spec.workers = 1;
  const auto workload = make_workload(spec);
  const Payload x = workload->initial().share();
  const double expected = workload->evaluate(x).loss;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) EXPECT_EQ(workload->evaluate(x).loss, expected);
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(Workload, TakesALargeBatchAsTheMeanOfItsHalves) {
  const auto workload = make_workload(small("lenet"));
  const Payload x = workload->initial().share();
  const Step whole = step(*workload, x, 1, 0, 32), first = step(*workload, x, 1, 0, 16),
             second = step(*workload, x, 1, 16, 16);
  EXPECT_NEAR(whole.loss, (first.loss + second.loss) / 2, 1e-5);
  for (std::size_t d = 0; d < whole.g.size(); ++d) ASSERT_NEAR(whole.g[d], (first.g[d] + second.g[d]) / 2, 1e-5);
}

TEST(Workload, GivesWorkersDifferentSamplesAndThePartsTheirSizes) {
  const auto workload = make_workload(small("quadratic"));
  const Payload x = workload->initial().share();
  EXPECT_NE(step(*workload, x, 0, 0, 8), step(*workload, x, 1, 0, 8));
  EXPECT_NE(step(*workload, x, 0, 0, 8), step(*workload, x, 0, 8, 8));
  for (int w = 0; w < 4; ++w) EXPECT_EQ(workload->part_size(w), 1024u);
}

// Everybody's order is the workers' orders interleaved by batches, however it is divided.
TEST(Workload, InterleavesTheWorkersOrdersForEverybody) {
  const auto workload = make_workload(small("quadratic"));  // 4 workers, batches of 8
  const Payload x = workload->initial().share();
  for (int k : {0, 1, 77}) {
    for (int w = 0; w < 4; ++w) {
      EXPECT_EQ(step(*workload, x, Workload::kEverybody, std::uint64_t(k * 32 + w * 8), 8),
                step(*workload, x, w, std::uint64_t(k * 8), 8));
    }
  }
  // Samples 4 to 15 of iteration 1: the second half of worker 0's batch, and all of worker 1's.
  const Step across = step(*workload, x, Workload::kEverybody, 32 + 4, 12), half = step(*workload, x, 0, 8 + 4, 4),
             whole = step(*workload, x, 1, 8, 8);
  for (std::size_t d = 0; d < across.g.size(); ++d)
    EXPECT_NEAR(across.g[d], (4 * half.g[d] + 8 * whole.g[d]) / 12, 1e-5);
}

TEST(Workload, WritesTheGradientIntoStorageOfItsOwn) {
  const auto workload = make_workload(small("quadratic"));
  Vec g(workload->size());
  const Payload earlier = g.share();
  workload->gradient(workload->initial().share(), 0, 0, 8, g, {});
  EXPECT_EQ(std::count(earlier.data(), earlier.data() + earlier.size(), 0.0f), 64);
  EXPECT_NE(g.data(), earlier.data());
}

/// The drawn test set with nonsense behind the first 100 samples.
class Poisoned final : public Dataset {
 public:
  explicit Poisoned(std::shared_ptr<const Dataset> sound) : sound_(std::move(sound)) {}
  std::size_t size() const override { return sound_->size(); }
  Shape shape() const override { return sound_->shape(); }
  int classes() const override { return sound_->classes(); }
  std::int32_t label(std::size_t i) const override { return sound_->label(i); }
  void copy_sample(std::size_t i, float* to) const override {
    sound_->copy_sample(i, to);
    if (i >= 100) to[0] = 1e9f;
  }

 private:
  std::shared_ptr<const Dataset> sound_;
};

TEST(Workload, EvaluatesTheFirstSamplesOfTheTestSetOnly) {
  const DatasetPair data = find_dataset("synthetic").load({});
  WorkloadSpec spec = small();
  spec.evaluation_samples = 100;
  const auto workload = make_workload(spec, {data.train, std::make_shared<Poisoned>(data.test)});
  EXPECT_LT(workload->evaluate(workload->initial().share()).loss, 10);
  spec.evaluation_samples = 101;
  const auto one_more = make_workload(spec, {data.train, std::make_shared<Poisoned>(data.test)});
  EXPECT_GT(one_more->evaluate(one_more->initial().share()).loss, 1e5);
}

TEST(Workload, EvaluatesTheWholeTestSetWhereItIsSmall) {
  WorkloadSpec spec = small("quadratic");
  spec.evaluation_samples = 1000000;
  const auto workload = make_workload(spec);
  const QuadraticOptimum optimum = quadratic_optimum(*find_dataset("quadratic").load({}).train);
  const std::vector<float> x(optimum.x.begin(), optimum.x.end());
  const Evaluation at_optimum = workload->evaluate(Vec::from_host(x).share());
  EXPECT_NEAR(at_optimum.loss, optimum.loss, 1e-5 * optimum.loss);
  EXPECT_EQ(at_optimum.accuracy, 0);
}

TEST(Workload, OfTheQuadraticHasItsOptimumWhereTheWorkersMeanGradientIsZero) {
  for (const bool skewed : {false, true}) {
    WorkloadSpec spec = small("quadratic");
    if (skewed) spec.split = {.what = SplitKind::kDirichlet, .alpha = 0.1};
    const auto workload = make_workload(spec);
    const QuadraticOptimum optimum = quadratic_optimum(*find_dataset("quadratic").load({}).train);
    const Vec x = Vec::from_host(std::vector<float>(optimum.x.begin(), optimum.x.end()));
    Vec mean_gradient(64);
    double alone = 0;
    for (int w = 0; w < 4; ++w) {
      Vec g(64);
      workload->gradient(x.share(), w, 0, 1024, g, {});
      alone = std::max(alone, g.norm());
      mean_gradient.axpy(0.25f, g.share());
    }
    EXPECT_LT(mean_gradient.norm(), 1e-6);
    EXPECT_GT(alone, skewed ? 0.5 : 0.01) << "skew must give the workers optima of their own";
  }
}

TEST(Workload, OfFashionMnistIsLearnt) {
  const DatasetEntry& data = find_dataset("fashion_mnist");
  if (!std::filesystem::is_directory(data.default_path)) GTEST_SKIP() << "no " << data.default_path;
  const auto workload =
      make_workload({.backend = has_onednn() ? "onednn" : "reference", .workers = 2, .evaluation_samples = 200});
  EXPECT_EQ(workload->spec().dataset, "fashion_mnist");
  Vec x = workload->initial(), g(workload->size());
  const Evaluation before = workload->evaluate(x.share());
  for (int k = 0; k < 60; ++k) {
    workload->gradient(x.share(), k % 2, std::uint64_t(k) / 2 * 32, 32, g, {});
    x.axpy(-0.05f, g.share());
  }
  const Evaluation after = workload->evaluate(x.share());
  EXPECT_NEAR(before.loss, std::log(10.0), 0.5);
  EXPECT_LT(after.loss, 1.2);
  EXPECT_GT(after.accuracy, 0.5);
}

TEST(TimingOnly, KeepsSizesAndNoNumbers) {
  const auto workload =
      make_workload({.model = "timing_only", .dataset = "not looked at", .workers = 4, .size = 1000003});
  EXPECT_EQ(workload->spec().dataset, "");
  EXPECT_EQ(workload->size(), 1000003u);
  EXPECT_EQ(&workload->space(), &null_space());
  EXPECT_EQ(workload->initial().data(), nullptr);
  EXPECT_EQ(workload->part_size(3), 15000u);
  Vec g(workload->size(), workload->space());
  std::vector<int> done;
  EXPECT_EQ(workload->gradient(workload->initial().share(), 0, 0, 32, g, [&](int b) { done.push_back(b); }), 0);
  EXPECT_EQ(done, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(workload->evaluate(workload->initial().share()).loss, 0);
  std::size_t end = workload->size();
  for (const Bucket& bucket : workload->buckets()) {
    EXPECT_EQ(bucket.offset + bucket.size, end);
    end = bucket.offset;
  }
  EXPECT_EQ(end, 0u);
  EXPECT_EQ(workload->buckets().back().done_at, 1.0);
}

void expect_refused(const WorkloadSpec& spec, ExitCode code, const std::vector<std::string>& says) {
  try {
    make_workload(spec);
    ADD_FAILURE() << "not refused: " << says.front();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    for (const std::string& text : says)
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

TEST(Workload, RefusesUnknownNamesWithTheNearest) {
  WorkloadSpec model = small(), dataset = small(), backend = small();
  model.model = "lenett";
  expect_refused(model, ExitCode::kUsage, {"unknown model 'lenett'", "Did you mean 'lenet'?"});
  dataset.dataset = "synthetics";
  expect_refused(dataset, ExitCode::kUsage, {"unknown data set 'synthetics'", "Did you mean 'synthetic'?"});
  backend.backend = "onedn";
  expect_refused(backend, ExitCode::kUsage, {"onedn", "Did you mean 'onednn'?"});
}

TEST(Workload, RefusesSizesOutOfRange) {
  WorkloadSpec batch = small(), workers = small(), threads = small(), many = small(), size = small("timing_only");
  batch.batch = 0;
  expect_refused(batch, ExitCode::kUsage, {"model.batch = 0"});
  workers.workers = 0;
  expect_refused(workers, ExitCode::kUsage, {"run.world_size = 0"});
  threads.threads = 0;
  expect_refused(threads, ExitCode::kUsage, {"compute.threads = 0"});
  many.workers = 4097;
  expect_refused(many, ExitCode::kUsage, {"4096 samples into 4097 parts"});
  expect_refused(size, ExitCode::kUsage, {"model.size"});
}

TEST(Workload, RefusesDataThatDoNotFitTheModel) {
  WorkloadSpec size = small("quadratic"), tiny = small("lenet");
  size.dataset = "synthetic";
  size.size = 64;
  expect_refused(size, ExitCode::kUsage, {"model.size = 64", "784 features"});
  tiny.dataset = "quadratic";
  expect_refused(tiny, ExitCode::kUsage, {});
}

}  // namespace
}  // namespace hopbench
