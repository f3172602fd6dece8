// The division of a model among parameter servers. Every server keeps a part of every layer, so that all of them work
// on any layer that is on its way.
#pragma once

#include <cstddef>
#include <vector>

#include "protocols/node/node.h"

namespace hopbench::server {

/// Returns slice number i of n of a vector of `size` numbers.
Slice slice_of(std::size_t size, std::size_t i, std::size_t n);

/// A server's part of one bucket: its slice of the model, and the place where it begins in the server's own vector.
struct Stripe {
  Slice model;
  std::size_t at;
};
/// The parts that server i of n keeps, in the order of the model.
///
/// Bucket by bucket, the numbers of the model are counted as if dealt to the servers in turn. So the servers' shares of
/// each bucket, and of the whole model, differ by at most one number. A server's part of a bucket is one run.
class Stripes {
 public:
  Stripes(const std::vector<Bucket>& buckets, std::size_t i, std::size_t n);

  /// Returns the stripe of a bucket. It may be empty if the bucket has fewer numbers than there are servers.
  const Stripe& of(std::size_t bucket) const { return stripes_[bucket]; }
  std::size_t buckets() const { return stripes_.size(); }
  std::size_t size() const { return size_; }
  /// Returns how many of the server's numbers lie before that place of the model.
  std::size_t before(std::size_t place) const;

  /// Returns which of the server's numbers lie in those slices of the model. Both ascend.
  std::vector<Slice> within(const std::vector<Slice>& model) const;

  /// Returns the server's own vector of a model or a gradient. A sparse one must be of one bucket.
  Payload taken(const Payload& whole) const;
  /// Writes the server's own vector to where it belongs.
  void put(const Payload& own, Vec& whole) const;

 private:
  std::vector<Stripe> stripes_;
  std::size_t size_ = 0;
};

}  // namespace hopbench::server
