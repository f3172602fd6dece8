#include "protocols/server/pushes.h"

#include "protocols/server/server.h"

namespace hopbench::server {

Pushes::Pushes(Node& self, bool overlap) : self_(self), overlap_(overlap) {
  for (const int server : self.servers()) stripes_.push_back(stripes_at(self, server));
}

Gradient Pushes::gradient(const Vec& x, Iter k, Iter tag, Samples samples) {
  whole_ = !overlap_ || self_.buckets().size() == 1;
  if (whole_) return self_.gradient(x, k, samples);
  return self_.gradient(x, k, samples, [&](const Bucket& bucket, const Vec& so_far) {
    const auto b = std::size_t(&bucket - self_.buckets().data());
    if (b + 1 < self_.buckets().size()) send(kPart, tag, b, so_far, {});
  });
}

void Pushes::push(Iter tag, const Vec& g, Words words) {
  if (whole_) return push_gradient(self_, tag, g, words);
  send(kPush, tag, self_.buckets().size() - 1, g, words);
}

/// Sends each server its part of the bucket. A push goes to all servers, even if a part is empty.
void Pushes::send(Kind kind, Iter tag, std::size_t bucket, const Vec& g, const Words& words) {
  const std::vector<int>& servers = self_.servers();
  for (std::size_t i = 0; i < servers.size(); ++i) {
    const Slice part = stripes_[i].of(bucket).model;
    if (part.size > 0) {
      self_.send(servers[i], kind, tag, g.slice(part.offset, part.size), words);
    } else if (kind == kPush) {
      self_.send(servers[i], kind, tag, {}, words);
    }
  }
}

namespace pushes {

Message part_of(Node& self, const Message& push) {
  return self.recv(is_from(kPart, push.from, push.iter), "the parts of a gradient");
}

}  // namespace pushes

Payload joined(Node& self, const Stripes& stripes, const Message& push, Space& space) {
  if (push.body.size() == stripes.size()) return push.body;
  Vec all = Vec::uninitialised(stripes.size(), space);
  const std::size_t last = stripes.buckets() - 1;
  for (std::size_t b = 0; b < last; ++b) {
    if (stripes.of(b).model.size > 0) all.assign(stripes.of(b).at, pushes::part_of(self, push).body);
  }
  if (!push.body.empty()) all.assign(stripes.of(last).at, push.body);
  return share(all);
}

void drop_parts(Node& self, const Stripes& stripes, const Message& push) {
  if (push.body.size() == stripes.size()) return;
  for (std::size_t b = 0; b + 1 < stripes.buckets(); ++b) {
    if (stripes.of(b).model.size > 0) pushes::part_of(self, push);
  }
}

Knob overlap_knob() {
  return knob("overlap", true, "push layer by layer while the backward pass goes on; false: afterwards, as one",
              "ATC 2017");
}

}  // namespace hopbench::server
