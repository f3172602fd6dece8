// oneDNN on the CPU. Nothing here touches oneDNN or its thread pool before a network is compiled, because a process
// that forks after either was used hangs.
#include "backends/base/error.h"
#include "backends/compute/host.h"

#ifdef HB_HAVE_ONEDNN
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include <dnnl_debug.h>

#include "backends/base/text.h"
#include "backends/base/vec.h"
#include "backends/compute/onednn_builder.h"

// Functions of the OpenMP runtime that oneDNN is linked with; <omp.h> may belong to another one (clang's).
extern "C" int omp_get_max_threads();
extern "C" void omp_set_num_threads(int threads);
#endif

namespace hopbench {

#ifndef HB_HAVE_ONEDNN

std::string onednn_unavailable() { return "this build has no oneDNN (libdnnl-dev)"; }
std::unique_ptr<Backend> create_onednn_backend(const BackendOptions&) { throw environment_error(onednn_unavailable()); }

#else

namespace {

using onednn::Builder;

class OneDnnNetwork final : public CompiledNetwork {
 public:
  OneDnnNetwork(NetworkPlan plan, int threads) : plan_(std::move(plan)), threads_(threads) {
    prepare(plan_.largest_batch, true);
  }

  void forward(const float* params, const float* x, float* y, int batch) override {
    guarded([&] { forward(prepare(batch, true), params, nullptr, x, y); });
  }

  void infer(const float* params, const float* statistics, const float* x, float* y, int batch) override {
    guarded([&] { forward(prepare(batch, plan_.statistics == 0), params, statistics, x, y); });
  }

  void statistics(float* to) const override {
    for (const Builder::Moments& seen : bound_->moments) {
      const auto channels = std::size_t(seen.layer->input.channels);
      const std::size_t count = seen.layer->input.size() / channels * std::size_t(bound_->batch);
      float* mine = to + seen.layer->means_at;
      std::copy_n(static_cast<const float*>(seen.means.get_data_handle()), channels, mine);
      const auto* variances = static_cast<const float*>(seen.variances.get_data_handle());
      for (std::size_t c = 0; c < channels; ++c) mine[channels + c] = population_variance(variances[c], count);
    }
  }

  void backward(const float* params, const float* x, const float* dy, float* dparams, float* dx, int batch,
                const std::function<void(int)>& layer_done) override {
    guarded([&] {
      Builder& built = prepare(batch, true);
      built.place(onednn::kParams, params);
      built.place(onednn::kX, x);
      built.place(onednn::kDy, dy);
      built.place(onednn::kDparams, dparams);
      built.place(onednn::kDx, dx);
      for (Builder::BackwardLayer& layer : built.backward) {
        built.run(layer.weights);
        if (!layer.weights.empty()) tell(layer.index, Direction::kBackwardWeights);
        if (layer.index >= 0 && layer_done) layer_done(layer.index);
        if (!layer.wanted_before && dx == nullptr) continue;
        built.run(layer.data);
        if (!layer.data.empty()) tell(layer.index, Direction::kBackwardData);
      }
    });
  }

  bool watch(std::function<void(int, Direction)> done) override {
    watch_ = std::move(done);
    return true;
  }

  float softmax_cross_entropy(const float* logits, const std::int32_t* labels, float* dlogits, int batch,
                              int* correct) override {
    return softmax_cross_entropy_on_host(logits, labels, dlogits, batch, plan_.output.size(), correct);
  }

 private:
  template <class F>
  static void guarded(const F& f) {
    try {
      f();
    } catch (const dnnl::error& error) {
      throw environment_error(
          fmt::format("onednn could not run a network: {} (status {})", error.what(), int(error.status)));
    }
  }

  void forward(Builder& built, const float* params, const float* statistics, const float* x, float* y) const {
    built.place(onednn::kParams, params);
    built.place(onednn::kStatistics, statistics);
    built.place(onednn::kX, x);
    built.place(onednn::kY, y);
    std::size_t done = 0;
    for (const auto& [layer, end] : built.forward_ends) {
      built.run(std::span(built.forward).subspan(done, end - done));
      done = end;
      tell(layer, Direction::kForward);
    }
  }

  void tell(int layer, Direction direction) const {
    if (watch_) watch_(layer, direction);
  }

  /// Returns the steps for this batch (one list for both ways if they do not differ), bound to the working memory.
  /// Setting the thread count is thread-local and cheap. Primitives expect the thread count they were made under.
  Builder& prepare(int batch, bool training) {
    HB_ASSERT(batch >= 1 && batch <= plan_.largest_batch);
    if (omp_get_max_threads() != threads_) omp_set_num_threads(threads_);
    std::unique_ptr<Builder>& built = built_[{batch, training}];
    if (built == nullptr) {
      auto made = std::make_unique<Builder>(plan_, batch, training);
      made->build();
      built = std::move(made);
    }
    if (built.get() != bound_) {
      const std::size_t floats = built->working_bytes() / sizeof(float);
      if (floats > memory_.size()) {
        memory_ = Vec();
        memory_ = Vec::uninitialised(floats);
      }
      built->bind(reinterpret_cast<std::byte*>(memory_.mutable_data()));
      bound_ = built.get();
    }
    return *built;
  }

  const NetworkPlan plan_;
  const int threads_;
  Vec memory_;                                                       // in which the lists of steps take turns
  std::map<std::pair<int, bool>, std::unique_ptr<Builder> > built_;  // by batch and training
  Builder* bound_ = nullptr;
  std::function<void(int layer, Direction direction)> watch_;
};

class OneDnnBackend final : public Backend {
 public:
  explicit OneDnnBackend(int threads) : threads_(threads) {}
  const char* name() const override { return "onednn"; }
  std::string version() const override {
    const dnnl::version_t* version = dnnl::version();
    return fmt::format("oneDNN {}.{}.{}, {}", version->major, version->minor, version->patch,
                       replaced(dnnl_cpu_isa2str(dnnl_get_effective_cpu_isa()), "cpu_isa_", ""));
  }
  Space& space() override { return host_space(); }
  std::unique_ptr<CompiledNetwork> compile(std::span<const LayerSpec> layers, const Shape& input,
                                           int largest_batch) override {
    NetworkPlan plan(layers, input, largest_batch);
    try {
      return std::make_unique<OneDnnNetwork>(std::move(plan), threads_);
    } catch (const dnnl::error& error) {
      throw usage_error(fmt::format("onednn does not support this network: {} (status {}): take another backend",
                                    error.what(), int(error.status)));
    }
  }

 private:
  const int threads_;
};

}  // namespace

std::string onednn_unavailable() {
  if (dnnl::version()->cpu_runtime == DNNL_RUNTIME_OMP) return "";
  return "this oneDNN was not built for OpenMP, so its threads cannot be set";
}

std::unique_ptr<Backend> create_onednn_backend(const BackendOptions& options) {
  return std::make_unique<OneDnnBackend>(options.threads);
}

#endif

}  // namespace hopbench
