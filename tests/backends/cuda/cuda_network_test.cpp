// Networks on the GPU (emulated, or a real one: see tests/CMakeLists.txt) against the reference.
#include <cstdlib>
#include <thread>

#include "backends/base/vec.h"
#include "backends/cuda/backend.h"
#include "tests/backends/compute/compute_cases.h"

namespace hopbench {
namespace {

/// pass() with all of it in the backend's memory.
Pass pass_there(Backend& backend, CompiledNetwork& network, const Case& c, const Sample& s, int batch, bool with_dx) {
  Space& space = backend.space();
  const auto put = [&](const Floats& values) { return Vec::from_host(values, space); };
  const Vec params = put(s.params), x = put(s.x), dy = put(s.dy);
  Vec y = put(poison(s.dy.size())), dparams = put(poison(s.params.size())), dx = put(poison(s.x.size())),
      statistics = put(poison(statistics_of(c)));
  Pass result;
  network.forward(params.data(), x.data(), y.mutable_data(), batch);
  network.statistics(statistics.mutable_data());
  network.backward(params.data(), x.data(), dy.data(), dparams.mutable_data(), with_dx ? dx.mutable_data() : nullptr,
                   batch, [&](int layer) { result.done.push_back(layer); });
  result.y = y.to_host(), result.dparams = dparams.to_host(), result.statistics = statistics.to_host();
  if (with_dx) result.dx = dx.to_host();
  EXPECT_EQ(params.to_host(), s.params) << "an input was written to";
  EXPECT_EQ(x.to_host(), s.x) << "an input was written to";
  return result;
}

std::vector<std::int32_t> labels_of(int batch, int classes, int draw) {
  std::vector<std::int32_t> labels;
  for (int n = 0; n < batch; ++n) labels.push_back((n * 7 + draw) % classes);
  return labels;
}

Vec there(const std::vector<std::int32_t>& labels, Space& space) {
  return Vec::from_host({reinterpret_cast<const float*>(labels.data()), labels.size()}, space);
}

/// The results of a step of training.
struct Step {
  float loss = 0;
  Floats dparams, statistics;
  std::vector<int> told;
  bool operator==(const Step&) const = default;
};

Step step_there(Backend& backend, CompiledNetwork& network, const Case& c, const Sample& s,
                const std::vector<std::int32_t>& labels) {
  Space& space = backend.space();
  const Vec params = Vec::from_host(s.params, space), x = Vec::from_host(s.x, space), classes = there(labels, space);
  Vec dparams = Vec::from_host(poison(s.params.size()), space);
  Vec statistics = Vec::from_host(poison(statistics_of(c)), space);
  Step step;
  const auto loss = network.train(params.data(), x.data(), reinterpret_cast<const std::int32_t*>(classes.data()),
                                  dparams.mutable_data(), statistics.size() > 0 ? statistics.mutable_data() : nullptr,
                                  int(labels.size()), [&](int layer) { step.told.push_back(layer); });
  EXPECT_TRUE(loss.has_value());
  step.loss = loss.value_or(0);
  step.dparams = dparams.to_host(), step.statistics = statistics.to_host();
  return step;
}

Step step_of_reference(CompiledNetwork& network, const Case& c, const Sample& s,
                       const std::vector<std::int32_t>& labels) {
  Step step;
  Floats logits(s.dy.size()), dlogits(s.dy.size());
  step.dparams.resize(s.params.size());
  step.statistics.resize(statistics_of(c));
  const int batch = int(labels.size());
  network.forward(s.params.data(), s.x.data(), logits.data(), batch);
  network.statistics(step.statistics.data());
  if (!step.statistics.empty()) step.told.push_back(-1);
  step.loss = network.softmax_cross_entropy(logits.data(), labels.data(), dlogits.data(), batch, nullptr);
  network.backward(s.params.data(), s.x.data(), dlogits.data(), step.dparams.data(), nullptr, batch,
                   [&](int layer) { step.told.push_back(layer); });
  return step;
}

class CudaNetworks : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = cuda::unavailable(); !why.empty()) {
      if (std::getenv("HB_GPU_REQUIRED") != nullptr) FAIL() << why;
      GTEST_SKIP() << why;
    }
    backend_ = cuda::create_backend({});
    if (!cuda::gpus().front().starts_with("Emulated")) tolerance_ = 5e-5;  // up to 3200 terms are added in float
    reference_ = create_backend("reference");
  }
  void expect_agreement(const Case& c, std::initializer_list<int> batches, int largest) {
    SCOPED_TRACE(describe(c));
    const auto network = backend_->compile(c.layers, c.input, largest);
    const auto oracle = reference_->compile(c.layers, c.input, largest);
    std::int64_t draw = 0;
    for (int batch : batches) {
      SCOPED_TRACE("batch " + std::to_string(batch));
      const Sample s(c, batch, ++draw);
      const Pass expected = pass(*oracle, c, s, batch), got = pass_there(*backend_, *network, c, s, batch, true);
      EXPECT_LT(distance(got.y, expected.y), tolerance_);
      EXPECT_LT(distance(got.dparams, expected.dparams), tolerance_);
      EXPECT_LT(distance(got.dx, expected.dx), tolerance_);
      EXPECT_LT(distance(got.statistics, expected.statistics), tolerance_);
      EXPECT_EQ(got.done, expected.done);
      EXPECT_EQ(pass_there(*backend_, *network, c, s, batch, false).dparams, got.dparams);
    }
  }
  double tolerance_ = 1e-5;  // against sums in double
  std::unique_ptr<Backend> backend_, reference_;
};

TEST_F(CudaNetworks, AgreeWithTheReferenceInEveryLayer) {
  for (const Case& c : cases()) expect_agreement(c, {4, 1, 3, 4}, 4);
}

TEST_F(CudaNetworks, AgreeWithTheReferenceAsAWhole) {
  for (const Case& c : networks()) expect_agreement(c, {9, 2, 9, 1}, 9);
}

TEST_F(CudaNetworks, InferWithGivenStatistics) {
  for (const Case& c : networks()) {
    SCOPED_TRACE(describe(c));
    const Sample s(c, 3, 1);
    Floats statistics = normals(statistics_of(c), 77), expected(s.dy.size());
    for (float& value : statistics) value = 0.5f + std::abs(value);
    reference_->compile(c.layers, c.input, 3)
        ->infer(s.params.data(), statistics.data(), s.x.data(), expected.data(), 3);
    Space& space = backend_->space();
    const Vec params = Vec::from_host(s.params, space), x = Vec::from_host(s.x, space),
              given = Vec::from_host(statistics, space);
    Vec y = Vec::from_host(poison(expected.size()), space);
    backend_->compile(c.layers, c.input, 3)->infer(params.data(), given.data(), x.data(), y.mutable_data(), 3);
    EXPECT_LT(distance(y.to_host(), expected), tolerance_);
  }
}

// The first step of a batch size is launched piece by piece, later ones as a graph, from other pointers every time.
TEST_F(CudaNetworks, TrainAsTheReferenceDoesStepAfterStep) {
  for (const Case& c : networks()) {
    SCOPED_TRACE(describe(c));
    const auto network = backend_->compile(c.layers, c.input, 6), oracle = reference_->compile(c.layers, c.input, 6);
    const int classes = int(output_of(c).size());
    std::int64_t draw = 0;
    std::vector<Vec> kept;  // so that vectors lie elsewhere in every step
    for (int batch : {6, 6, 4, 6, 4, 4, 1, 6}) {
      const Sample s(c, batch, ++draw);
      const auto labels = labels_of(batch, classes, int(draw));
      const Step expected = step_of_reference(*oracle, c, s, labels),
                 got = step_there(*backend_, *network, c, s, labels);
      EXPECT_NEAR(got.loss, expected.loss, tolerance_ * std::abs(expected.loss));
      EXPECT_LT(distance(got.dparams, expected.dparams), tolerance_);
      EXPECT_LT(distance(got.statistics, expected.statistics), tolerance_);
      EXPECT_EQ(got.told, expected.told);
      kept.emplace_back(s.params.size(), backend_->space());
    }
  }
}

TEST_F(CudaNetworks, GiveTheSameBitsInEveryInstanceOnEveryThread) {
  const Case c{kSmallResnet, {3, 8, 8}};
  const Sample s(c, 5, 1);
  const auto labels = labels_of(5, 5, 1);
  const auto of = [&](int largest) {
    const auto network = backend_->compile(c.layers, c.input, largest);
    step_there(*backend_, *network, c, s, labels);
    return step_there(*backend_, *network, c, s, labels);
  };
  const Step expected = of(5);
  std::vector<Step> got(3);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < got.size(); ++i) threads.emplace_back([&, i] { got[i] = of(5 + int(i)); });
  for (std::thread& thread : threads) thread.join();
  for (const Step& step : got) EXPECT_EQ(step, expected);
}

TEST_F(CudaNetworks, OfOtherPrecisionsComeNear) {
  for (const auto& [precision, far] : {std::pair{"tf32", 2e-2}, {"bf16", 8e-2}}) {
    const auto backend = cuda::create_backend({.precision = precision});
    for (const Case& c : {Case{kLenet, {1, 28, 28}}, Case{kSmallVgg, {3, 16, 16}}}) {
      SCOPED_TRACE(std::string(precision) + ": " + describe(c));
      Sample s(c, 8, 1);
      for (float& p : s.params) p *= 0.1f;
      const auto labels = labels_of(8, int(output_of(c).size()), 1);
      const Step expected = step_of_reference(*reference_->compile(c.layers, c.input, 8), c, s, labels);
      const Step got = step_there(*backend, *backend->compile(c.layers, c.input, 8), c, s, labels);
      EXPECT_NEAR(got.loss, expected.loss, far * expected.loss);
      EXPECT_LT(distance(got.dparams, expected.dparams), far);
    }
  }
}

TEST_F(CudaNetworks, NameALabelThatIsNoClass) {
  const Case c{{dense(3)}, {2, 1, 1}};
  const auto network = backend_->compile(c.layers, c.input, 2);
  const std::string text = error_of([&] { step_there(*backend_, *network, c, Sample(c, 2, 1), {0, 3}); });
  EXPECT_NE(text.find("sample 1 has label 3"), std::string::npos) << text;
  EXPECT_GT(step_there(*backend_, *network, c, Sample(c, 2, 1), {0, 2}).loss, 0);  // and goes on
}

TEST_F(CudaNetworks, TellOfEveryPartOfAStep) {
  const Case c{kSmallResnet, {3, 8, 8}};
  const auto network = backend_->compile(c.layers, c.input, 2);
  std::set<std::pair<int, int>> parts;
  EXPECT_TRUE(network->watch([&](int layer, CompiledNetwork::Direction d) { parts.insert({int(d), layer}); }));
  step_there(*backend_, *network, c, Sample(c, 2, 1), {0, 1});
  for (const auto& part : {std::pair{0, 0}, {1, 0}, {1, 3}, {2, 3}, {0, 5}, {2, 5}, {1, 18}, {2, 18}})
    EXPECT_EQ(parts.count(part), 1u) << part.first << ", layer " << part.second;
}

TEST_F(CudaNetworks, SayWhatTheyWantOfMemoryThatIsNotThere) {
  const std::vector<LayerSpec> layers = {conv(64, 3, 1, 1), relu(), dense(10)};
  const std::string text = error_of([&] { backend_->compile(layers, {3, 512, 512}, 1 << 16); }, ExitCode::kEnvironment);
  EXPECT_NE(text.find("batch 65536"), std::string::npos) << text;
}

TEST_F(CudaNetworks, AreRefusedAPrecisionThatIsNone) {
  EXPECT_NE(error_of([] { cuda::create_backend({.precision = "fp8"}); }).find("bf16"), std::string::npos);
}

TEST_F(CudaNetworks, MultiplySparseRows) {
  const Floats x = normals(101, 1);
  const std::vector<std::uint32_t> columns[] = {{0, 7, 99}, {}, {5}};
  const Floats values[] = {{1, -2, 0.5f}, {}, {3}};
  std::vector<Backend::SparseRow> rows;
  for (int r = 0; r < 3; ++r) rows.push_back({columns[r], values[r]});
  Floats got = poison(3), expected = poison(3);
  reference_->margins(x.data(), 100, rows, expected.data());
  backend_->margins(Vec::from_host(x, backend_->space()).data(), 100, rows, got.data());
  EXPECT_LT(distance(got, expected), 1e-6);
}

}  // namespace
}  // namespace hopbench
