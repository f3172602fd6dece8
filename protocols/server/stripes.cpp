#include "protocols/server/stripes.h"

#include <algorithm>

#include "backends/base/error.h"

namespace hopbench::server {

Slice slice_of(std::size_t size, std::size_t i, std::size_t n) {
  return {size * i / n, size * (i + 1) / n - size * i / n};
}

Stripes::Stripes(const std::vector<Bucket>& buckets, std::size_t i, std::size_t n) {
  // The numbers that the servers before one of them have, of the first `dealt` ones.
  const auto dealt_before = [&](std::size_t server, std::size_t dealt) {
    return dealt / n * server + std::min(dealt % n, server);
  };
  std::size_t dealt = 0;
  for (const Bucket& bucket : buckets) {
    const auto before = [&](std::size_t server) {
      return dealt_before(server, dealt + bucket.size) - dealt_before(server, dealt);
    };
    stripes_.push_back({.model = {bucket.offset + before(i), before(i + 1) - before(i)}, .at = 0});
    dealt += bucket.size;
  }
  for (auto stripe = stripes_.rbegin(); stripe != stripes_.rend(); ++stripe) {  // the first bucket is the last layer's
    stripe->at = size_;
    size_ += stripe->model.size;
  }
}

std::size_t Stripes::before(std::size_t place) const {
  std::size_t sum = 0;
  for (const Stripe& stripe : stripes_) {
    const auto& [offset, size] = stripe.model;
    if (offset < place) sum += std::min(size, place - offset);
  }
  return sum;
}

std::vector<Slice> Stripes::within(const std::vector<Slice>& model) const {
  std::vector<Slice> own;
  for (const Slice& slice : model) {
    const std::size_t first = before(slice.offset);
    own.push_back({first, before(slice.end()) - first});
  }
  return own;
}

Payload Stripes::taken(const Payload& whole) const {
  if (size_ == whole.size()) return whole;
  if (stripes_.size() == 1) return whole.slice(stripes_[0].model.offset, size_);
  HB_ASSERT(!whole.sparse());
  Vec own = Vec::uninitialised(size_, whole.space());
  for (const Stripe& stripe : stripes_) own.assign(stripe.at, whole.slice(stripe.model.offset, stripe.model.size));
  return own.share();
}

void Stripes::put(const Payload& own, Vec& whole) const {
  for (const Stripe& stripe : stripes_) {
    if (stripe.model.size > 0) whole.assign(stripe.model.offset, own.slice(stripe.at, stripe.model.size));
  }
}

}  // namespace hopbench::server
