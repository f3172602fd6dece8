// Training on the GPU (emulated, or a real one) beside training on the CPU: the same model, the same batches.
#include "backends/cuda/backend.h"
#include "models/sequential.h"
#include "models/workload.h"
#include "tests/backends/compute/compute_cases.h"
#include "tests/backends/cuda/on_gpu.h"

namespace hopbench {
namespace {

using CudaTraining = cuda::OnGpu;

/// Losses of so many steps of SGD with momentum, whose vectors live where the backend computes.
std::vector<float> losses_of(Backend& backend, const Case& c, int steps, Statistics statistics) {
  constexpr int kBatch = 8;
  const auto learner = make_sequential(backend, c.layers, c.input, kBatch, Initial::kHe, statistics);
  Space& space = learner->space();
  Vec x = learner->initial(1, 0), momentum(learner->trainable(), space);
  std::vector<float> losses;
  const int classes = int(output_of(c).size());
  for (int k = 0; k < steps; ++k) {
    const Floats inputs = normals(c.input.size() * kBatch, k % 5);  // five batches, over and over
    std::vector<std::int32_t> labels;
    for (int n = 0; n < kBatch; ++n) labels.push_back((n * 3 + k % 5) % classes);
    Vec g = Vec::uninitialised(x.size(), space);
    int last = -1;
    losses.push_back(learner->gradient(x.data(), {kBatch, inputs.data(), labels.data(), nullptr}, g.mutable_data(),
                                       [&](int bucket) { EXPECT_EQ(bucket, ++last); }));
    EXPECT_EQ(last + 1, int(learner->buckets().size()));
    space.sgd(x.mutable_data(), momentum.mutable_data(), g.data(), {.lr = 0.01f, .momentum = 0.9f},
              learner->trainable());
  }
  return losses;
}

TEST_F(CudaTraining, FollowsTheCpuForFiftySteps) {
  const auto cuda = cuda::create_backend({}), reference = create_backend("reference");
  for (const Case& c : {Case{kSmallVgg, {3, 16, 16}}, Case{kSmallResnet, {3, 8, 8}}}) {
    SCOPED_TRACE(describe(c));
    const auto got = losses_of(*cuda, c, 50, Statistics::kRunning);
    const auto expected = losses_of(*reference, c, 50, Statistics::kRunning);
    EXPECT_LT(expected.back(), 0.8 * expected.front()) << "it did not train";
    for (std::size_t k = 0; k < 10; ++k) EXPECT_NEAR(got[k], expected[k], 1e-4) << "step " << k;
    // Later, ties of ReLUs and pools may have been broken otherwise.
    EXPECT_NEAR(got.back() / got.front(), expected.back() / expected.front(), 0.01);
  }
}

// The emulated GPU takes too long for the large ones.
TEST_F(CudaTraining, EveryModelHasTheGradientOfTheReference) {
  const bool real = cuda::Device::mine().name() != "Emulated GPU";
  for (const auto& [model, dataset, small] : {std::tuple{"lenet", "synthetic", true},
                                              {"mlp", "synthetic", true},
                                              {"softmax", "synthetic", true},
                                              {"alexnet_small", "synthetic_cifar", true},
                                              {"resnet20", "synthetic_cifar", true},
                                              {"resnet32", "synthetic_cifar", false},
                                              {"resnet56", "synthetic_cifar", false},
                                              {"vgg11", "synthetic_cifar", false}}) {
    if (!small && !real) continue;
    SCOPED_TRACE(model);
    WorkloadSpec spec{.model = model, .dataset = dataset, .batch = 2, .backend = "reference"};
    spec.evaluation_samples = 0;
    std::vector<Floats> gradients;
    std::vector<float> losses;
    for (const char* backend : {"reference", "cuda"}) {
      spec.backend = backend;
      const auto workload = make_workload(spec);
      Vec g = Vec::uninitialised(workload->size(), workload->space());
      losses.push_back(workload->gradient(workload->initial().share(), 0, 0, 2, g, {}));
      gradients.push_back(g.to_host());
    }
    EXPECT_NEAR(losses[1], losses[0], 1e-4 * losses[0]);
    EXPECT_LT(distance(gradients[1], gradients[0]), 1e-3);
  }
}

TEST_F(CudaTraining, GivesTheSameLossesTwice) {
  const auto cuda = cuda::create_backend({});
  const Case c{kSmallResnet, {3, 8, 8}};
  EXPECT_EQ(losses_of(*cuda, c, 12, Statistics::kPrecise), losses_of(*cuda, c, 12, Statistics::kPrecise));
}

TEST_F(CudaTraining, ScoresAsTheCpuDoes) {
  WorkloadSpec spec{.model = "lenet", .dataset = "synthetic", .batch = 4, .backend = "reference"};
  spec.evaluation_samples = 64;
  const auto on_cpu = make_workload(spec);
  spec.backend = "cuda";
  const auto on_gpu = make_workload(spec);
  EXPECT_EQ(&on_gpu->space(), &cuda::space());
  const Evaluation expected = on_cpu->evaluate(on_cpu->initial().share()),
                   got = on_gpu->evaluate(on_gpu->initial().share());
  EXPECT_NEAR(got.loss, expected.loss, 1e-5);
  EXPECT_NEAR(got.accuracy, expected.accuracy, 1.0 / 64);
}

// A linear model's gradient is sparse, in host memory; its weights are on the GPU.
TEST_F(CudaTraining, OfALinearModelFollowsTheCpu) {
  WorkloadSpec spec{.model = "linear_svm", .dataset = "synthetic_sparse", .batch = 8, .backend = "reference"};
  spec.evaluation_samples = 64;
  std::vector<std::vector<float>> losses;
  std::vector<double> scores;
  for (const char* backend : {"reference", "cuda"}) {
    spec.backend = backend;
    const auto workload = make_workload(spec);
    Vec x = workload->initial();
    losses.emplace_back();
    for (int k = 0; k < 20; ++k) {
      Vec g;
      losses.back().push_back(workload->gradient(x.share(), 0, std::uint64_t(k) * 8, 8, g, {}));
      EXPECT_TRUE(g.sparse());
      x.axpy(-0.1f, g.share());
    }
    scores.push_back(workload->evaluate(x.share()).loss);
  }
  for (std::size_t k = 0; k < 20; ++k) EXPECT_NEAR(losses[1][k], losses[0][k], 1e-5) << "step " << k;
  EXPECT_LT(losses[0].back(), losses[0].front());
  EXPECT_NEAR(scores[1], scores[0], 1e-5);
}

// Vectors from elsewhere are brought to where the operation's result is.
TEST_F(CudaTraining, VectorsOfBothSidesMix) {
  const Floats a = normals(1000, 1), b = normals(1000, 2);
  Vec there = Vec::from_host(a, cuda::space()), here = Vec::from_host(b);
  Vec on_host = Vec::from_host(a);
  on_host.axpy(0.5f, here.share());
  there.axpy(0.5f, here.share());
  EXPECT_EQ(&there.space(), &cuda::space());
  EXPECT_EQ(there.to_host(), on_host.to_host());
  here.assign(10, there.slice(0, 100));
  EXPECT_EQ(&here.space(), &host_space());
  EXPECT_EQ(here.to_host()[10], on_host.to_host()[0]);
  const Payload terms[] = {there.share(), on_host.share()};
  const Vec both = mean(terms);
  EXPECT_EQ(&both.space(), &cuda::space());
  EXPECT_EQ(both.to_host(), on_host.to_host());
  EXPECT_NEAR(there.dot(on_host.share()), on_host.dot(on_host.share()), 1e-6 * on_host.dot(on_host.share()));
  EXPECT_EQ(hash_bits(there.share()), hash_bits(on_host.share()));
}

}  // namespace
}  // namespace hopbench
