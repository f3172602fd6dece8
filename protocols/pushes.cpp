#include "protocols/pushes.h"

#include "protocols/server.h"
#include "protocols/shard.h"

namespace hopbench {

Gradient Pushes::gradient(const Vec& x, Iter k, Iter tag, Samples samples) {
  whole_ = !overlap_ || self_.buckets().size() == 1;
  if (whole_) return self_.gradient(x, k, samples);
  return self_.gradient(x, k, samples, [&](const Bucket& bucket, const Vec& so_far) {
    whole_ = so_far.sparse();
    if (!whole_ && &bucket != &self_.buckets().back()) send(kPart, tag, bucket, so_far, {});
  });
}

void Pushes::push(Iter tag, const Vec& g, Words words) {
  if (whole_) return push_gradient(self_, tag, g, words);
  send(kPush, tag, self_.buckets().back(), g, words);
}

/// Sends each server its part of the bucket. A push goes to all servers, even if a part is empty.
void Pushes::send(Kind kind, Iter tag, const Bucket& bucket, const Vec& g, const Words& words) {
  const std::vector<int>& servers = self_.servers();
  for (std::size_t i = 0; i < servers.size(); ++i) {
    const Slice part = common(slice_of(g.size(), i, servers.size()), bucket);
    if (part.size > 0) {
      self_.send(servers[i], kind, tag, g.slice(part.offset, part.size), words);
    } else if (kind == kPush) {
      self_.send(servers[i], kind, tag, {}, words);
    }
  }
}

Knob overlap_knob() {
  return {
      .name = "overlap",
      .fallback = false,
      .meaning =
          "push layer by layer while the backward pass goes on, which pays with few servers; false: afterwards, as one",
      .source = "ATC 2017"};
}

}  // namespace hopbench
