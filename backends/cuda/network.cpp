// The backend `cuda` and its compiled networks: the seam of compute/backend.h on one side, programs on the other.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "backends/base/error.h"
#include "backends/cuda/backend.h"
#include "backends/cuda/program.h"

namespace hopbench::cuda {
namespace {

constexpr int kMostBroken = 3;
constexpr std::size_t kMostNamed = 8;
constexpr int kLargestKernel = 64;
static_assert(kLargestKernel * kLargestKernel <= kSegment);
constexpr int kLargestMaxPool = 16;  // the place of the largest cell in its window is one byte

class CudaNetwork final : public CompiledNetwork {
 public:
  CudaNetwork(NetworkPlan plan, Precision precision, bool deterministic)
      : shop_(std::move(plan), precision, deterministic), room_(sizeof(Room)) {}
  ~CudaNetwork() override {
    try {
      wait_for(shop_.stream);
    } catch (const Error&) {  // was already reported where it happened
    }
  }

  void forward(const float* params, const float* x, float* y, int batch) override {
    pass({.parameters = params, .x = x, .y = y}, batch, true);
  }

  void statistics(float* to) const override {
    Device::mine().after_vectors(shop_.stream);
    copy(shop_.stream, to, shop_.memory.seen, shop_.plan.statistics * sizeof(float));
    wait_for(shop_.stream);
  }

  void infer(const float* params, const float* statistics, const float* x, float* y, int batch) override {
    pass({.parameters = params, .x = x, .statistics = statistics, .y = y}, batch, false);
  }

  void backward(const float* params, const float* x, const float* dy, float* dparams, float* dx, int batch,
                const std::function<void(int)>& layer_done) override {
    begin({.parameters = params, .x = x, .dy = dy, .gradient = dparams, .dx = dx});
    Program& program = program_of(batch).program;
    if (dx != nullptr) {
      const GraphsKeptRight guard(*this);
      program.want_input_gradient();
    }
    program.take_dy();
    program.backward(dx != nullptr, false);
    program.tell(layer_done);
    wait_for(shop_.stream);
  }

  float softmax_cross_entropy(const float* logits, const std::int32_t* labels, float* dlogits, int batch,
                              int* correct) override {
    Device::mine().after_vectors(shop_.stream);
    const int classes = int(shop_.plan.output.size());
    cuda::softmax_cross_entropy(shop_.stream, logits, labels, dlogits, shop_.memory.loss, batch, classes);
    fetch_loss();
    return loss_of(labels, batch, correct);
  }

  std::optional<float> train(const float* params, const float* x, const std::int32_t* labels, float* dparams,
                             float* statistics, int batch, const std::function<void(int)>& layer_done) override {
    begin({.parameters = params,
           .x = x,
           .labels = reinterpret_cast<const float*>(labels),
           .gradient = dparams,
           .seen = statistics});
    Variant& variant = program_of(batch);
    launch_step(variant, statistics != nullptr);
    if (statistics != nullptr) {
      variant.statistics_there.wait();
      if (layer_done) layer_done(-1);
    }
    variant.program.tell(layer_done);
    return loss_of(labels, batch, nullptr);
  }

  bool watch(std::function<void(int, Direction)> done) override {
    shop_.watch = std::move(done);
    return true;
  }

 private:
  /// The program of one batch size, and its training step as a graph.
  struct Variant {
    Variant(Workshop& shop, int batch) : program(shop, batch), name(fmt::format("graph of batch {}", batch)) {}
    Program program;
    const std::string name;
    EventOwner statistics_there;
    int steps = 0;
    std::unique_ptr<Graph> graph;
    bool graph_has_statistics = false;
    int broken = 0;          // failed recordings in a row
    bool graphless = false;  // after too many failures no more are tried
  };
  /// Pinned memory that goes to the device and comes back in every step.
  struct Room {
    Pointers pointers;
    Loss loss;
  };

  void begin(Pointers pointers) {
    pointers.logits = shop_.memory.logits, pointers.dlogits = shop_.memory.dlogits;
    Device::mine().after_vectors(shop_.stream);
    room_.as<Room>()->pointers = pointers;
    copy(shop_.stream, shop_.memory.pointers, &room_.as<Room>()->pointers, sizeof(Pointers));
  }

  void pass(const Pointers& pointers, int batch, bool training) {
    begin(pointers);
    Program& program = program_of(batch).program;
    program.forward(training);
    program.write_logits();
    wait_for(shop_.stream);
  }

  Variant& program_of(int batch) {
    HB_ASSERT(batch >= 1 && batch <= shop_.plan.largest_batch);
    const auto found = variants_.find(batch);
    if (found != variants_.end()) return *found->second;
    const GraphsKeptRight guard(*this);
    return *variants_.emplace(batch, std::make_unique<Variant>(shop_, batch)).first->second;
  }

  /// A guard for code in which the working memory may move, or fail to. Graphs, which hold its old place, are dropped.
  class GraphsKeptRight {
   public:
    explicit GraphsKeptRight(CudaNetwork& network) : network_(network), work_(network.shop_.convolution_work.data()) {}
    ~GraphsKeptRight() {
      if (network_.shop_.convolution_work.data() == work_) return;
      for (auto& [size, variant] : network_.variants_) variant->graph.reset();
    }
    GraphsKeptRight(const GraphsKeptRight&) = delete;
    GraphsKeptRight& operator=(const GraphsKeptRight&) = delete;

   private:
    CudaNetwork& network_;
    const void* const work_;
  };

  void step(Variant& variant, bool statistics, bool in_graph) {
    Program& program = variant.program;
    program.take_labels();
    program.forward(true);
    if (statistics) {
      program.write_statistics();
      variant.statistics_there.record(shop_.stream, in_graph);
    }
    program.loss(true);
    program.backward(false, in_graph);
    fetch_loss();
  }

  /// Launches a step. The first step of a batch size runs without a graph, so that libraries finish their preparations.
  void launch_step(Variant& variant, bool statistics) {
    if (shop_.watch || variant.graphless || variant.steps++ == 0) return step(variant, statistics, false);
    if (variant.graph == nullptr || variant.graph_has_statistics != statistics) {
      variant.graph.reset();
      if (!record(variant, statistics)) return step(variant, statistics, false);
    }
    variant.graph->launch();
  }

  /// Returns false if the recording broke; this step then runs without a graph. The next recording may succeed. If one
  /// of the algorithms cannot be recorded at all, all steps of this batch size run without, as the trial's record says.
  bool record(Variant& variant, bool statistics) {
    try {
      const auto begin = std::chrono::steady_clock::now();
      auto graph = std::make_unique<Graph>(shop_.stream);
      step(variant, statistics, true);
      graph->finish();
      const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
      variant.graph = std::move(graph);
      variant.graph_has_statistics = statistics;
      variant.broken = 0;
      if (variants_.size() <= kMostNamed)  // not hundreds, where a protocol changes the batch
        remark(variant.name, fmt::format("yes, {} nodes, recorded in {:.1f} ms", variant.graph->nodes(), took.count()));
      return true;
    } catch (const Error& error) {
      variant.graphless = ++variant.broken == kMostBroken;
      if (variant.graphless) remark(variant.name, std::string("no, because ") + error.what(), 1);
      return false;
    }
  }

  void fetch_loss() { copy(shop_.stream, &room_.as<Room>()->loss, shop_.memory.loss, offsetof(Loss, parts)); }

  float loss_of(const std::int32_t* labels, int batch, int* correct) {
    wait_for(shop_.stream);
    const Loss& loss = room_.as<Room>()->loss;
    if (loss.foreign > 0) {
      std::vector<std::int32_t> seen(static_cast<std::size_t>(batch));
      copy(shop_.stream, seen.data(), labels, seen.size() * sizeof(std::int32_t));
      wait_for(shop_.stream);
      check_labels(seen.data(), batch, shop_.plan.output.size());
    }
    if (correct != nullptr) *correct = loss.correct;
    return static_cast<float>(loss.sum / batch);
  }

  Workshop shop_;
  Pinned room_;
  std::map<int, std::unique_ptr<Variant>> variants_;  // by batch size
};

/// Products of sparse rows, which lie in host memory, with a vector on the GPU, as linear models compute them. Any
/// thread may call run; one call runs at a time.
class RowProducts {
 public:
  /// See Backend::margins. Copies one piece there and one back: where rows begin, columns, values; then the products.
  void run(const float* x, std::size_t bias_at, std::span<const Backend::SparseRow> rows, float* to);

 private:
  void make_room(std::size_t bytes) {
    if (bytes <= device_.bytes()) return;
    host_ = Pinned(), device_ = Buffer();
    host_ = Pinned(2 * bytes), device_ = Buffer(2 * bytes);
  }

  std::mutex mutex_;
  Pinned host_;
  Buffer device_;
};

void RowProducts::run(const float* x, std::size_t bias_at, std::span<const Backend::SparseRow> rows, float* to) {
  const std::lock_guard lock(mutex_);
  const Stream stream = Device::mine().vectors();
  std::size_t values = 0;
  for (const Backend::SparseRow& row : rows) values += row.columns.size();
  const std::size_t begins = (rows.size() + 1) * sizeof(std::uint64_t), of_values = values * sizeof(float);
  const std::size_t columns_at = begins, values_at = columns_at + of_values, products_at = values_at + of_values;
  make_room(products_at + rows.size() * sizeof(float));
  char* const host = host_.as<char>();
  char* const device = device_.as<char>();
  std::uint64_t begin = 0;
  for (std::size_t r = 0; r <= rows.size(); ++r) {
    reinterpret_cast<std::uint64_t*>(host)[r] = begin;
    if (r == rows.size()) break;
    const Backend::SparseRow& row = rows[r];
    std::copy(row.columns.begin(), row.columns.end(), reinterpret_cast<std::uint32_t*>(host + columns_at) + begin);
    std::copy(row.values.begin(), row.values.end(), reinterpret_cast<float*>(host + values_at) + begin);
    begin += row.columns.size();
  }
  copy(stream, device, host, products_at);
  SparseRows there;
  there.columns = reinterpret_cast<const std::uint32_t*>(device + columns_at);
  there.values = reinterpret_cast<const float*>(device + values_at);
  there.row_begin = reinterpret_cast<const std::uint64_t*>(device);
  there.rows = static_cast<int>(rows.size());
  margins(stream, there, x, bias_at, reinterpret_cast<float*>(device + products_at));
  copy(stream, host + products_at, device + products_at, rows.size() * sizeof(float));
  wait_for(stream);
  std::memcpy(to, host + products_at, rows.size() * sizeof(float));
}

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(const BackendOptions& options)
      : precision_(precision_of(options.precision)), deterministic_(options.deterministic) {
    Device::choose(options.local_rank, options.local_ranks);
    live_on(cuda::space());
    if (options.ipc) cuda::space().allow_loans();
  }
  const char* name() const override { return "cuda"; }
  std::string version() const override {
    return Device::mine().name() + ", " + Device::mine().versions() + ", " + library_versions();
  }
  Space& space() override { return cuda::space(); }
  std::unique_ptr<CompiledNetwork> compile(std::span<const LayerSpec> layers, const Shape& input,
                                           int largest_batch) override {
    NetworkPlan plan(layers, input, largest_batch);
    for (const NetworkPlan::Layer& layer : plan.layers) {
      if (layer.spec.type == LayerSpec::Type::kMaxPool && layer.spec.kernel > kLargestMaxPool)
        throw usage_error("cuda does not support " + to_string(layer.spec) + ": its windows are at most 16x16");
      if (layer.spec.type == LayerSpec::Type::kConv && layer.spec.kernel > kLargestKernel)
        throw usage_error("cuda does not support " + to_string(layer.spec) + ": its kernels are at most 64x64");
    }
    return std::make_unique<CudaNetwork>(std::move(plan), precision_, deterministic_);
  }
  void margins(const float* x, std::size_t bias_at, std::span<const SparseRow> rows, float* to) override {
    products_.run(x, bias_at, rows, to);
  }

 private:
  const Precision precision_;
  const bool deterministic_;
  RowProducts products_;
};

}  // namespace

std::unique_ptr<Backend> create_backend(const BackendOptions& options) {
  return std::make_unique<CudaBackend>(options);
}

}  // namespace hopbench::cuda
