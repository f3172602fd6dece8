#include "backends/base/vec.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "backends/base/error.h"
#include "backends/base/vec_sparse.h"

namespace hopbench {

namespace {

std::atomic<std::int64_t> held{0};  // floats, of all storages

}  // namespace

std::int64_t Storage::floats_held() { return held.load(std::memory_order_relaxed); }

Storage::Storage(Space& space, std::size_t n) : space_(space), data_(space.allocate(n)), size_(n) {
  held.fetch_add(std::int64_t(n), std::memory_order_relaxed);
}

Storage::Storage(Space& space, float* data, std::size_t n, std::function<void()> on_last_release)
    : space_(space), data_(data), size_(n), on_last_release_(std::move(on_last_release)) {
  held.fetch_add(std::int64_t(n), std::memory_order_relaxed);
}

/// Copies of parts of a storage. Made under the lock, so that a second caller waits for a copy in progress.
struct Storage::HostCopies {
  struct Part {
    std::size_t offset, n;
    Payload copy;
  };
  std::mutex mutex;
  std::vector<Part> parts;
};

Storage::HostCopies& Storage::host_copies() {
  HostCopies* copies = host_copies_.load(std::memory_order_acquire);
  if (copies != nullptr) return *copies;
  auto fresh = std::make_unique<HostCopies>();
  if (host_copies_.compare_exchange_strong(copies, fresh.get(), std::memory_order_acq_rel)) copies = fresh.release();
  return *copies;
}

Payload Storage::host_copy(std::size_t offset, std::size_t n, bool* copied) {
  HostCopies& copies = host_copies();
  const std::lock_guard lock(copies.mutex);
  for (const HostCopies::Part& part : copies.parts) {
    if (part.offset <= offset && offset + n <= part.offset + part.n) return part.copy.slice(offset - part.offset, n);
  }
  Vec copy = Vec::uninitialised(n);
  space_.read(data_ + offset, copy.mutable_data(), n);
  copies.parts.push_back({offset, n, copy.share()});
  if (copied != nullptr) *copied = true;
  return copies.parts.back().copy;
}

void Storage::have_host_copy(Payload copy) {
  HostCopies& copies = host_copies();
  const std::lock_guard lock(copies.mutex);
  const std::size_t n = copy.size();
  copies.parts.push_back({0, n, std::move(copy)});
}

void Storage::forget_host_copies() noexcept {
  if (host_copies_.load(std::memory_order_relaxed) != nullptr) delete host_copies_.exchange(nullptr);
}

Storage::~Storage() {
  held.fetch_sub(std::int64_t(size_), std::memory_order_relaxed);
  forget_host_copies();
  if (on_last_release_) {
    on_last_release_();
  } else {
    space_.release(data_, size_);
  }
}

void StorageRef::drop() {
  if (storage_ != nullptr && storage_->holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete storage_;
}

Payload Payload::of_entries(StorageRef storage, std::size_t n, std::size_t stored) {
  Payload payload(std::move(storage), 0, n);
  payload.stored_ = stored;
  payload.sparse_ = true;
  return payload;
}

const float* Payload::raw() const {
  if (!storage_ || storage_.get()->data() == nullptr) return nullptr;
  return storage_.get()->data() + offset_;
}

const float* Payload::data() const {
  HB_ASSERT_MSG(!sparse_, "a sparse vector, where a dense one is needed");
  return raw();
}

Payload Payload::on_host(bool* copied) const {
  if (copied != nullptr) *copied = false;
  if (sparse() || empty() || &space() == &host_space() || &space() == &null_space())
    return in_space(*this, host_space());
  return storage_.get()->host_copy(offset_, n_, copied);
}

Payload Payload::on_device(Space& device) const {
  Payload there = in_space(*this, device);
  if (&there.space() == &device && &space() == &host_space() && there.storage_)
    there.storage_.get()->have_host_copy(*this);
  return there;
}

Space& Payload::space() const { return storage_ ? storage_.get()->space() : host_space(); }

Payload in_space(const Payload& x, Space& space) {
  const bool numberless = &x.space() == &null_space() && &space != &host_space();
  if (x.sparse() || x.empty() || &x.space() == &space || numberless || &space == &null_space()) return x;
  Vec moved = Vec::uninitialised(x.size(), space);
  if (&x.space() == &host_space()) {
    space.write(moved.mutable_data(), x.data(), x.size());
  } else if (&space == &host_space()) {
    x.space().read(x.data(), moved.mutable_data(), x.size());
  } else {
    return in_space(in_space(x, host_space()), space);
  }
  return moved.share();
}

Vec::Vec(std::size_t n, Space& space) : Vec(uninitialised(n, space)) { space.fill(storage_.get()->data(), 0.0f, n); }

Vec Vec::uninitialised(std::size_t n, Space& space) {
  Vec v;
  v.storage_ = StorageRef(new Storage(space, n));
  v.n_ = n;
  return v;
}

Vec Vec::from_host(std::span<const float> values, Space& space) {
  Vec v = uninitialised(values.size(), space);
  space.write(v.storage_.get()->data(), values.data(), values.size());
  return v;
}

Vec Vec::copy_of(const Payload& view) {
  Vec v;
  if (view.sparse()) {
    v = sparse_with_room(view.size(), view.entries().size());
    std::copy(view.entries().begin(), view.entries().end(), v.room());
    v.keep(view.entries().size());
  } else {
    v = uninitialised(view.size(), view.space());
    view.space().copy(v.storage_.get()->data(), view.data(), view.size());
  }
  return v;
}

Vec::Vec(const Vec& other) {
  if (other.storage_) *this = copy_of(other.share());
}

Vec& Vec::operator=(const Vec& other) {
  if (this != &other) *this = Vec(other);
  return *this;
}

Vec& Vec::operator=(Vec&& other) noexcept {
  if (this == &other) return *this;
  part();
  storage_ = std::move(other.storage_);
  n_ = other.n_;
  stored_ = other.stored_;
  sparse_ = other.sparse_;
  pending_ = std::move(other.pending_);
  if (pending_) pending_->holder_ = this;
  return *this;
}

Vec::~Vec() { part(); }

Space& Vec::space() const { return storage_ ? storage_.get()->space() : host_space(); }

void Vec::fill(float value) {
  if (sparse_) *this = uninitialised(n_);
  space().fill(mutable_data(), value, n_);
}

void Vec::scale(float a) {
  if (sparse_) return scale_entries(a);
  space().scale(mutable_data(), a, n_);
}

void Vec::axpy(float a, const Payload& x) {
  HB_ASSERT(x.size() == n_);
  if (x.sparse()) return add_entries(a, x);
  space().axpy(mutable_data(), a, in_space(x, space()).data(), n_);
}

void Vec::assign(std::size_t offset, const Payload& part) {
  HB_ASSERT(offset <= n_ && part.size() <= n_ - offset);
  if (part.sparse()) return assign_entries(offset, part);
  float* to = mutable_data();
  if (to != nullptr) space().copy(to + offset, in_space(part, space()).data(), part.size());
}

double Vec::dot(const Payload& x) const {
  HB_ASSERT(x.size() == n_);
  if (sparse_ || x.sparse()) return sparse_dot(share(), x);
  return space().dot(data(), in_space(x, space()).data(), n_);
}

double Vec::norm() const { return std::sqrt(squared_norm(share())); }

Payload Vec::stored() const {
  Payload view(storage_, 0, n_);
  view.sparse_ = sparse_;
  if (sparse_) view.stored_ = stored_;
  return view;
}

Payload Vec::share() const {
  settle();
  return stored();
}

Payload Vec::watch() const {
  if (!pending_ || !pending_->due()) return stored();
  Vec seen = uninitialised(n_);
  pending_->look(storage_.get()->data(), seen.storage_.get()->data());
  return seen.stored();
}

Payload Vec::slice(std::size_t offset, std::size_t n) const { return share().slice(offset, n); }

const float* Vec::data() const {
  settle();
  return stored().data();
}

float* Vec::mutable_data() {
  if (!storage_) return nullptr;
  settle();
  if (sparse_) make_dense();
  own();
  return storage_.get()->data();
}

/// Moves to storage of its own if the old storage has another holder, here or in another process.
void Vec::own() {
  if (!storage_.sole() || space().lent(storage_.get()->data())) storage_ = copy_of(stored()).storage_;
  storage_.get()->forget_host_copies();
}

std::vector<float> Vec::to_host() const {
  std::vector<float> values(n_);
  read_to_host(share(), values);
  return values;
}

// --- Pending changes

void Vec::settle() const {
  if (!pending_ || !pending_->due()) return;
  Vec& self = const_cast<Vec&>(*this);  // the vector keeps its numbers, which are only written down
  pending_->settle(self.unsettled());
}

/// Drops the pending changes. If their owner keeps them and may go on with its knowledge of these numbers, makes them.
void Vec::part() noexcept {
  if (!pending_) return;
  if (pending_.use_count() > 1) settle();
  pending_->holder_ = nullptr;
  pending_.reset();
}

void Vec::defer(std::shared_ptr<Pending> pending) {
  if (pending == pending_) return;
  settle();
  part();
  if (!pending) return;
  if (pending->holder_ != nullptr) pending->holder_->defer(nullptr);
  pending_ = std::move(pending);
  pending_->holder_ = this;
}

float* Vec::unsettled() {
  HB_ASSERT(!sparse_);
  own();
  return storage_.get()->data();
}

Payload Vec::share_at(std::span<const std::uint32_t> columns) const {
  if (pending_ && pending_->due()) pending_->settle(const_cast<Vec&>(*this).unsettled(), columns);
  return stored();
}

double squared_norm(const Payload& x) {
  return x.sparse() ? squared_norm(x.entries()) : x.space().dot(x.data(), x.data(), x.size());
}

double dot(const Payload& a, const Payload& b) {
  HB_ASSERT(a.size() == b.size() && !a.sparse() && !b.sparse());
  return a.space().dot(a.data(), b.data(), a.size());
}

Vec weighted_sum(std::span<const Payload> terms, std::span<const float> weights) {
  HB_ASSERT(!terms.empty() && terms.size() == weights.size());
  const auto is_sparse = [](const Payload& term) { return term.sparse(); };
  if (std::any_of(terms.begin(), terms.end(), is_sparse)) return sparse_weighted_sum(terms, weights);
  Vec out = Vec::uninitialised(terms[0].size(), terms[0].space());
  std::vector<Payload> here;
  std::vector<const float*> data;
  here.reserve(terms.size());
  data.reserve(terms.size());
  for (const Payload& term : terms) {
    HB_ASSERT(term.size() == out.size());
    here.push_back(in_space(term, out.space()));
    data.push_back(here.back().data());
  }
  out.space().weighted_sum(out.mutable_data(), data, weights, out.size());
  return out;
}

Vec mean(std::span<const Payload> terms) {
  const std::vector<float> weights(terms.size(), 1.0f / static_cast<float>(terms.size()));
  return weighted_sum(terms, weights);
}

std::uint64_t hash_bits(const Payload& x, std::uint64_t seed) {
  std::vector<float> values(x.size());
  read_to_host(x, values);
  return XXH64(values.data(), values.size() * sizeof(float), seed ^ x.size());
}

}  // namespace hopbench
