// Data sets in memory, and who gets which part of them.
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

/// Samples of one shape with an integer label each. They never change; shared by all ranks of a process and all
/// threads.
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
  /// The samples as sparse rows, of data sets that have them so; else nullptr.
  virtual const SparseDataset* rows() const { return nullptr; }
};

struct DatasetPair {
  std::shared_ptr<const Dataset> train, test;
};

constexpr std::int64_t kLargestQuadratic = 4096;  // features of its data set

/// What a data set may depend on. Never on the repeat: all repeats of a suite train on the same samples.
struct DatasetRequest {
  std::string path = "";   // a folder; "": the entry's default
  std::size_t size = 0;    // features of a sample, where the data set lets one choose; 0: its default
  std::uint64_t seed = 1;  // of drawn data sets
};

/// How the training set is divided among the workers. A pure function of the key: the same on every rank. Parts differ
/// in size by at most one sample (shards: by one sample a shard), so that the plain mean of the workers' objectives is
/// the objective over the whole set: skew then makes training harder, but does not move the optimum.
struct SplitSpec {
  /// kDirichlet: worker w wants the classes in proportions drawn from a symmetric Dirichlet(alpha), as in Hsu, Qi,
  ///   Brown (2019); the workers take turns drawing one sample each, without replacement, from the classes left.
  /// kShards: the samples sorted by label are cut into workers * shards_per_worker shards, dealt at random (McMahan et
  ///   al., AISTATS 2017).
  /// kByFeature: the samples sorted by one feature, as models see it, or by the sum of all (a picture's brightness),
  /// and
  ///   by their index where that is equal, are cut into a part a worker, dealt at random: covariate shift. Needs no
  ///   labels.
  enum class What { kIid, kDirichlet, kShards, kByFeature };
  What what = What::kIid;
  double alpha = 0.5;         // dirichlet: smaller is more skewed
  int shards_per_worker = 2;  // shards
  int feature = -1;           // by_feature: from 0; -1: the sum of all
};

/// parts[w] = the indices of worker w, ascending: disjoint, together everything, none empty. Error(kUsage) where there
/// are too few samples, no labels to skew by, or alpha, shards_per_worker and feature are out of range.
std::vector<std::vector<std::uint32_t>> split(const Dataset& train, const SplitSpec& spec, int workers,
                                              std::uint64_t seed, std::uint32_t repeat);

/// One worker's seeded order over its part: a fresh permutation every epoch, no sample twice inside an epoch, whatever
/// the batch sizes. Position p of the endless stream is sample permutation(p / part)[p mod part]: a pure function, so
/// ranks may skip. It keeps the last epoch's permutation: one thread at a time; orders of different workers share
/// nothing.
class SampleOrder {
 public:
  SampleOrder(std::vector<std::uint32_t> part, std::uint64_t seed, std::uint32_t repeat, int rank);
  std::size_t part_size() const { return part_.size(); }
  /// The samples at positions first .. first + to.size().
  void fill(std::uint64_t first, std::span<std::uint32_t> to);

 private:
  const std::vector<std::uint32_t>& epoch(std::uint64_t e);
  std::vector<std::uint32_t> part_, permutation_;
  std::uint64_t seed_, current_ = ~std::uint64_t{0};
  std::uint32_t repeat_;
  int rank_;
};

/// Training pictures changed a little, another way each time they are used; evaluation never is.
enum class Augment {
  kNone,
  /// A frame of 4 zeros (after normalisation: the mean colour) around the picture, of that a piece of its size at a
  /// random place, mirrored left to right half the time: He, Zhang, Ren, Sun, CVPR 2016, in the order of
  /// fb.resnet.torch.
  kPadCropFlip,
};

/// Error(kUsage) if the data set has no pictures to crop.
void check_augment(Augment augment, const Dataset& data);

/// What is drawn for one sample. A pure function of the key, so every rank, transport and thread draws alike; position
/// is that in the worker's order (see SampleOrder), which goes on from epoch to epoch.
struct Crop {
  int down = 0, right = 0;  // where the piece begins, 0 to 8 from the frame's top and left; 4, 4 is the picture itself
  bool mirrored = false;
};
Crop draw_crop(std::uint64_t seed, std::uint32_t repeat, int rank, std::uint64_t position);
/// to[shape.size()] becomes that piece of `from`, each channel alike. They may not overlap.
void crop_picture(const Crop& crop, const Shape& shape, const float* from, float* to);

struct DatasetEntry {
  const char* name;
  const char* summary;
  std::string default_path;  // a folder; "" where nothing is read, or only what the request names
  std::string get;           // how to come by the files: "run `ci/fetch-data cifar10`"; "" where nothing is read
  /// Error(kUsage) for a truncated or corrupt file: the file, the byte offset, what was expected, what to do. A folder
  /// or file that is not there is Error(kEnvironment) at the default path, and names the command that gets it; in a
  /// folder that the request names it is Error(kUsage).
  DatasetPair (*load)(const DatasetRequest& request);
};
const std::vector<DatasetEntry>& datasets();
const DatasetEntry& find_dataset(std::string_view name);  // Error(kUsage) with the nearest and the known names

}  // namespace hopbench
