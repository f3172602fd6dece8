// Vec: a flat vector of float32 (parameters, a gradient, optimizer state) that lives in some Space.
// Payload: an immutable shared view of one, as messages carry it.
//
// A protocol never indexes a Vec: it uses the whole-vector operations below, so the numbers may lie in host memory, in
// a mapping shared with other processes or on a GPU, and the operation runs where they lie.
//
// Two forms. A vector is dense, or sparse: then only the entries that may differ from zero are kept (see sparse.h). A
// gradient of sparse rows is, and so are its slices, what messages carry of it and sums of such, as long as that is
// smaller; an operation that needs all numbers makes a dense vector of it first. Either form gives the same numbers.
//
// Copy on write. `share` and Node::gradient hold a reference on the storage; a write to storage that somebody else
// still holds first moves this Vec to storage of its own. So a Payload never changes, however long it is in flight, and
// k neighbours share one copy. Only the owner writes, and it does so under its node's turn; references may be dropped
// on any thread. Collectives that overwrite slices in place keep their chunks in Vecs of their own (see
// protocols/collectives.h).
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

/// A piece of memory in a Space, counted by its holders. Anything that can hold floats can stand behind it:
/// `on_last_release` lets a transport lend its own memory (a slot in shared memory, a receive buffer).
class Storage {
 public:
  Storage(Space& space, std::size_t n);
  Storage(Space& space, float* data, std::size_t n, std::function<void()> on_last_release);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  Space& space() const { return space_; }
  float* data() const { return data_; }
  std::size_t size() const { return size_; }

  /// Numbers [offset, offset + n) in host memory: copied by the first who asks for just these, and shared by all who
  /// ask later. `copied`, unless nullptr, is set to whether it was now. Only while somebody else may hold this. Any
  /// thread.
  Payload host_copy(std::size_t offset, std::size_t n, bool* copied);
  /// Numbers [0, copy.size()) are these: whoever asks for a host copy of them gets this one.
  void have_host_copy(Payload copy);
  /// By its only holder, who is going to write.
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

/// Intrusive reference. sole() is an acquire load: after it returns true every other holder's reads have happened.
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

/// An immutable view of floats. Cheap to copy; keeps its storage alive.
class Payload {
 public:
  Payload() = default;
  Payload(StorageRef storage, std::size_t offset, std::size_t n)
      : storage_(std::move(storage)), offset_(offset), n_(n), stored_(n) {}

  /// A sparse one of n numbers, whose entries fill the storage's first `stored` floats.
  static Payload of_entries(StorageRef storage, std::size_t n, std::size_t stored);

  std::size_t size() const { return n_; }
  bool empty() const { return n_ == 0; }
  Payload slice(std::size_t offset, std::size_t n) const;

  /// What it takes in storage and on the wire, in floats: size(), or less of a sparse one.
  std::size_t stored() const { return stored_; }
  bool sparse() const { return sparse_; }
  /// Of a sparse one.
  std::span<const SparseEntry> entries() const;

  /// The numbers of a dense one, for what lies below protocols (transports, models). nullptr where nothing is stored.
  const float* data() const;
  Space& space() const;

  /// For transports: the stored floats, of either form.
  const float* raw() const;
  /// For transports: the same in host memory. However many of them ask, a vector of a device is copied once; `copied`,
  /// unless nullptr, is set to whether that was now.
  Payload on_host(bool* copied = nullptr) const;
  /// For transports: moved to that device, which keeps this as its host copy.
  Payload on_device(Space& device) const;

 private:
  friend class Vec;
  StorageRef storage_;
  std::size_t offset_ = 0, n_ = 0, stored_ = 0;
  bool sparse_ = false;
};

/// Changes to a vector that are decided but not made, so that a step need not touch every number. They are made before
/// somebody reads them. See LazySgd.
class Pending {
 public:
  virtual ~Pending() = default;
  virtual bool due() const = 0;
  /// Makes them: in all numbers of x, which it was told of first, or in those columns at least.
  virtual void settle(float* x) = 0;
  virtual void settle(float* x, std::span<const std::uint32_t> columns) = 0;
  /// What x would be with all of them made, into `to`.
  virtual void look(const float* x, float* to) const = 0;

 private:
  friend class Vec;
  Vec* holder_ = nullptr;  // whose numbers they are
};

class Vec {
 public:
  Vec() = default;
  /// n floats, all zero.
  explicit Vec(std::size_t n, Space& space = host_space());
  /// n floats, contents undefined: for results that are written whole.
  static Vec uninitialised(std::size_t n, Space& space = host_space());
  static Vec from_host(std::span<const float> values, Space& space = host_space());
  static Vec copy_of(const Payload& view);

  /// A sparse one of n numbers, all zero, with room for so many entries, in host memory.
  static Vec sparse_with_room(std::size_t n, std::size_t entries);
  /// n numbers that are going to be assigned whole, in parts of this form.
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

  /// This vector or a part of it, to send or to read; it never changes afterwards (copy on write).
  Payload share() const;
  /// The same for who watches a run and is no part of it: where changes are pending, they stay so. To make them now or
  /// later is to round them differently.
  Payload watch() const;
  Payload slice(std::size_t offset, std::size_t n) const;

  /// For what lies below protocols: the numbers to read, and to write (moves to storage of its own if shared).
  const float* data() const;
  float* mutable_data();
  std::vector<float> to_host() const;

  /// Of a sparse one: its room, to write entries into, and how many of them there are from now on.
  SparseEntry* room();
  void keep(std::size_t entries);

  /// `pending` has changes to make in this vector from now on, and in no other; nullptr: none any more. What was
  /// pending is made first, here and where `pending` was until now.
  void defer(std::shared_ptr<Pending> pending);
  const Pending* pending() const { return pending_.get(); }
  /// The numbers as they are stored, for who knows what is pending in them.
  float* unsettled();
  /// As share(), but of what is pending only these columns are made: the others may not be read.
  Payload share_at(std::span<const std::uint32_t> columns) const;

 private:
  void settle() const;
  void part() noexcept;
  void own();
  Payload stored() const;

  // In vec_sparse.cpp.
  void make_dense();
  void scale_entries(float a);
  void add_entries(float a, const Payload& x);
  void assign_entries(std::size_t offset, const Payload& part);

  StorageRef storage_;
  std::size_t n_ = 0, stored_ = 0;  // stored_: floats in use, of a sparse one
  bool sparse_ = false;
  std::shared_ptr<Pending> pending_;
};

inline Payload share(const Vec& x) { return x.share(); }

/// The same numbers there: x itself, where that is where it is, or where it is sparse. Operations do this with what
/// they read, to where what they write is.
Payload in_space(const Payload& x, Space& space);

/// The sum of the squares, by Space::dot; of what a message carries, too.
double squared_norm(const Payload& x);

/// The mean in the order given: (((w x_0) + w x_1) + ...) with w = 1/k. At least one term, all of one size.
Vec mean(std::span<const Payload> terms);
/// sum of weights[i] * terms[i] in the order given.
Vec weighted_sum(std::span<const Payload> terms, std::span<const float> weights);

/// 64-bit hash of the bits, for params_hash: equal exactly when bit-identical (xxHash64; continues from `seed`).
std::uint64_t hash_bits(const Payload& x, std::uint64_t seed = 0);

}  // namespace hopbench
