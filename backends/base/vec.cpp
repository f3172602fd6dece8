#include "backends/base/vec.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cmath>

#include "backends/base/error.h"

namespace hopbench {

Storage::Storage(Space& space, std::size_t n) : space_(space), data_(space.allocate(n)), size_(n) {}

Storage::Storage(Space& space, float* data, std::size_t n, std::function<void()> on_last_release)
    : space_(space), data_(data), size_(n), on_last_release_(std::move(on_last_release)) {}

Storage::~Storage() {
  if (on_last_release_) {
    on_last_release_();
  } else {
    space_.release(data_, size_);
  }
}

void StorageRef::drop() {
  if (storage_ != nullptr && storage_->holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete storage_;
}

Payload Payload::slice(std::size_t offset, std::size_t n) const {
  HB_ASSERT(offset <= n_ && n <= n_ - offset);
  return Payload(storage_, offset_ + offset, n);
}

const float* Payload::data() const {
  if (!storage_ || storage_.get()->data() == nullptr) return nullptr;
  return storage_.get()->data() + offset_;
}

Space& Payload::space() const { return storage_ ? storage_.get()->space() : host_space(); }

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
  Vec v = uninitialised(view.size(), view.space());
  view.space().copy(v.storage_.get()->data(), view.data(), view.size());
  return v;
}

Vec::Vec(const Vec& other) {
  if (other.storage_) *this = copy_of(other.share());
}

Vec& Vec::operator=(const Vec& other) {
  if (this != &other) *this = Vec(other);
  return *this;
}

Space& Vec::space() const { return storage_ ? storage_.get()->space() : host_space(); }

void Vec::fill(float value) { space().fill(mutable_data(), value, n_); }
void Vec::scale(float a) { space().scale(mutable_data(), a, n_); }

void Vec::axpy(float a, const Payload& x) {
  HB_ASSERT(x.size() == n_);
  space().axpy(mutable_data(), a, x.data(), n_);
}

void Vec::assign(std::size_t offset, const Payload& part) {
  HB_ASSERT(offset <= n_ && part.size() <= n_ - offset);
  float* to = mutable_data();
  if (to != nullptr) space().copy(to + offset, part.data(), part.size());
}

double Vec::dot(const Payload& x) const {
  HB_ASSERT(x.size() == n_);
  return space().dot(data(), x.data(), n_);
}

double Vec::norm() const { return std::sqrt(squared_norm(share())); }

Payload Vec::share() const { return Payload(storage_, 0, n_); }
Payload Vec::slice(std::size_t offset, std::size_t n) const { return share().slice(offset, n); }

const float* Vec::data() const { return storage_ ? storage_.get()->data() : nullptr; }

float* Vec::mutable_data() {
  if (!storage_) return nullptr;
  if (!storage_.sole()) *this = copy_of(share());
  return storage_.get()->data();
}

std::vector<float> Vec::to_host() const {
  std::vector<float> values(n_);
  space().read(data(), values.data(), n_);
  return values;
}

double squared_norm(const Payload& x) { return x.space().dot(x.data(), x.data(), x.size()); }

Vec weighted_sum(std::span<const Payload> terms, std::span<const float> weights) {
  HB_ASSERT(!terms.empty() && terms.size() == weights.size());
  Vec out = Vec::uninitialised(terms[0].size(), terms[0].space());
  std::vector<const float*> data;
  data.reserve(terms.size());
  for (const Payload& term : terms) {
    HB_ASSERT(term.size() == out.size());
    data.push_back(term.data());
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
  x.space().read(x.data(), values.data(), x.size());
  return XXH64(values.data(), values.size() * sizeof(float), seed ^ x.size());
}

}  // namespace hopbench
