// oneDNN on the CPU. Nothing here touches oneDNN or its thread pool before a network is compiled, because a process
// that forks after either was used hangs.
#include "backends/base/error.h"
#include "backends/compute/host.h"

#ifdef HB_HAVE_ONEDNN
#include <fmt/format.h>

#include <dnnl.hpp>
#include <map>
#include <utility>

#include "backends/compute/onednn_program.h"

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

class WorkingMemory {
 public:
  WorkingMemory() = default;
  ~WorkingMemory() { host_space().release(data_, size_); }
  WorkingMemory(const WorkingMemory&) = delete;
  WorkingMemory& operator=(const WorkingMemory&) = delete;

  float* data() const { return data_; }
  std::size_t size() const { return size_; }
  void grow(std::size_t n) {
    host_space().release(std::exchange(data_, nullptr), std::exchange(size_, 0));
    data_ = host_space().allocate(n);
    size_ = n;
  }

 private:
  float* data_ = nullptr;
  std::size_t size_ = 0;
};

class OneDnnNetwork final : public CompiledNetwork {
 public:
  OneDnnNetwork(NetworkPlan plan, int threads) : plan_(std::move(plan)), threads_(threads) {
    prepare(plan_.largest_batch, true);
  }

  void forward(const float* params, const float* x, float* y, int batch) override {
    guarded([&] { prepare(batch, true).forward(params, nullptr, x, y); });
  }

  void statistics(float* to) const override { bound_->statistics(to); }

  void infer(const float* params, const float* statistics, const float* x, float* y, int batch) override {
    guarded([&] { prepare(batch, !normalises_).forward(params, statistics, x, y); });
  }

  void backward(const float* params, const float* x, const float* dy, float* dparams, float* dx, int batch,
                const std::function<void(int)>& layer_done) override {
    guarded([&] { prepare(batch, true).backward(params, x, dy, dparams, dx, layer_done); });
  }

  bool watch(std::function<void(int, Direction)> done) override {
    watch_ = std::move(done);
    for (auto& [which, program] : programs_) program->watch(watch_);
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

  /// Returns the program for this batch (one for both ways if they do not differ), bound to the working memory. Setting
  /// the thread count is thread-local and cheap. Primitives expect the thread count they were made under.
  OneDnnProgram& prepare(int batch, bool training) {
    HB_ASSERT(batch >= 1 && batch <= plan_.largest_batch);
    if (omp_get_max_threads() != threads_) omp_set_num_threads(threads_);
    std::unique_ptr<OneDnnProgram>& program = programs_[{batch, training}];
    if (program == nullptr) {
      program = make_onednn_program(plan_, batch, training);
      program->watch(watch_);
    }
    if (program.get() != bound_) {
      if (program->working_floats() > memory_.size()) memory_.grow(program->working_floats());
      program->bind(memory_.data());
      bound_ = program.get();
    }
    return *program;
  }

  const NetworkPlan plan_;
  const int threads_;
  WorkingMemory memory_;
  const bool normalises_ = plan_.normalises();
  std::map<std::pair<int, bool>, std::unique_ptr<OneDnnProgram> > programs_;  // by batch and training
  OneDnnProgram* bound_ = nullptr;
  OneDnnProgram::Watch watch_;
};

const char* isa_name(dnnl::cpu_isa isa) {
  switch (isa) {
    case dnnl::cpu_isa::sse41:
      return "sse41";
    case dnnl::cpu_isa::avx:
      return "avx";
    case dnnl::cpu_isa::avx2:
      return "avx2";
    case dnnl::cpu_isa::avx2_vnni:
      return "avx2_vnni";
    case dnnl::cpu_isa::avx512_core:
      return "avx512_core";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "avx512_core_vnni";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "avx512_core_bf16";
    case dnnl::cpu_isa::avx512_core_amx:
      return "avx512_core_amx";
    default:
      return "another instruction set";
  }
}

class OneDnnBackend final : public Backend {
 public:
  explicit OneDnnBackend(int threads) : threads_(threads) {}
  const char* name() const override { return "onednn"; }
  std::string version() const override {
    const dnnl::version_t* version = dnnl::version();
    return fmt::format("oneDNN {}.{}.{}, {}", version->major, version->minor, version->patch,
                       isa_name(dnnl::get_effective_cpu_isa()));
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
