// How parameter servers divide a model: every server keeps a part of every layer, so that all of them work on whatever
// layer is on its way.
#pragma once

#include <cstddef>
#include <vector>

#include "protocols/node.h"

namespace hopbench {

/// A run of neighbouring numbers.
struct Slice {
  std::size_t offset, size;
};
/// Returns slice number i of n of a vector of so many numbers.
Slice slice_of(std::size_t size, std::size_t i, std::size_t n);

/// A server's part of one bucket: where it is in the model, and from where on in the server's own vector.
struct Stripe {
  Slice model;
  std::size_t at;
};
/// The parts that server i of n keeps, in the order of the model.
///
/// Bucket by bucket, the numbers of the model are counted as if dealt to the servers in turn. So a server has as many
/// of each bucket as of any other, or one more or less, and so it is over all. What it has of a bucket is one run.
class Stripes {
 public:
  Stripes(const std::vector<Bucket>& buckets, std::size_t i, std::size_t n);

  /// One for each bucket, in their order. It is empty where a bucket has fewer numbers than there are servers.
  const Stripe& of(std::size_t bucket) const { return stripes_[bucket]; }
  std::size_t buckets() const { return stripes_.size(); }
  std::size_t size() const { return size_; }
  /// How many of them lie before that place of the model.
  std::size_t before(std::size_t place) const;

  /// The server's own vector of a model or a gradient. A sparse one is of one bucket.
  Payload taken(const Payload& whole) const;
  /// Writes the server's own vector to where it belongs.
  void put(const Payload& own, Vec& whole) const;

 private:
  std::vector<Stripe> stripes_;
  std::size_t size_ = 0;
};

}  // namespace hopbench
