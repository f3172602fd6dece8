#include "models/sequential.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "backends/base/error.h"

namespace hopbench {
namespace {

/// One layer in its place.
struct Placed {
  LayerSpec layer;
  Shape input;
  std::size_t offset = 0, size = 0;  // its parameters
  double flops = 0;                  // forward, one sample
  int bucket = -1;                   // -1: no parameters
};

class Sequential final : public Learner {
 public:
  Sequential(Backend& backend, std::vector<LayerSpec> layers, const Shape& input, int largest_batch);

  std::size_t size() const override { return size_; }
  Space& space() const override { return space_; }
  Vec initial(std::uint64_t seed, std::uint32_t repeat) const override;
  const std::vector<Bucket>& buckets() const override { return buckets_; }
  float gradient(const float* x, const Batch& batch, float* g, const std::function<void(int)>& done) override;
  Score score(const float* x, const Batch& batch) override;
  double flops_per_sample() const override { return flops_; }
  Anatomy anatomy() override;

 private:
  double place(const std::vector<LayerSpec>& layers, const Shape& input);
  void make_buckets(double forward);
  double initial_bound(std::size_t index) const;
  Batch in_space(const Batch& batch);

  Space& space_;
  std::vector<Placed> layers_;
  std::vector<Bucket> buckets_;
  std::size_t size_ = 0, features_ = 0, classes_ = 0;
  double flops_ = 0;
  int largest_batch_;
  std::unique_ptr<CompiledNetwork> network_;
  Vec logits_, dlogits_;
  Vec inputs_, labels_;  // the batch, where the space is not host memory; labels keep their bits
};

double backward_flops(const std::vector<Placed>& layers, std::size_t index) {
  return layers[index].flops * (index == 0 ? 1.0 : 2.0);
}

Sequential::Sequential(Backend& backend, std::vector<LayerSpec> layers, const Shape& input, int largest_batch)
    : space_(backend.space()), features_(input.size()), largest_batch_(largest_batch) {
  HB_ASSERT(largest_batch > 0 && !layers.empty());
  make_buckets(place(layers, input));
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
    Placed placed{.layer = layer, .input = shape, .offset = size_, .size = 0, .flops = 0, .bucket = -1};
    shape = output_shape(layer, shape);  // throws if it does not fit, so comes before the counts
    placed.size = parameter_count(layer, placed.input);
    placed.flops = forward_flops(layer, placed.input);
    size_ += placed.size;
    forward += placed.flops;
    layers_.push_back(placed);
  }
  classes_ = shape.size();
  HB_ASSERT_MSG(size_ > 0, "a network without parameters");
  return forward;
}

void Sequential::make_buckets(double forward) {
  flops_ = forward;
  for (std::size_t i = 0; i < layers_.size(); ++i) flops_ += backward_flops(layers_, i);
  double spent = forward;
  for (std::size_t i = layers_.size(); i-- > 0;) {
    spent += backward_flops(layers_, i);
    if (layers_[i].size == 0) continue;
    layers_[i].bucket = static_cast<int>(buckets_.size());
    buckets_.push_back({.offset = layers_[i].offset, .size = layers_[i].size, .done_at = spent / flops_});
  }
  buckets_.back().done_at = 1.0;
}

double Sequential::initial_bound(std::size_t index) const {
  const Placed& placed = layers_[index];
  const bool conv = placed.layer.type == LayerSpec::Type::kConv;
  const double window = conv ? double(placed.layer.kernel) * placed.layer.kernel : 1.0;
  const double inputs = conv ? placed.input.channels : static_cast<double>(placed.input.size());
  return std::sqrt(6.0 / (window * (inputs + placed.layer.outputs)));
}

Vec Sequential::initial(std::uint64_t seed, std::uint32_t repeat) const {
  std::vector<float> values(size_, 0.0f);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (layers_[i].size == 0) continue;
    Random random({.seed = seed,
                   .repeat = repeat,
                   .purpose = Purpose::kInitialParameters,
                   .rank = 0,
                   .iteration = static_cast<std::int64_t>(i)});
    const double bound = initial_bound(i);
    const std::size_t weights = layers_[i].size - static_cast<std::size_t>(layers_[i].layer.outputs);
    for (std::size_t p = 0; p < weights; ++p)
      values[layers_[i].offset + p] = static_cast<float>(bound * (2.0 * random.uniform() - 1.0));
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
  float* logits = logits_.mutable_data();
  float* dlogits = dlogits_.mutable_data();
  network_->forward(x, here.inputs, logits, here.size);
  const float loss = network_->softmax_cross_entropy(logits, here.labels, dlogits, here.size, nullptr);
  network_->backward(x, here.inputs, dlogits, g, nullptr, here.size, [&](int layer) {
    const int bucket = layers_[static_cast<std::size_t>(layer)].bucket;
    if (bucket >= 0 && done) done(bucket);
  });
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

Learner::Score Sequential::score(const float* x, const Batch& batch) {
  Score score;
  float* logits = logits_.mutable_data();
  for (int first = 0; first < batch.size; first += largest_batch_) {
    const int count = std::min(largest_batch_, batch.size - first);
    const Batch here =
        in_space({count, batch.inputs + static_cast<std::size_t>(first) * features_, batch.labels + first});
    network_->forward(x, here.inputs, logits, count);
    int correct = 0;
    score.loss_sum += double(network_->softmax_cross_entropy(logits, here.labels, nullptr, count, &correct)) * count;
    score.correct += correct;
  }
  return score;
}

}  // namespace

std::unique_ptr<Learner> make_sequential(Backend& backend, std::vector<LayerSpec> layers, const Shape& input,
                                         int largest_batch) {
  return std::make_unique<Sequential>(backend, std::move(layers), input, largest_batch);
}

}  // namespace hopbench
