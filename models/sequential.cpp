#include "models/sequential.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "backends/base/error.h"

namespace hopbench {
namespace {

/// A layer at its place in the network.
struct Placed {
  LayerSpec layer;
  Shape input;
  std::size_t offset = 0, size = 0;  // its parameters
  double flops = 0;                  // forward, one sample
  int bucket = -1;                   // -1: no parameters
};

class Sequential final : public Learner {
 public:
  Sequential(Backend& backend, std::vector<LayerSpec> layers, const Shape& input, int largest_batch, Initial initial,
             Statistics statistics);

  std::size_t size() const override { return running_ ? parameters_ + statistics_.size() : parameters_; }
  std::size_t trainable() const override { return parameters_; }
  Space& space() const override { return space_; }
  Vec initial(std::uint64_t seed, std::uint32_t repeat) const override;
  const std::vector<Bucket>& buckets() const override { return buckets_; }
  std::vector<Tensor> tensors() const override;
  float gradient(const float* x, const Batch& batch, float* g, const std::function<void(int)>& done) override;
  Score score(const float* x, const Batch& batch) override;
  int estimated_from() const override { return running_ || statistics_.size() == 0 ? 0 : kPreciseSamples; }
  void estimate(const float* x, const Batch& batch, int piece) override;
  double flops_per_sample() const override { return flops_; }
  Anatomy anatomy() override;

 private:
  double place(const std::vector<LayerSpec>& layers, const Shape& input);
  void make_buckets(double forward);
  double initial_bound(std::size_t index) const;
  Batch in_space(const Batch& batch);
  Batch piece_of(const Batch& batch, int first, int largest);

  Space& space_;
  const Initial initial_;
  const bool running_;  // statistics are part of the parameters
  std::vector<Placed> layers_;
  std::vector<Bucket> buckets_;
  std::size_t parameters_ = 0, statistics_count_ = 0, features_ = 0, classes_ = 0;
  double flops_ = 0;
  int largest_batch_;
  std::unique_ptr<CompiledNetwork> network_;
  Vec logits_, dlogits_;
  Vec statistics_;       // with which the model is scored
  Vec inputs_, labels_;  // the batch, if the space is not host memory; labels keep their bits
};

/// Calls f(layer, at) for each batch norm, whose means are the statistics [at, at + channels); its variances follow.
template <class F>
void for_norms(const std::vector<Placed>& layers, const F& f) {
  std::size_t at = 0;
  for (const Placed& placed : layers) {
    const std::size_t count = statistic_count(placed.layer, placed.input);
    if (count > 0) f(placed, at);
    at += count;
  }
}

double backward_flops(const std::vector<Placed>& layers, std::size_t index) {
  return layers[index].flops * (index == 0 ? 1.0 : 2.0);
}

Sequential::Sequential(Backend& backend, std::vector<LayerSpec> layers, const Shape& input, int largest_batch,
                       Initial initial, Statistics statistics)
    : space_(backend.space()),
      initial_(initial),
      running_(statistics == Statistics::kRunning),
      features_(input.size()),
      largest_batch_(largest_batch) {
  HB_ASSERT(largest_batch > 0 && !layers.empty());
  const double forward = place(layers, input);
  statistics_ = Vec(statistics_count_, space_);
  make_buckets(forward);
  network_ = backend.compile(layers, input, largest_batch);
  const auto batch = static_cast<std::size_t>(largest_batch);
  logits_ = Vec(batch * classes_, space_);
  dlogits_ = Vec(batch * classes_, space_);
  if (&space_ != &host_space()) {
    inputs_ = Vec(batch * features_, space_);
    labels_ = Vec(batch, space_);
  }
}

/// Returns the flops of the forward pass.
double Sequential::place(const std::vector<LayerSpec>& layers, const Shape& input) {
  Shape shape = input;
  double forward = 0;
  for (const LayerSpec& layer : layers) {
    Placed placed{.layer = layer, .input = shape, .offset = parameters_, .size = 0, .flops = 0, .bucket = -1};
    shape = output_shape(layer, shape);  // throws if it does not fit, so comes before the counts
    placed.size = parameter_count(layer, placed.input);
    placed.flops = forward_flops(layer, placed.input);
    parameters_ += placed.size;
    statistics_count_ += statistic_count(layer, placed.input);
    forward += placed.flops;
    layers_.push_back(placed);
  }
  classes_ = shape.size();
  HB_ASSERT_MSG(parameters_ > 0, "a network without parameters");
  return forward;
}

/// Makes a bucket for each layer with weights. A batch norm joins the layer before it, which takes all the time.
void Sequential::make_buckets(double forward) {
  flops_ = forward;
  for (std::size_t i = 0; i < layers_.size(); ++i) flops_ += backward_flops(layers_, i);
  if (size() > parameters_)  // complete after the forward pass
    buckets_.push_back({.offset = parameters_, .size = size() - parameters_, .done_at = forward / flops_});
  double spent = forward;
  std::size_t end = parameters_;
  for (std::size_t i = layers_.size(); i-- > 0;) {
    spent += backward_flops(layers_, i);
    const Placed& layer = layers_[i];
    if (layer.size == 0 || (layer.flops == 0 && layer.offset > 0)) continue;
    layers_[i].bucket = static_cast<int>(buckets_.size());
    buckets_.push_back({.offset = layer.offset, .size = end - layer.offset, .done_at = spent / flops_});
    end = layer.offset;
  }
  buckets_.back().done_at = 1.0;
}

/// A convolution has a row for each output channel, a dense layer for each output; biases and norms are vectors.
std::vector<Tensor> Sequential::tensors() const {
  std::vector<Tensor> tensors;
  for (const Placed& placed : layers_) {
    if (placed.size == 0) continue;
    const bool matrix = placed.layer.type != LayerSpec::Type::kBatchNorm;
    const auto outputs = matrix ? static_cast<std::size_t>(placed.layer.outputs) : placed.size;
    const std::size_t biases = matrix && placed.layer.bias ? outputs : 0;
    tensors.push_back({.offset = placed.offset, .rows = outputs, .columns = (placed.size - biases) / outputs});
    if (biases > 0) tensors.push_back({.offset = placed.offset + placed.size - biases, .rows = biases, .columns = 1});
  }
  return tensors;
}

double Sequential::initial_bound(std::size_t index) const {
  const Placed& placed = layers_[index];
  const bool conv = placed.layer.type == LayerSpec::Type::kConv;
  const bool last = std::all_of(layers_.begin() + std::ptrdiff_t(index) + 1, layers_.end(),
                                [](const Placed& later) { return later.size == 0; });
  const double window = conv ? double(placed.layer.kernel) * placed.layer.kernel : 1.0;
  const double inputs = conv ? placed.input.channels : static_cast<double>(placed.input.size());
  if (initial_ == Initial::kGlorot) return std::sqrt(6.0 / (window * (inputs + placed.layer.outputs)));
  return std::sqrt((last ? 1.0 : 6.0) / (window * inputs));
}

Vec Sequential::initial(std::uint64_t seed, std::uint32_t repeat) const {
  std::vector<float> values(size(), 0.0f);
  for_norms(layers_, [&](const Placed& placed, std::size_t at) {
    const int channels = placed.input.channels;
    std::fill_n(values.begin() + std::ptrdiff_t(placed.offset), channels, 1.0f);
    if (running_) std::fill_n(values.begin() + std::ptrdiff_t(parameters_ + at) + channels, channels, 1.0f);
  });
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Placed& placed = layers_[i];
    if (placed.size == 0 || placed.layer.type == LayerSpec::Type::kBatchNorm) continue;
    const auto own = values.begin() + std::ptrdiff_t(placed.offset);
    Random random({.seed = seed,
                   .repeat = repeat,
                   .purpose = Purpose::kInitialParameters,
                   .rank = 0,
                   .iteration = static_cast<std::int64_t>(i)});
    const double bound = initial_bound(i);
    const std::size_t weights = placed.size - (placed.layer.bias ? static_cast<std::size_t>(placed.layer.outputs) : 0);
    std::generate_n(own, weights, [&] { return static_cast<float>(bound * (2.0 * random.uniform() - 1.0)); });
  }
  return Vec::from_host(values, space_);
}

Batch Sequential::in_space(const Batch& batch) {
  HB_ASSERT(batch.size > 0 && batch.size <= largest_batch_);
  if (&space_ == &host_space()) return batch;
  const auto n = static_cast<std::size_t>(batch.size);
  static_assert(sizeof(float) == sizeof(std::int32_t));
  space_.write(inputs_.mutable_data(), batch.inputs, n * features_);
  space_.write(labels_.mutable_data(), reinterpret_cast<const float*>(batch.labels), n);
  return {batch.size, inputs_.data(), reinterpret_cast<const std::int32_t*>(labels_.data())};
}

float Sequential::gradient(const float* x, const Batch& batch, float* g, const std::function<void(int)>& done) {
  const Batch here = in_space(batch);
  const bool running = size() > parameters_;
  const auto layer_done = [&](int layer) {
    const int bucket = layer < 0 ? (running ? 0 : -1) : layers_[static_cast<std::size_t>(layer)].bucket;
    if (bucket >= 0 && done) done(bucket);
  };
  const std::optional<float> at_once = network_->train(
      x, here.inputs, here.labels, g, running ? g + parameters_ : nullptr, here.size, std::ref(layer_done));
  if (at_once) return *at_once;
  float* logits = logits_.mutable_data();
  float* dlogits = dlogits_.mutable_data();
  network_->forward(x, here.inputs, logits, here.size);
  if (running) network_->statistics(g + parameters_);
  layer_done(-1);
  const float loss = network_->softmax_cross_entropy(logits, here.labels, dlogits, here.size, nullptr);
  network_->backward(x, here.inputs, dlogits, g, nullptr, here.size,
                     std::ref(layer_done));  // by reference: nothing is allocated
  return loss;
}

Learner::Anatomy Sequential::anatomy() {
  Anatomy all{.network = network_.get(), .layers = {}, .forward_flops = {}};
  for (const Placed& placed : layers_) {
    all.layers.push_back(to_string(placed.layer) + " on " + to_string(placed.input));
    all.forward_flops.push_back(placed.flops);
  }
  return all;
}

Batch Sequential::piece_of(const Batch& batch, int first, int largest) {
  const int count = std::min(largest, batch.size - first);
  return in_space({count, batch.inputs + static_cast<std::size_t>(first) * features_, batch.labels + first});
}

/// Returns the statistics with negative variances set to 0. Protocols that compress what they exchange may cause these.
std::vector<float> plausible(std::vector<float> statistics, const std::vector<Placed>& layers) {
  for_norms(layers, [&](const Placed& placed, std::size_t at) {
    const auto channels = std::size_t(placed.input.channels);
    for (std::size_t v = at + channels; v < at + 2 * channels; ++v)
      statistics[v] = statistics[v] < 0 ? 0 : statistics[v];
  });
  return statistics;
}

Learner::Score Sequential::score(const float* x, const Batch& batch) {
  Score score;
  float* logits = logits_.mutable_data();
  if (size() > parameters_) {
    std::vector<float> running(statistics_.size());
    space_.read(x + parameters_, running.data(), running.size());
    statistics_ = Vec::from_host(plausible(std::move(running), layers_), space_);
  }
  for (int first = 0; first < batch.size; first += largest_batch_) {
    const Batch here = piece_of(batch, first, largest_batch_);
    network_->infer(x, statistics_.data(), here.inputs, logits, here.size);
    int correct = 0;
    score.loss_sum +=
        double(network_->softmax_cross_entropy(logits, here.labels, nullptr, here.size, &correct)) * here.size;
    score.correct += correct;
  }
  return score;
}

/// Estimates over all samples: the mean of the pieces' means, and of their variances and squared means less its square.
void Sequential::estimate(const float* x, const Batch& batch, int piece) {
  std::vector<double> means(statistics_.size()), squares(statistics_.size());
  for (int first = 0; first < batch.size; first += piece) {
    const Batch here = piece_of(batch, first, piece);
    const double weight = double(here.size) / batch.size;
    network_->forward(x, here.inputs, logits_.mutable_data(), here.size);
    network_->statistics(statistics_.mutable_data());
    const std::vector<float> seen = statistics_.to_host();
    for_norms(layers_, [&](const Placed& placed, std::size_t at) {
      const auto channels = std::size_t(placed.input.channels);
      const double count = here.size * double(placed.input.height) * placed.input.width;
      for (std::size_t m = at; m < at + channels; ++m) {
        const double mean = seen[m], variance = double(seen[m + channels]) * (count > 1 ? (count - 1) / count : 1);
        means[m] += weight * mean;
        squares[m + channels] += weight * (variance + mean * mean);
      }
    });
  }
  std::vector<float> estimated(means.begin(), means.end());
  for_norms(layers_, [&](const Placed& placed, std::size_t at) {
    const auto channels = std::size_t(placed.input.channels);
    for (std::size_t m = at; m < at + channels; ++m)
      estimated[m + channels] = float(squares[m + channels] - means[m] * means[m]);
  });
  statistics_ = Vec::from_host(plausible(std::move(estimated), layers_), space_);
}

}  // namespace

std::unique_ptr<Learner> make_sequential(Backend& backend, std::vector<LayerSpec> layers, const Shape& input,
                                         int largest_batch, Initial initial, Statistics statistics) {
  return std::make_unique<Sequential>(backend, std::move(layers), input, largest_batch, initial, statistics);
}

}  // namespace hopbench
