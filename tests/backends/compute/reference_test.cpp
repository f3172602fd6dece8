// The layers' arithmetic, the reference backend that the others are held against, and the list of backends.
#include "tests/backends/compute/compute_cases.h"

namespace hopbench {
namespace {

// ---- the reference itself

/// sum of dy * network(x), in double: what backward differentiates.
double projection(CompiledNetwork& network, const Floats& params, const Floats& x, const Floats& dy, int batch) {
  Floats y(dy.size());
  network.forward(params.data(), x.data(), y.data(), batch);
  double sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) sum += double(y[i]) * double(dy[i]);
  return sum;
}

void expect_slopes(const Case& c, Sample s, int batch, float step) {
  SCOPED_TRACE(describe(c));
  const auto network = create_backend("reference")->compile(c.layers, c.input, batch);
  const Pass analytic = pass(*network, c, s, batch);
  const auto slopes = [&](Floats& varied) {
    Floats result(varied.size());
    for (std::size_t i = 0; i < varied.size(); ++i) {
      const float middle = varied[i];
      varied[i] = middle + step;
      const double above = projection(*network, s.params, s.x, s.dy, batch);
      varied[i] = middle - step;
      const double below = projection(*network, s.params, s.x, s.dy, batch);
      const double width = double(middle + step) - double(middle - step);
      varied[i] = middle;
      result[i] = float((above - below) / width);
    }
    return result;
  };
  EXPECT_LT(distance(analytic.dparams, slopes(s.params)), 1e-3);
  EXPECT_LT(distance(analytic.dx, slopes(s.x)), 1e-3);
}

TEST(Reference, GradientIsTheSlopeInEveryLayer) {
  const std::vector<std::vector<LayerSpec>> layers = {{conv(3, 3, 1, 1)}, {conv(2, 2, 2)},         {dense(4)},
                                                      {relu()},           {max_pool(2, 2)},        {max_pool(3, 2, 1)},
                                                      {avg_pool(2, 2)},   {avg_pool(3, 2, 1)},     {max_pool(3, 1, 2)},
                                                      {batch_norm()},     {without_bias(dense(3))}};
  for (const auto& layer : layers) {
    for (const Shape& input : {Shape{1, 5, 4}, Shape{3, 4, 5}}) {
      const Case c{layer, input};
      Sample s(c, 2, 1);
      s.x = apart(s.x.size(), 2);
      expect_slopes(c, s, 2, 1e-2f);
    }
  }
}

TEST(Reference, GradientIsTheSlopeInAWholeNetwork) {
  const Case c{{conv(3, 3, 1, 1), max_pool(2, 2), relu(), conv(4, 2), avg_pool(2, 1), dense(5)}, {2, 6, 6}};
  expect_slopes(c, Sample(c, 2, 3), 2, 1e-3f);
}

TEST(Reference, GradientIsTheSlopeInResidualNetworks) {
  const Case smooth{{conv(2, 3, 1, 1), batch_norm(), conv(4, 3, 2, 1), add(0, 2), batch_norm(), add(2), dense(3)},
                    {2, 6, 4}};
  expect_slopes(smooth, Sample(smooth, 3, 3), 3, 1e-3f);
  Case c{kSmallResnet, {3, 8, 8}};  // with something smooth in place of each ReLU: a step crosses no kink
  std::replace_if(
      c.layers.begin(), c.layers.end(), [](const LayerSpec& l) { return l.type == Type::kRelu; }, avg_pool(1, 1));
  expect_slopes(c, Sample(c, 2, 5), 2, 1e-2f);
}

TEST(Reference, ComputesWhatIsComputedByHand) {
  const Floats x = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const auto forward = [&](const LayerSpec& layer, const Floats& params) {
    const Case c{{layer}, {1, 3, 3}};
    Floats y = poison(output_of(c).size());
    create_backend("reference")->compile(c.layers, c.input, 1)->forward(params.data(), x.data(), y.data(), 1);
    return y;
  };
  EXPECT_EQ(forward(conv(1, 2), {1, 10, 100, 1000, 0.5f}), (Floats{5421.5f, 6532.5f, 8754.5f, 9865.5f}));
  EXPECT_EQ(forward(conv(1, 3, 2, 1), {0, 0, 0, 0, 1, 0, 0, 0, 0, 0}), (Floats{1, 3, 7, 9}));
  EXPECT_EQ(forward(dense(2), {1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 5, 6}), (Floats{15, 8}));
  EXPECT_EQ(forward(max_pool(2, 1), {}), (Floats{5, 6, 8, 9}));
  EXPECT_EQ(forward(avg_pool(2, 2, 1), {}), (Floats{0.25f, 1.25f, 2.75f, 7}));
}

TEST(Reference, NormalisesByTheBatchOrByGivenStatistics) {
  const Case c{{batch_norm()}, {2, 1, 2}};
  const auto network = create_backend("reference")->compile(c.layers, c.input, 2);
  const Floats params = {2, 1, 0.5f, -1};  // scales, shifts
  const Floats x = {1, 3, 0, 0, 5, 7, 0, 4};
  Floats y = poison(8), statistics = poison(4);
  network->forward(params.data(), x.data(), y.data(), 2);
  network->statistics(statistics.data());
  EXPECT_EQ(statistics, (Floats{4, 1, 20.0f / 3, 4}));  // variances 5 and 3, of the population 4/3 of that
  EXPECT_NEAR(y[0], 0.5 + 2 * (1 - 4) / std::sqrt(5 + 1e-5), 1e-6);
  EXPECT_NEAR(y[7], -1 + (4 - 1) / std::sqrt(3 + 1e-5), 1e-6);
  const Floats given = {1, 2, 4, 9};
  network->infer(params.data(), given.data(), x.data(), y.data(), 2);
  EXPECT_NEAR(y[5], 0.5 + 2 * (7 - 1) / std::sqrt(4 + 1e-5), 1e-6);
  EXPECT_NEAR(y[7], -1 + (4 - 2) / std::sqrt(9 + 1e-5), 1e-6);
}

TEST(Reference, AddsShortcutsOfOptionA) {
  // The 1x1 convolution gives three channels of zeros; the shortcut of one channel stands in the middle.
  const Case c{{avg_pool(1, 1), conv(3, 1, 2), add(0, 2)}, {1, 3, 4}};
  const Floats params(6, 0.0f), x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  Floats y = poison(12);
  create_backend("reference")->compile(c.layers, c.input, 1)->forward(params.data(), x.data(), y.data(), 1);
  EXPECT_EQ(y, (Floats{0, 0, 0, 0, 1, 3, 9, 11, 0, 0, 0, 0}));
}

// ---- shapes, counts, errors

TEST(Layers, ThatCannotBeAddedSayWhy) {
  const auto refused = [](const LayerSpec& layer, int outputs = 4) {
    const std::vector<LayerSpec> layers = {relu(), conv(outputs, 1, 2), layer};
    return error_of([&] { create_backend("reference")->compile(layers, {2, 6, 6}, 1); });
  };
  for (int from : {-1, 1, 2}) EXPECT_NE(refused(add(from, 2)).find("two before"), std::string::npos);
  EXPECT_NE(refused(add(0)).find("layer 2: add layer 0 (stride 1) cannot add 2x6x6 to 4x3x3"), std::string::npos);
  EXPECT_FALSE(refused(add(0, 2), 1).empty());  // channels cannot become fewer
  EXPECT_FALSE(refused(add(0, 2), 5).empty());  // nor be padded unevenly
  EXPECT_FALSE(refused(add(0, 0)).empty());
}

TEST(Layers, HaveTheShapesCountsAndFlopsOfLenet) {
  EXPECT_EQ(output_shape(conv(20, 5), {1, 28, 28}), (Shape{20, 24, 24}));
  EXPECT_EQ(output_shape(max_pool(2, 2), {20, 24, 24}), (Shape{20, 12, 12}));
  EXPECT_EQ(output_shape(conv(64, 7, 2, 3), {3, 224, 223}), (Shape{64, 112, 112}));
  EXPECT_EQ(output_shape(avg_pool(3, 2), {4, 6, 7}), (Shape{4, 2, 3}));
  EXPECT_EQ(parameters_of({kLenet, {1, 28, 28}}), 431080u);
  EXPECT_EQ(forward_flops(conv(20, 5), {1, 28, 28}), 2.0 * 20 * 24 * 24 * 25);
  EXPECT_EQ(forward_flops(dense(500), {50, 4, 4}), 2.0 * 500 * 800);
  EXPECT_EQ(forward_flops(relu(), {50, 4, 4}), 0);
}

TEST(Layers, ThatDoNotFitNameBothShapes) {
  const std::string text = error_of([] { output_shape(conv(20, 5), {3, 4, 6}); });
  EXPECT_NE(text.find("conv 5x5 -> 20 (stride 1, padding 0)"), std::string::npos) << text;
  EXPECT_NE(text.find("3x4x6"), std::string::npos) << text;
  for (const LayerSpec& bad : {conv(0, 1), conv(2, 0), conv(2, 3, 0), conv(2, 3, 1, -1), max_pool(2, 2, 2), dense(0)}) {
    EXPECT_NE(error_of([&] { parameter_count(bad, {3, 4, 4}); }).find(to_string(bad)), std::string::npos);
  }
  EXPECT_FALSE(error_of([] { output_shape(relu(), {3, 0, 4}); }).empty());
}

TEST(Backends, AreListedAndCreatedByName) {
  std::vector<std::string> names;
  for (const BackendEntry& entry : backends()) names.emplace_back(entry.name);
  EXPECT_EQ(names, (std::vector<std::string>{"reference", "onednn", "cuda"}));
  EXPECT_STREQ(create_backend("reference")->name(), "reference");
  EXPECT_EQ(&create_backend("reference")->space(), &host_space());
}

TEST(Backends, OfAnUnknownNameGetTheNearest) {
  const std::string text = error_of([] { create_backend("onednm"); });
  EXPECT_NE(text.find("reference, onednn, cuda"), std::string::npos) << text;
  EXPECT_NE(text.find("Did you mean 'onednn'?"), std::string::npos) << text;
  EXPECT_FALSE(error_of([] { create_backend("reference", {.threads = 0}); }).empty());
}

TEST(Backends, ThatAreUnavailableSayWhy) {
  for (const BackendEntry& entry : backends()) {
    const std::string why = entry.unavailable();
    if (why.empty()) continue;
    EXPECT_NE(error_of([&] { create_backend(entry.name); }, ExitCode::kEnvironment).find(why), std::string::npos);
  }
}

}  // namespace
}  // namespace hopbench
