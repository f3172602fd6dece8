// The workload of a trial, with which a Node computes: a model, its data, their split among the workers, and a backend.
//
// Thread-safe: several gradients and evaluations may be computed at once (virtual time does), each on a learner of its
// own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/base/local_place.h"
#include "backends/base/vec.h"
#include "models/dataset.h"
#include "models/learner.h"

namespace hopbench {

/// Ranks that compute on another backend than the rest of their trial, such as a GPU among CPUs.
struct OtherBackend {
  std::string backend;
  std::vector<int> ranks;
};

struct WorkloadSpec {
  std::string model = "lenet";
  std::string dataset = "";       // "": the model's own
  std::string dataset_path = "";  // "": the data set's default
  int batch = 32;                 // of one worker
  SplitSpec split = {};
  Augment augment = Augment::kNone;
  std::string backend = "onednn";
  std::vector<OtherBackend> others = {};  // real processes only
  std::string precision = "fp32";         // see BackendOptions
  bool deterministic = true;
  bool ipc = true;
  LocalPlace local = {};          // of this process, not of the trial: see BackendOptions
  int threads = 1;                // of one gradient
  int workers = 1;                // the number that train
  std::vector<int> without = {};  // workers of the suite that do not train, ascending; their data are not used
  std::uint64_t seed = 1;
  std::uint32_t repeat = 0;
  std::size_t size = 0;                          // timing_only and quadratic: parameters (quadratic: 64 if 0)
  std::vector<Bucket> profile = {};              // timing_only: of its gradient; empty: equal_buckets
  Statistics statistics = Statistics::kRunning;  // of batch norms
  int evaluation_samples = 512;  // size of the named subset of every curve, the first test samples; 0: no evaluation
  bool numbers = true;           // false: gradients are not computed and vectors hold no numbers, for rates alone

  /// Returns the spec for one rank, at that place on its machine, with a single backend.
  WorkloadSpec on(int rank, const LocalPlace& where) const;
  /// Returns the number that the suite gives to worker `rank`. Ranks are numbered without gaps when workers are left
  /// out; data, draws, slowdowns and hosts keep the suite's numbers.
  int number_of(int rank) const;
  /// Returns the number of workers in the suite, including those that are left out.
  int everybody() const { return workers + static_cast<int>(without.size()); }
};

/// The samples that a gradient uses.
struct Samples {
  std::int64_t first = -1;  // position in the worker's order; -1: iteration * batch
  int count = 0;            // 0: the trial's batch
  /// If true, positions are in the shared order, which interleaves the workers' orders, a batch of each in turn. Its
  /// k-th stretch of workers * batch samples is used in iteration k, however it is divided among the workers.
  bool shared = false;
};

class Workload {
 public:
  static constexpr int kEverybody = -1;
  virtual ~Workload() = default;
  virtual const WorkloadSpec& spec() const = 0;  // as given, with the data set's name filled in
  virtual std::size_t size() const = 0;
  virtual std::size_t trainable() const { return size(); }  // see Learner::trainable
  virtual Space& space() const = 0;
  virtual Vec initial() const = 0;
  /// Returns true if gradients are sparse (see Vec).
  virtual bool sparse() const { return false; }
  /// Writes to `to`, if gradients are sparse, the columns of x that the gradient below reads. Columns may repeat.
  virtual void columns(int /*worker*/, std::uint64_t /*first*/, int /*count*/, std::vector<std::uint32_t>& /*to*/) {}
  virtual const std::vector<Bucket>& buckets() const = 0;
  virtual std::vector<Tensor> tensors() const {
    return {{.offset = 0, .rows = trainable(), .columns = 1}};
  }  // see Learner
  virtual double flops_per_sample() const = 0;
  /// Computes the gradient of worker w's samples [first, first + count) at x into g; kEverybody: in the shared order
  /// (see Samples). g has size() numbers in storage of its own, all overwritten (if sparse: g may be anything). Returns
  /// the mean loss. Inside done(i) (may be empty), bucket i of g is final and may be shared, the rest not.
  virtual float gradient(const Payload& x, int worker, std::uint64_t first, int count, Vec& g,
                         const std::function<void(int bucket)>& done) = 0;
  /// Evaluates x on the named evaluation subset of the test set (all of it if it is smaller).
  virtual Evaluation evaluate(const Payload& x) = 0;
  /// Returns the samples that a gradient of worker w uses, as indices in the training set. `which` must have `first`
  /// and `count`.
  virtual std::vector<std::uint32_t> samples_of(int /*worker*/, const Samples& /*which*/) { return {}; }
  /// Brings the training data into memory (Dataset::load). Call it before a clock starts. A server never needs it.
  virtual void load_data() {}
  /// Announces the largest batch of a gradient, so that networks need not grow until it comes. Not beside a gradient.
  virtual void make_room(int /*batch*/) {}
  /// Returns the number of samples that worker w owns.
  virtual std::size_t part_size(int worker) const = 0;
};

/// Makes a workload. Throws Error(kUsage) for unknown names, sizes out of range, or data that cannot be read or do not
/// fit the model. Throws Error(kEnvironment) for a backend that is not available.
std::unique_ptr<Workload> make_workload(const WorkloadSpec& spec);
/// Makes one with data that are already loaded (spec.dataset and its path are ignored); not for timing_only.
std::unique_ptr<Workload> make_workload(const WorkloadSpec& spec, DatasetPair data);

/// A model as the registry lists it.
struct ModelEntry {
  const char* name;
  const char* summary;
  const char* default_dataset;  // "": it reads no data
  /// nullptr for timing_only, which computes nothing and reads no data. Throws Error(kUsage) if the data do not fit.
  std::unique_ptr<Learner> (*create)(Backend& backend, const WorkloadSpec& spec, const Shape& input, int classes,
                                     int largest_batch);
  bool sparse_rows = false;  // it takes sparse rows, and no others
};
const std::vector<ModelEntry>& models();
const ModelEntry& find_model(std::string_view name);  // Error(kUsage) with the nearest and the known names

}  // namespace hopbench
