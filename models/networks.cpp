// The models made of layers, with a softmax cross-entropy on top: one function each, and one line in the table below.
#include "backends/base/error.h"
#include "models/sequential.h"
#include "models/workload.h"

namespace hopbench {
namespace {

using Type = LayerSpec::Type;
using Layers = std::vector<LayerSpec>;

constexpr LayerSpec kRelu{.type = Type::kRelu};
LayerSpec dense(int outputs) { return {.type = Type::kDense, .outputs = outputs}; }

/// LeNet: two convolutions and three dense layers, after LeCun, Bottou, Bengio, Haffner, "Gradient-based learning
/// applied to document recognition" (1998), with ReLUs, max-pooling and full connections between the feature maps.
///
///   1x28x28 -conv 5x5, pad 2-> 6x28x28 -pool-> 6x14x14 -conv 5x5-> 16x10x10 -pool-> 400 -dense-> 120 -> 84 -> 10
///
/// 61 706 parameters for 1x28x28 and 10 classes: 156 + 2 416 + 48 120 + 10 164 + 850. Small on purpose: eight workers
/// must be able to share two cores.
Layers lenet(const WorkloadSpec&, const Shape&, int classes) {
  const LayerSpec pool{.type = Type::kMaxPool, .kernel = 2, .stride = 2};
  return {{.type = Type::kConv, .outputs = 6, .kernel = 5, .padding = 2},
          kRelu,
          pool,
          {.type = Type::kConv, .outputs = 16, .kernel = 5},
          kRelu,
          pool,
          dense(120),
          kRelu,
          dense(84),
          kRelu,
          dense(classes)};
}

/// A perceptron with one hidden layer of 128 ReLUs, on the features of any data set with labels.
/// 101 770 parameters for 784 features and 10 classes: 100 480 + 1 290.
Layers mlp(const WorkloadSpec&, const Shape&, int classes) { return {dense(128), kRelu, dense(classes)}; }

/// Softmax regression: one dense layer on the features of any data set with labels. Convex.
/// 7 850 parameters for 784 features and 10 classes.
Layers softmax(const WorkloadSpec&, const Shape&, int classes) { return {dense(classes)}; }

/// A downsized AlexNet for 3x32x32: three convolutions and two dense layers. Zhao et al., "Dynamic stale synchronous
/// parallel distributed training for deep learning" (ICDCS 2019), train such a network on CIFAR-10, but we know of no
/// publication of its layer widths. The widths here are those of Krizhevsky's small CIFAR-10 network (cuda-convnet;
/// Caffe's cifar10_quick), with AlexNet's overlapping max-pools and its ReLU after the first dense layer.
///
///   conv 5x5 32 - pool - conv 5x5 32 - pool - conv 5x5 64 - pool - dense 64 - dense
///
/// 145 578 parameters for 3x32x32 and 10 classes: 2 432 + 25 632 + 51 264 + 65 600 + 650.
Layers alexnet_small(const WorkloadSpec&, const Shape&, int classes) {
  Layers layers;
  for (const int channels : {32, 32, 64}) {
    layers.push_back({.type = Type::kConv, .outputs = channels, .kernel = 5, .padding = 2});
    layers.push_back(kRelu);
    layers.push_back({.type = Type::kMaxPool, .kernel = 3, .stride = 2, .padding = 1});
  }
  layers.insert(layers.end(), {dense(64), kRelu, dense(classes)});
  return layers;
}

/// VGG-11 for 3x32x32: configuration A of Simonyan, Zisserman, "Very deep convolutional networks for large-scale image
/// recognition" (2015), without batch norms, with one dense layer instead of three, as is usual for CIFAR.
///
///   conv 64 - pool - 128 - pool - 256 256 - pool - 512 512 - pool - 512 512 - pool - dense; all 3x3 with a ReLU
///
/// 9 225 610 parameters for 10 classes: convolutions 9 220 480, dense 5 130.
Layers vgg11(const WorkloadSpec&, const Shape&, int classes) {
  Layers layers;
  for (const int channels : {64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0}) {
    if (channels == 0) {
      layers.push_back({.type = Type::kMaxPool, .kernel = 2, .stride = 2});
      continue;
    }
    layers.push_back({.type = Type::kConv, .outputs = channels, .kernel = 3, .padding = 1});
    layers.push_back(kRelu);
  }
  layers.push_back(dense(classes));
  return layers;
}

void add_conv(Layers& layers, int channels, int stride) {
  layers.push_back(
      {.type = Type::kConv, .outputs = channels, .kernel = 3, .stride = stride, .padding = 1, .bias = false});
  layers.push_back({.type = Type::kBatchNorm});
}

void add_block(Layers& layers, int channels, int stride) {
  const int from = int(layers.size()) - 1;
  add_conv(layers, channels, stride);
  layers.push_back(kRelu);
  add_conv(layers, channels, 1);
  layers.push_back({.type = Type::kAdd, .stride = stride, .from = from});
  layers.push_back(kRelu);
}

/// Residual networks for CIFAR: He, Zhang, Ren, Sun, "Deep residual learning for image recognition" (2016), section
/// 4.2.
///
///   conv 3x3 16 - n blocks of 16 - n of 32 - n of 64 - mean of each map - dense; 6n + 2 layers
///
/// A block: conv 3x3 - batch norm - ReLU - conv 3x3 - batch norm - add its input - ReLU. The first block of 32 and of
/// 64 halves the maps. Shortcuts are of option A, without parameters. Convolutions have no bias, because the batch norm
/// after each has a shift.
///
/// Parameters for 10 classes: 269 722 (n = 3), 464 154 (5), 853 018 (9). In addition, there is one running statistic
/// for each scale and shift.
template <int n>
Layers resnet(const WorkloadSpec& spec, const Shape& input, int classes) {
  if (input.height != input.width || input.height % 4 != 0)
    throw usage_error("model " + spec.model + " cannot be trained on samples of " + to_string(input) +
                      ": it needs square maps whose side is a multiple of 4: take another data set");
  Layers layers;
  add_conv(layers, 16, 1);
  layers.push_back(kRelu);
  for (const int channels : {16, 32, 64}) {
    for (int block = 0; block < n; ++block) add_block(layers, channels, block == 0 && channels > 16 ? 2 : 1);
  }
  layers.push_back({.type = Type::kAvgPool, .kernel = input.height / 4});
  layers.push_back(dense(classes));
  return layers;
}

template <Layers (*layers)(const WorkloadSpec&, const Shape&, int classes), Initial initial = Initial::kHe>
std::unique_ptr<Learner> create(Backend& backend, const WorkloadSpec& spec, const Shape& input, int classes,
                                int largest_batch) {
  if (classes == 0) throw usage_error("model " + spec.model + " cannot be trained on this data set: it has no labels");
  return make_sequential(backend, layers(spec, input, classes), input, largest_batch, initial, spec.statistics);
}

}  // namespace

std::vector<ModelEntry> network_models() {
  return {
      {"lenet", "LeNet with ReLUs: 61 706 parameters for 28x28", "fashion_mnist", create<lenet, Initial::kGlorot>},
      {"mlp", "one hidden layer of 128: 101 770 parameters for 28x28", "fashion_mnist", create<mlp, Initial::kGlorot>},
      {"softmax", "softmax regression: 7 850 parameters for 28x28", "fashion_mnist", create<softmax, Initial::kGlorot>},
      {"alexnet_small", "3 convolutions, 2 dense layers: 145 578 parameters for 3x32x32", "cifar10",
       create<alexnet_small>},
      {"vgg11", "VGG-11: 9 225 610 parameters for 3x32x32", "cifar10", create<vgg11>},
      {"resnet20", "ResNet-20 with batch norms: 269 722 parameters for 3x32x32", "cifar10", create<resnet<3>>},
      {"resnet32", "ResNet-32 with batch norms: 464 154 parameters for 3x32x32", "cifar10", create<resnet<5>>},
      {"resnet56", "ResNet-56 with batch norms: 853 018 parameters for 3x32x32", "cifar10", create<resnet<9>>},
  };
}

}  // namespace hopbench
