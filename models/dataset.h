// Data sets in memory, and their division among the workers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/base/random.h"
#include "backends/compute/backend.h"
#include "models/sparse_dataset.h"

namespace hopbench {

/// Samples of one shape with an integer label each. A data set never changes, and all ranks of a process and all
/// threads share it.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::size_t size() const = 0;
  virtual Shape shape() const = 0;
  virtual int classes() const = 0;  // 0: no labels
  virtual std::int32_t label(std::size_t i) const = 0;
  /// Writes sample i's features, normalised as the data set's file says, into to[shape().size()].
  virtual void copy_sample(std::size_t i, float* to) const = 0;
  /// Brings into memory what would otherwise be drawn when a sample is first used. Call it before a clock starts.
  virtual void load() const {}
  /// Returns the samples as sparse rows, or nullptr if the data set does not have them as such.
  virtual const SparseDataset* rows() const { return nullptr; }
};

struct DatasetPair {
  std::shared_ptr<const Dataset> train, test;
};

constexpr std::int64_t kLargestQuadratic = 4096;  // features of its data set

/// The inputs that determine a data set. The repeat is not one of them: all repeats of a suite use the same samples.
struct DatasetRequest {
  std::string path = "";   // a folder; "": the entry's default
  std::size_t size = 0;    // features of a sample, if the data set has no fixed number; 0: its default
  std::uint64_t seed = 1;  // of drawn data sets
};

/// kDirichlet: worker w wants the classes in proportions drawn from a symmetric Dirichlet(alpha), as in Hsu, Qi,
///   Brown (2019). The workers take turns drawing one sample each, without replacement, from the classes left.
/// kShards: the samples are sorted by label and cut into workers * shards_per_worker shards, which are dealt at
///   random (McMahan et al., AISTATS 2017).
/// kByFeature: the samples are sorted by one feature, as models see it, or by the sum of all
///   features (a picture's brightness); ties are broken by index. The list is then cut into one
///   part per worker, and the parts are dealt at random. The result is covariate shift. Needs no
///   labels.
enum class SplitKind { kIid, kDirichlet, kShards, kByFeature };

/// The division of the training set among the workers, a pure function of the key and so the same on every rank. Parts
/// differ in size by at most one sample (shards: one per shard), so the plain mean of the workers' objectives is the
/// objective over the whole set. Skew then makes training harder but does not move the optimum.
struct SplitSpec {
  SplitKind what = SplitKind::kIid;
  double alpha = 0.5;         // dirichlet: smaller is more skewed
  int shards_per_worker = 2;  // shards
  int feature = -1;           // by_feature: from 0; -1: the sum of all
};

/// Returns the ascending sample indices of each worker, by worker. Parts are disjoint, not empty, and cover the set.
/// Throws Error(kUsage) for too few samples, missing labels, or an alpha, shards_per_worker or feature out of range.
std::vector<std::vector<std::uint32_t>> split(const Dataset& train, const SplitSpec& spec, int workers,
                                              std::uint64_t seed, std::uint32_t repeat);

/// One worker's seeded order over its part. Each epoch is a fresh permutation, so no sample occurs twice in an epoch,
/// whatever the batch sizes. Position p of the endless stream is sample permutation(p / part)[p mod part], a pure
/// function, so ranks may skip positions. It caches the last epoch's permutation, so only one thread may use it at a
/// time. The orders of different workers share nothing.
class SampleOrder {
 public:
  SampleOrder(std::vector<std::uint32_t> part, std::uint64_t seed, std::uint32_t repeat, int rank);
  std::size_t part_size() const { return part_.size(); }
  /// Fills `to` with the samples at positions [first, first + to.size()).
  void fill(std::uint64_t first, std::span<std::uint32_t> to);

 private:
  const std::vector<std::uint32_t>& epoch(std::uint64_t e);
  std::vector<std::uint32_t> part_, permutation_;
  std::uint64_t seed_, current_ = ~std::uint64_t{0};
  std::uint32_t repeat_;
  int rank_;
};

/// A small random change of training pictures, drawn anew for each use. Pictures for evaluation are never changed.
enum class Augment {
  kNone,
  /// Pads the picture with a frame of 4 zeros (the mean colour after normalisation), crops a piece of the picture's
  /// size at a random place, and mirrors it left to right half the time (He, Zhang, Ren, Sun, CVPR 2016). The order of
  /// the steps is that of fb.resnet.torch.
  kPadCropFlip,
};

/// Throws Error(kUsage) if the data set has no pictures to crop.
void check_augment(Augment augment, const Dataset& data);

/// The random draws for one sample. They are a pure function of the key, so every rank, transport and thread draws the
/// same. `position` is that in the worker's order (see SampleOrder), which goes on from epoch to epoch.
struct Crop {
  int down = 0, right = 0;  // where the piece begins, 0 to 8 from the frame's top and left; 4, 4 is the picture itself
  bool mirrored = false;
};
Crop draw_crop(std::uint64_t seed, std::uint32_t repeat, int rank, std::uint64_t position);
/// Writes that piece of `from` to to[shape.size()], the same for each channel. The two must not overlap.
void crop_picture(const Crop& crop, const Shape& shape, const float* from, float* to);

struct DatasetEntry {
  const char* name;
  const char* summary;
  std::string default_path;  // a folder; "" if nothing is read, or only what the request names
  std::string get;           // how to get the files: "run `ci/fetch-data cifar10`"; "" if nothing is read
  /// Throws Error(kUsage) for a truncated or corrupt file, with the file, the byte offset, what was expected and what
  /// to do. If a folder or file is missing at the default path, throws Error(kEnvironment) with the command that gets
  /// it. If it is missing in a folder that the request names, throws Error(kUsage).
  DatasetPair (*load)(const DatasetRequest& request);
};
const std::vector<DatasetEntry>& datasets();
const DatasetEntry& find_dataset(std::string_view name);  // Error(kUsage) with the nearest and the known names

}  // namespace hopbench
