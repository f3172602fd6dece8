// Synchronous data-parallel SGD by all-reduce: every worker applies the mean of all workers' gradients.
// Ring all-reduce: Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 2009
// (others: protocols/halving_doubling.h, protocols/hierarchical.h); overlap with the backward pass: Li et al., "PyTorch
// Distributed", VLDB 2020.
//
// Two rules are enforced here:
//   - a worker finishes iteration k with the mean of everybody's iteration-k gradients, the same bits everywhere: the
//     replicas never differ;
//   - with `overlap`, a bucket of the gradient is reduced as soon as it is complete, last layer first, while the rest
//     of the backward pass goes on; buckets are reduced one after the other, in the same order on every rank.
#include <deque>
#include <memory>

#include "protocols/collectives.h"
#include "protocols/groups.h"
#include "protocols/halving_doubling.h"
#include "protocols/hierarchical.h"
#include "protocols/node.h"

namespace hopbench {
namespace {

/// Neighbouring buckets that are reduced as one; complete when the model's bucket `last` is.
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

/// What the two strands of a worker share: the body adds pieces of its gradient, the other strand reduces them.
struct Reduction {
  struct Part {
    Iter k = 0;
    std::size_t offset = 0;
    Payload mine;
  };
  std::deque<Part> waiting;
  Vec mean;
  std::size_t reduced = 0;  // pieces of this iteration
};

constexpr const char* kWhy = "gradients of the other workers";

void reduce_forever(Node& self, const std::string& algorithm, Reduction& reduction) {
  const Division hosts = by_host(self);
  for (;;) {
    self.until([&] { return !reduction.waiting.empty(); }, "a bucket of the gradient");
    const Reduction::Part part = std::move(reduction.waiting.front());
    reduction.waiting.pop_front();
    if (algorithm == "halving_doubling") {
      halving_doubling_mean(self, self.workers(), part.k, part.mine, reduction.mean, part.offset, kWhy);
    } else if (algorithm == "hierarchical") {
      hierarchical_mean(self, hosts, part.k, part.mine, reduction.mean, part.offset, kWhy);
    } else {
      ring_mean(self, self.workers(), part.k, part.mine, reduction.mean, part.offset, kWhy);
    }
    ++reduction.reduced;
  }
}

void allreduce(Node& self, const KnobValues& knobs) {
  const std::size_t bytes = static_cast<std::size_t>(knobs.integer("bucket_bytes"));
  Vec x = self.initial();
  Optimizer optimizer = self.optimizer(x.size());
  const std::vector<Piece> pieces = merge(self.buckets(), knobs.flag("overlap") ? bytes / sizeof(float) : x.size());
  const auto reduction = std::make_shared<Reduction>();  // the strand outlives this body
  reduction->mean = Vec::uninitialised(x.size(), x.space());
  self.spawn([&self, reduction, how = knobs.text("algorithm")] { reduce_forever(self, how, *reduction); });

  for (Iter k = 0; self.running(k); ++k) {
    self.enter(k);
    reduction->reduced = 0;
    std::size_t bucket = 0, piece = 0;
    self.gradient(x, k, {}, [&](const Bucket&, const Vec& so_far) {
      if (bucket++ != pieces[piece].last) return;
      const auto [offset, size, last] = pieces[piece++];
      reduction->waiting.push_back({k, offset, so_far.slice(offset, size)});
    });
    self.until([&] { return reduction->reduced == pieces.size(); }, kWhy);
    optimizer.step(x, share(reduction->mean), k);
    for (int worker : self.workers()) self.applied(worker, k);
    self.report(k + 1, x);
  }
}

std::vector<Edge> links(const Setting& setting) {
  const std::string& algorithm = setting.knobs.text("algorithm");
  if (algorithm == "hierarchical") return hierarchical_links(by_host(setting));
  const Group everybody = all_workers(setting);
  return algorithm == "ring" ? ring_links(everybody) : halving_doubling_links(everybody);
}

}  // namespace

const Protocol& allreduce_protocol() {
  static const Protocol protocol{
      .name = "allreduce",
      .summary = "synchronous SGD: all-reduce of the gradients, overlapping the backward pass",
      .paper = "Patarasuk, Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations, JPDC 2009",
      .knobs =
          {{.name = "algorithm",
            .fallback = "ring",
            .choices = {"ring", "halving_doubling", "hierarchical"},
            .meaning = "hierarchical: summed on each host, along a ring of the hosts, handed out on each host",
            .source = "JPDC 2009, IJHPCA 2005, Jia 2018"},
           {.name = "overlap",
            .fallback = true,
            .meaning = "reduce buckets while the backward pass goes on, as PyTorch DDP does; false: afterwards, as one",
            .source = "VLDB 2020"},
           {.name = "bucket_bytes",
            .fallback = std::int64_t{1} << 20,
            .low = 4,
            .high = 1 << 30,
            .meaning =
                "neighbouring layers are merged into buckets of at most this size (DDP: 25 MB for far larger models)",
            .source = "ours"}},
      .body = allreduce,
      .links = links,
      .source = Source::kMemory,
      .reading = "allreduce/ring"};
  return protocol;
}

}  // namespace hopbench
