#include "protocols/allreduce/gradient_mean.h"

#include <deque>

#include "protocols/allreduce/mean_algorithms.h"
#include "protocols/groups/groups.h"
#include "protocols/node/collectives.h"

namespace hopbench::allreduce {
namespace gradient_mean {

/// A run of neighbouring buckets that are reduced as one. It is complete when the model's bucket `last` is.
struct Piece {
  std::size_t offset = 0, size = 0, last = 0;
};

std::vector<Piece> merge(const std::vector<Bucket>& buckets, std::size_t floats) {
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const Bucket& b = buckets[i];
    Piece* piece = pieces.empty() ? nullptr : &pieces.back();
    const bool below = piece != nullptr && b.offset + b.size == piece->offset;
    const bool above = piece != nullptr && piece->offset + piece->size == b.offset;
    if ((below || above) && piece->size + b.size <= floats) {
      *piece = {below ? b.offset : piece->offset, piece->size + b.size, i};
    } else {
      pieces.push_back({b.offset, b.size, i});
    }
  }
  return pieces;
}

constexpr const char* kWhy = "gradients of the other workers";

}  // namespace gradient_mean

/// The state shared by a worker's two strands: the body adds pieces of its gradient, the other strand reduces them.
struct GradientMean::Reduction {
  struct Part {
    Iter k = 0;
    std::size_t offset = 0;
    Payload mine;
    float weight = 1;
  };
  std::vector<gradient_mean::Piece> pieces;
  std::deque<Part> waiting;
  Vec mean;
  std::size_t reduced = 0;  // pieces of this iteration

  void forever(Node& self, const std::string& algorithm) {
    using namespace gradient_mean;
    const groups::Division hosts = groups::by_host(self);
    for (;;) {
      self.until([&] { return !waiting.empty(); }, "a bucket of the gradient");
      const Part part = std::move(waiting.front());
      waiting.pop_front();
      const Payload mine = part.weight == 1 ? part.mine : share(combined(self, {{part.weight, part.mine}}));
      if (algorithm == "halving_doubling") {
        halving_doubling_mean(self, self.workers(), part.k, mine, mean, part.offset, kWhy);
      } else if (algorithm == "hierarchical") {
        hierarchical_mean(self, hosts, part.k, mine, mean, part.offset, kWhy);
      } else {
        ring_mean(self, self.workers(), part.k, mine, mean, part.offset, kWhy);
      }
      ++reduced;
    }
  }
};

GradientMean::GradientMean(Node& self, const KnobValues& knobs)
    : self_(self), reduction_(std::make_shared<Reduction>()) {
  const Vec like = self.initial();
  const auto floats = static_cast<std::size_t>(knobs.integer("bucket_bytes")) / sizeof(float);
  reduction_->pieces = gradient_mean::merge(self.buckets(), knobs.flag("overlap") ? floats : like.size());
  reduction_->mean = Vec::uninitialised(like.size(), like.space());
  self.spawn([&self, reduction = reduction_, how = knobs.text("algorithm")] { reduction->forever(self, how); });
}

Gradient GradientMean::add(const Vec& x, Iter k, Samples samples, float weight) {
  Reduction& reduction = *reduction_;
  reduction.reduced = 0;
  std::size_t bucket = 0, piece = 0;
  return self_.gradient(x, k, samples, [&](const Bucket&, const Vec& so_far) {
    if (bucket == 0 && so_far.sparse()) reduction.mean = Vec::of_parts(so_far.size(), share(so_far));
    if (bucket++ != reduction.pieces[piece].last) return;
    const auto [offset, size, last] = reduction.pieces[piece++];
    reduction.waiting.push_back({k, offset, so_far.slice(offset, size), weight});
  });
}

Payload GradientMean::result() {
  self_.until([&] { return reduction_->reduced == reduction_->pieces.size(); }, gradient_mean::kWhy);
  return share(reduction_->mean);
}

std::vector<Edge> GradientMean::links(const Setting& setting) {
  const std::string& algorithm = setting.knobs.text("algorithm");
  if (algorithm == "hierarchical") return hierarchical_links(groups::by_host(setting));
  const groups::Group everybody = groups::all_workers(setting);
  return algorithm == "ring" ? groups::ring_links(everybody) : halving_doubling_links(everybody);
}

std::vector<Knob> GradientMean::knobs() {
  return {choice("algorithm", {"ring", "halving_doubling", "hierarchical"},
                 "hierarchical: summed on each host, along a ring of the hosts, handed out on each host",
                 "JPDC 2009, IJHPCA 2005, Jia 2018"),
          knob("overlap", true,
               "reduce buckets while the backward pass goes on, as PyTorch DDP does; false: afterwards, as one",
               "VLDB 2020"),
          knob("bucket_bytes", 1 << 20, 4, 1 << 30,
               "neighbouring layers are merged into buckets of at most this size (DDP: 25 MB for far larger models)",
               "ours")};
}

}  // namespace hopbench::allreduce
