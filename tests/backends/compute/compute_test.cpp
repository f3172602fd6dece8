#include <filesystem>
#include <iterator>
#include <thread>

#include "tests/backends/compute/compute_cases.h"

namespace hopbench {
namespace {

class OneDnn : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const BackendEntry& entry : backends()) {
      if (entry.name == std::string("onednn") && !entry.unavailable().empty()) GTEST_SKIP() << entry.unavailable();
    }
    backend_ = create_backend("onednn");
    reference_ = create_backend("reference");
  }
  std::unique_ptr<Backend> backend_, reference_;
};

/// Means around 0 and variances from 0.5 on.
Floats own_statistics(const Case& c) {
  Floats values = normals(statistics_of(c), 77);
  for (float& value : values) value = 0.5f + std::abs(value);
  return values;
}

void expect_agreement(Backend& backend, Backend& reference, const Case& c, std::initializer_list<int> batches,
                      int largest) {
  SCOPED_TRACE(describe(c));
  const auto network = backend.compile(c.layers, c.input, largest);
  const auto oracle = reference.compile(c.layers, c.input, largest);
  std::int64_t draw = 0;
  for (int batch : batches) {
    SCOPED_TRACE("batch " + std::to_string(batch));
    const Sample s(c, batch, ++draw);
    const Pass expected = pass(*oracle, c, s, batch);
    const Pass got = pass(*network, c, s, batch);
    EXPECT_LT(distance(got.y, expected.y), 3e-6);
    EXPECT_LT(distance(got.dparams, expected.dparams), 3e-6);
    EXPECT_LT(distance(got.dx, expected.dx), 3e-6);
    EXPECT_EQ(got.done, expected.done);
    EXPECT_LT(distance(got.statistics, expected.statistics), 3e-6);
    Floats inferred = poison(got.y.size()), expected_inferred = inferred;
    const Floats statistics = own_statistics(c);
    network->infer(s.params.data(), statistics.data(), s.x.data(), inferred.data(), batch);
    oracle->infer(s.params.data(), statistics.data(), s.x.data(), expected_inferred.data(), batch);
    EXPECT_LT(distance(inferred, expected_inferred), 3e-6);
  }
}

TEST_F(OneDnn, AgreesWithTheReferenceInEveryLayer) {
  for (const Case& c : cases()) expect_agreement(*backend_, *reference_, c, {4, 1, 3, 4}, 4);
}

TEST_F(OneDnn, AgreesWithTheReferenceInWholeNetworks) {
  for (const Case& c : networks()) expect_agreement(*backend_, *reference_, c, {9, 2, 9, 1}, 9);
}

TEST_F(OneDnn, ComputesTheGradientWhetherOrNotTheInputsIsAsked) {
  for (const Case& c : networks()) {
    const auto network = backend_->compile(c.layers, c.input, 2);
    const Sample s(c, 2, 1);
    EXPECT_EQ(pass(*network, c, s, 2, true).dparams, pass(*network, c, s, 2, false).dparams) << describe(c);
  }
}

TEST_F(OneDnn, GivesTheSameBitsInEveryInstanceOnEveryThread) {
  for (const Case& c : networks()) {
    const Sample s(c, 5, 1);
    const Pass expected = pass(*backend_->compile(c.layers, c.input, 5), c, s, 5);
    const auto other = backend_->compile(c.layers, c.input, 8);  // made here, used there
    std::vector<Pass> got(4);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < got.size(); ++i) {
      threads.emplace_back([&, i] {
        if (i == 0) {
          got[i] = pass(*other, c, s, 5);
        } else {
          got[i] = pass(*backend_->compile(c.layers, c.input, 5), c, s, 5);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Pass& p : got) EXPECT_EQ(p, expected) << describe(c);
  }
}

TEST_F(OneDnn, KeepsItsBitsBesideANetworkOfAnotherThreadCount) {
  const auto two_threads = create_backend("onednn", {.threads = 2});
  const Case c = networks().front();
  const Sample s(c, 6, 1);
  const auto one = backend_->compile(c.layers, c.input, 6), two = two_threads->compile(c.layers, c.input, 6);
  const Pass of_one = pass(*one, c, s, 6), of_two = pass(*two, c, s, 6);
  EXPECT_EQ(pass(*one, c, s, 6), of_one);
  EXPECT_EQ(pass(*two, c, s, 6), of_two);
  EXPECT_LT(distance(of_two.dparams, of_one.dparams), 3e-6);
}

std::ptrdiff_t threads_of_this_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

TEST_F(OneDnn, StartsNoThreadsWhereOneIsAsked) {
  std::thread([&] {  // a new thread has OpenMP's default count, not that of the others
    const Case c = networks().front();
    const auto before = threads_of_this_process();
    pass(*backend_->compile(c.layers, c.input, 4), c, Sample(c, 4, 1), 4);
    EXPECT_LE(threads_of_this_process(), before);
  })
      .join();
}

TEST_F(OneDnn, NamesItsVersionAndInstructionSet) {
  EXPECT_NE(backend_->version().find("oneDNN "), std::string::npos);
  EXPECT_NE(backend_->version().find(", "), std::string::npos);
}

// ---- what every backend that is there keeps

class EveryBackend : public ::testing::Test {
 protected:
  template <class F>
  void for_each(const F& f) {
    for (const BackendEntry& entry : backends()) {
      SCOPED_TRACE(entry.name);
      if (entry.unavailable().empty()) f(*entry.create({}));
    }
  }
};

TEST_F(EveryBackend, TellsOfEachLayerLastFirstWithItsGradientComplete) {
  for (const Case& c : networks()) {
    for_each([&](Backend& backend) {
      const auto network = backend.compile(c.layers, c.input, 2);
      const Sample s(c, 2, 1);
      const Floats whole = pass(*network, c, s, 2).dparams;
      Floats y(s.dy.size()), dparams = poison(whole.size());
      std::size_t complete_from = whole.size();
      int expected = int(c.layers.size());
      std::vector<std::size_t> counts;
      Shape shape = c.input;
      for (const LayerSpec& layer : c.layers) {
        counts.push_back(parameter_count(layer, shape));
        shape = output_shape(layer, shape);
      }
      network->forward(s.params.data(), s.x.data(), y.data(), 2);
      network->backward(s.params.data(), s.x.data(), s.dy.data(), dparams.data(), nullptr, 2, [&](int layer) {
        EXPECT_EQ(layer, --expected);
        complete_from -= counts[std::size_t(layer)];
        EXPECT_TRUE(std::equal(whole.begin() + std::ptrdiff_t(complete_from), whole.end(),
                               dparams.begin() + std::ptrdiff_t(complete_from)));
      });
      EXPECT_EQ(expected, 0);
    });
  }
}

TEST_F(EveryBackend, DoesNotNeedItsOutputsForTheBackwardPass) {
  const Case c{{conv(4, 3), relu()}, {2, 6, 6}};
  for_each([&](Backend& backend) {
    const auto network = backend.compile(c.layers, c.input, 2);
    const Sample s(c, 2, 1);
    const Pass expected = pass(*network, c, s, 2);
    Floats y(s.dy), dparams(s.params.size());
    network->forward(s.params.data(), s.x.data(), y.data(), 2);
    y = s.dy;  // the caller reuses the vector for the gradient at the outputs
    network->backward(s.params.data(), s.x.data(), y.data(), dparams.data(), nullptr, 2, {});
    EXPECT_EQ(dparams, expected.dparams);
  });
}

TEST_F(EveryBackend, GivesTheGradientToTheFirstOfEqualCells) {
  for_each([&](Backend& backend) {
    for (int channels : {1, 3, 16}) {
      const Case c{{max_pool(2, 2)}, {channels, 4, 4}};
      Sample s(c, 1, 1);
      std::fill(s.x.begin(), s.x.end(), -1.0f);
      std::fill(s.dy.begin(), s.dy.end(), 1.0f);
      const Pass got = pass(*backend.compile(c.layers, c.input, 1), c, s, 1);
      for (std::size_t i = 0; i < got.dx.size(); ++i) {
        EXPECT_EQ(got.dx[i], i / 4 % 2 == 0 && i % 2 == 0 ? 1 : 0) << "channels " << channels << ", cell " << i;
      }
    }
  });
}

TEST_F(EveryBackend, SoftmaxCrossEntropyFollowsItsFormula) {
  for_each([&](Backend& backend) {
    for (int classes : {1, 2, 10, 37}) {
      const int batch = 6;
      const std::vector<LayerSpec> layers = {dense(classes)};
      const auto network = backend.compile(layers, {3, 1, 1}, batch);
      Floats logits = normals(std::size_t(batch * classes), classes), dlogits = poison(logits.size());
      std::vector<std::int32_t> labels;
      for (int n = 0; n < batch; ++n) labels.push_back(n * 7 % classes);
      long double loss = 0;
      int right = 0, correct = -1;
      Floats expected;
      for (int n = 0; n < batch; ++n) {
        const float* row = logits.data() + n * classes;
        long double sum = 0;
        for (int k = 0; k < classes; ++k) sum += std::exp(static_cast<long double>(row[k]));
        loss -= std::log(std::exp(static_cast<long double>(row[labels[std::size_t(n)]])) / sum) / batch;
        right += std::max_element(row, row + classes) - row == labels[std::size_t(n)];
        for (int k = 0; k < classes; ++k) {
          const bool is_label = k == labels[std::size_t(n)];
          expected.push_back(float((std::exp(static_cast<long double>(row[k])) / sum - is_label) / batch));
        }
      }
      EXPECT_FLOAT_EQ(network->softmax_cross_entropy(logits.data(), labels.data(), dlogits.data(), batch, &correct),
                      float(loss));
      EXPECT_LT(distance(dlogits, expected), 1.2e-7);
      EXPECT_EQ(correct, right);
    }
  });
}

TEST_F(EveryBackend, SoftmaxCrossEntropyStandsLargeLogitsAndTies) {
  for_each([&](Backend& backend) {
    const std::vector<LayerSpec> layers = {dense(3)};
    const auto network = backend.compile(layers, {1, 1, 1}, 2);
    const Floats large = {1e4f, -1e4f, 0, 3e38f, -3e38f, 3e38f};
    const std::vector<std::int32_t> labels = {2, 2};
    Floats dlogits = poison(6);
    int correct = -1;
    const float loss = network->softmax_cross_entropy(large.data(), labels.data(), dlogits.data(), 2, &correct);
    EXPECT_FLOAT_EQ(loss, float((1e4 + std::log(2.0)) / 2));
    EXPECT_EQ(correct, 0);  // of equal logits the lowest class is the answer
    EXPECT_EQ(dlogits, (Floats{0.5f, 0, -0.5f, 0.25f, 0, -0.25f}));
    EXPECT_EQ(network->softmax_cross_entropy(large.data(), labels.data(), nullptr, 2, nullptr), loss);
    const Floats lost(6, std::numeric_limits<float>::quiet_NaN());
    EXPECT_TRUE(std::isnan(network->softmax_cross_entropy(lost.data(), labels.data(), nullptr, 2, nullptr)));
    const std::vector<std::int32_t> foreign = {0, 3};
    EXPECT_THROW(network->softmax_cross_entropy(large.data(), foreign.data(), nullptr, 2, nullptr), Error);
  });
}

TEST_F(EveryBackend, SaysWhichLayerDoesNotFit) {
  for_each([](Backend& backend) {
    const std::vector<LayerSpec> layers = {conv(20, 5), max_pool(2, 2), conv(50, 5)};
    const std::string text = error_of([&] { backend.compile(layers, {1, 12, 12}, 4); });
    EXPECT_NE(text.find("layer 2: conv 5x5 -> 50"), std::string::npos) << text;
    EXPECT_NE(text.find("20x4x4"), std::string::npos) << text;
    EXPECT_FALSE(error_of([&] { backend.compile({}, {1, 12, 12}, 4); }).empty());
    EXPECT_FALSE(error_of([&] { backend.compile(layers, {1, 28, 28}, 0); }).empty());
  });
}

}  // namespace
}  // namespace hopbench
