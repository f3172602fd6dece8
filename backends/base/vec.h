// Vec: a flat vector of float32 (parameters, a gradient, optimizer state) that lives in some Space.
// Payload: an immutable shared view of a Vec, carried by messages.
//
// A protocol never indexes a Vec. It uses the whole-vector operations below, which run where the numbers lie: in host
// memory, in a mapping shared with other processes or on a GPU.
//
// A vector is dense or sparse. A sparse vector keeps only the entries that may differ from zero (see sparse.h). A
// gradient of sparse rows is sparse, and so are its slices, its messages and sums of such vectors, while the sparse
// form is smaller. An operation that needs all numbers makes the vector dense first. Both forms give the same numbers.
//
// Copy on write. `share` and Node::gradient hold a reference on the storage. A write to
// storage that has another holder first moves this Vec to storage of its own. So a Payload
// never changes while it is in flight, and k neighbours share one copy. Only the owner writes,
// and only in its node's turn. Any thread may drop references. Collectives that overwrite
// slices in place keep their chunks in Vecs of their own (see protocols/node/collectives.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "backends/base/space.h"
#include "backends/base/sparse.h"

namespace hopbench {

class Payload;

/// A piece of memory in a Space, counted by its holders. With `on_last_release` it can be any memory that holds floats:
/// a transport can lend its own (a slot in shared memory, a receive buffer).
class Storage {
 public:
  /// Returns the floats that all vectors of this process hold now, in any memory. What is shared counts once.
  static std::int64_t floats_held();

  Storage(Space& space, std::size_t n);
  Storage(Space& space, float* data, std::size_t n, std::function<void()> on_last_release);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  Space& space() const { return space_; }
  float* data() const { return data_; }
  std::size_t size() const { return size_; }

  /// Returns numbers [offset, offset + n) in host memory. The first call for a range copies it, and later calls share
  /// that copy. `copied`, unless nullptr, is set to true if this call made the copy. Call it only while there may be
  /// another holder. Any thread may call it.
  Payload host_copy(std::size_t offset, std::size_t n, bool* copied);
  /// Makes `copy` the host copy of numbers [0, copy.size()), which later calls of host_copy return.
  void have_host_copy(Payload copy);
  /// Called by the only holder before it writes.
  void forget_host_copies() noexcept;

 private:
  friend class StorageRef;
  struct HostCopies;
  HostCopies& host_copies();
  Space& space_;
  float* data_;
  std::size_t size_;
  std::function<void()> on_last_release_;  // empty: the memory goes back to the space
  std::atomic<HostCopies*> host_copies_{nullptr};
  std::atomic<std::int64_t> holders_{0};
};

/// An intrusive reference. sole() is an acquire load: if it returns true, all reads by other holders have happened.
class StorageRef {
 public:
  StorageRef() = default;
  explicit StorageRef(Storage* storage) : storage_(storage) { hold(); }
  StorageRef(const StorageRef& other) : storage_(other.storage_) { hold(); }
  StorageRef(StorageRef&& other) noexcept : storage_(std::exchange(other.storage_, nullptr)) {}
  StorageRef& operator=(StorageRef other) noexcept {
    std::swap(storage_, other.storage_);
    return *this;
  }
  ~StorageRef() { drop(); }

  Storage* get() const { return storage_; }
  explicit operator bool() const { return storage_ != nullptr; }
  bool sole() const { return storage_->holders_.load(std::memory_order_acquire) == 1; }

 private:
  void hold() {
    if (storage_ != nullptr) storage_->holders_.fetch_add(1, std::memory_order_relaxed);
  }
  void drop();
  Storage* storage_ = nullptr;
};

class Vec;

/// An immutable view of floats. It is cheap to copy and keeps its storage alive.
class Payload {
 public:
  Payload() = default;
  Payload(StorageRef storage, std::size_t offset, std::size_t n)
      : storage_(std::move(storage)), offset_(offset), n_(n), stored_(n) {}

  /// Returns a sparse payload of n numbers, whose entries fill the storage's first `stored` floats.
  static Payload of_entries(StorageRef storage, std::size_t n, std::size_t stored);

  std::size_t size() const { return n_; }
  bool empty() const { return n_ == 0; }
  Payload slice(std::size_t offset, std::size_t n) const;

  /// Returns the size in storage and on the wire, in floats: size(), or less for a sparse payload.
  std::size_t stored() const { return stored_; }
  bool sparse() const { return sparse_; }
  /// Returns the entries. The payload must be sparse.
  std::span<const SparseEntry> entries() const;

  /// Returns the numbers of a dense payload, for code below protocols (transports, models); nullptr if none are stored.
  const float* data() const;
  Space& space() const;

  /// For transports: returns the stored floats of either form.
  const float* raw() const;
  /// For transports: returns the same in host memory. A vector of a device is copied by the first call only. `copied`,
  /// unless nullptr, is set to true if this call made the copy, else to false.
  Payload on_host(bool* copied = nullptr) const;
  /// For transports: returns this moved to that device, whose storage keeps this as its host copy.
  Payload on_device(Space& device) const;

 private:
  friend class Vec;
  StorageRef storage_;
  std::size_t offset_ = 0, n_ = 0, stored_ = 0;
  bool sparse_ = false;
};

/// Changes to a vector that are decided but not made, so that a step need not touch every number. They are made before
/// anything reads the numbers. See LazySgd.
class Pending {
 public:
  virtual ~Pending() = default;
  virtual bool due() const = 0;
  /// Makes the changes in all numbers of x, the vector that defers to this, or at least in those columns.
  virtual void settle(float* x) = 0;
  virtual void settle(float* x, std::span<const std::uint32_t> columns) = 0;
  /// Writes into `to` the numbers that x would have after all changes.
  virtual void look(const float* x, float* to) const = 0;

 private:
  friend class Vec;
  Vec* holder_ = nullptr;  // the vector whose numbers they are
};

class Vec {
 public:
  Vec() = default;
  /// Makes a vector of n floats, all zero.
  explicit Vec(std::size_t n, Space& space = host_space());
  /// Returns n floats with undefined contents, for results that are written completely.
  static Vec uninitialised(std::size_t n, Space& space = host_space());
  static Vec from_host(std::span<const float> values, Space& space = host_space());
  static Vec copy_of(const Payload& view);

  /// Returns a sparse vector of n numbers, all zero, with space for `entries` entries, in host memory.
  static Vec sparse_with_room(std::size_t n, std::size_t entries);
  /// Returns a vector of n numbers that will be assigned completely, in parts of the form of `like`.
  static Vec of_parts(std::size_t n, const Payload& like);

  Vec(const Vec& other);  // deep
  Vec& operator=(const Vec& other);
  Vec(Vec&& other) noexcept { *this = std::move(other); }
  Vec& operator=(Vec&& other) noexcept;
  ~Vec();

  std::size_t size() const { return n_; }
  bool sparse() const { return sparse_; }
  Space& space() const;

  void fill(float value);
  void scale(float a);
  void add(const Payload& x) { axpy(1.0f, x); }
  void axpy(float a, const Payload& x);                  // this += a x
  void assign(std::size_t offset, const Payload& part);  // this[offset, offset + part.size()) = part
  double dot(const Payload& x) const;
  double norm() const;  // Euclidean

  /// Returns this vector or a part of it, to send or to read. The result never changes (copy on write).
  Payload share() const;
  /// Returns the same for an observer that is not part of the run. Pending changes stay pending, because making them at
  /// another time would round them differently.
  Payload watch() const;
  Payload slice(std::size_t offset, std::size_t n) const;

  /// For code below protocols: the numbers to read, and to write (moves to storage of its own if shared).
  const float* data() const;
  float* mutable_data();
  std::vector<float> to_host() const;

  /// For a sparse vector: room() returns memory to write entries into, keep() sets the number of entries.
  SparseEntry* room();
  void keep(std::size_t entries);

  /// Attaches `pending`: its changes are made in this vector from now on, and in no other; nullptr: nothing is pending
  /// any more. First makes the changes that were pending until now, here and in the vector that `pending` belonged to.
  void defer(std::shared_ptr<Pending> pending);
  const Pending* pending() const { return pending_.get(); }
  /// Returns the numbers as they are stored, for code that knows which changes are pending in them.
  float* unsettled();
  /// Does the same as share(), but makes pending changes in these columns only. The other columns may not be read.
  Payload share_at(std::span<const std::uint32_t> columns) const;

 private:
  void settle() const;
  void part() noexcept;
  void own();
  Payload stored() const;

  // Defined in vec_sparse.cpp.
  void make_dense();
  void scale_entries(float a);
  void add_entries(float a, const Payload& x);
  void assign_entries(std::size_t offset, const Payload& part);

  StorageRef storage_;
  std::size_t n_ = 0, stored_ = 0;  // stored_: floats in use by a sparse vector
  bool sparse_ = false;
  std::shared_ptr<Pending> pending_;
};

inline Payload share(const Vec& x) { return x.share(); }

/// Returns the same numbers in that space, or x itself if it is there already or is sparse. Operations do this with
/// their inputs, to bring them into the space of their output.
Payload in_space(const Payload& x, Space& space);

/// Returns the sum of the squares, by Space::dot. Also works on the contents of a message.
double squared_norm(const Payload& x);

/// Returns the sum of the products, by Space::dot. Both must be dense.
double dot(const Payload& a, const Payload& b);

/// Returns the mean, added in the order given: (((w x_0) + w x_1) + ...), w = 1/k. Needs >= 1 terms of one size.
Vec mean(std::span<const Payload> terms);
/// Returns the sum of weights[i] * terms[i], added in the order given.
Vec weighted_sum(std::span<const Payload> terms, std::span<const float> weights);

/// Returns a 64-bit hash for params_hash: equal exactly if bit-identical (xxHash64; continues from `seed`).
std::uint64_t hash_bits(const Payload& x, std::uint64_t seed = 0);

}  // namespace hopbench
