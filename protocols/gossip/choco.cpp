// CHOCO-SGD: decentralised SGD that sends compressed differences to what the neighbours already know.
// Koloskova, Stich, Jaggi: "Decentralized Stochastic Optimization and Gossip Algorithms with Compressed Communication",
// ICML 2019; for deep learning: Koloskova, Lin, Stich, Jaggi, ICLR 2020.
//
// Rules enforced here:
//   - besides its model x_i, a worker has a public one, x^_i, and each neighbour keeps a copy of it. The copies are
//     equal: they start as the initial model, and only q_i = Q(x_i - x^_i), the same on all, is added to them;
//   - an iteration is a local step, then x_i += gamma * sum of W_ij (x^_j - x^_i), then q_i is sent and added to x^_i;
//   - W is symmetric and its rows sum to 1, so averaging keeps the mean of all x_i, however coarse Q is.
//
// Messages of iteration k - 1 are needed only for the averaging of k, so they travel while the gradient is computed.
#include <algorithm>
#include <map>

#include "protocols/compressed/compress.h"
#include "protocols/gossip/mixing.h"
#include "protocols/groups/group_average.h"
#include "protocols/node/collectives.h"
#include "protocols/node/node.h"

namespace hopbench::gossip::choco {

constexpr double kAuthorsStep = 0.45;  // for sign on a ring of 8

/// Returns the consensus step size, with a default if none is given. If only a share of the entries is sent, an entry
/// of a public model waits 1 / share iterations, and models must not move past each other meanwhile. The largest
/// entries wait for a shorter time than random ones.
double step_size(const KnobValues& knobs) {
  if (const double given = knobs.real("gamma"); given > 0) return given;
  const std::string& compressor = knobs.text("compressor");
  const double per_share = compressor == "top_k" ? 1 : compressor == "random_k" ? 0.5 : 0;
  return per_share > 0 ? std::min(kAuthorsStep, per_share * knobs.real("share")) : kAuthorsStep;
}

/// The public models x^ of a worker and of its neighbours, which are the same on all of them.
class PublicModels {
 public:
  PublicModels(Node& self, const KnobValues& knobs)
      : self_(self), q_(knobs.text("compressor"), knobs.real("share")), gamma_(static_cast<float>(step_size(knobs))) {
    for (int peer : self.neighbours()) models_[peer] = self.initial();
    models_[self.rank] = self.initial();
  }

  /// Returns x + gamma * sum of W_ij (x^_j - x^_i), with the public models as of iteration `of`.
  Vec averaged(const Vec& x, Iter k, Iter of) {
    std::vector<Term> terms = {{.sender = self_.rank, .tag = k, .value = share(x)}};
    float given = 0;
    for (int peer : self_.neighbours()) {
      const float w = gamma_ * static_cast<float>(metropolis_weight(self_.graph(), self_.rank, peer));
      terms.push_back({.sender = peer, .tag = of, .value = share(models_[peer]), .weight = w});
      given += w;
    }
    if (given > 0) {
      terms.push_back({.sender = self_.rank, .tag = of, .value = share(models_[self_.rank]), .weight = -given});
    }
    return sum(self_, k, std::move(terms));
  }

  /// Returns Q(x - x^) of this worker.
  Vec difference(const Vec& x, Iter k) {
    return self_.computed(bytes_of(3 * x.size()), [&] {
      Vec d = x;
      d.axpy(-1.0f, share(models_[self_.rank]));
      return q_.pack(d, self_.random(Purpose::kProtocol, k));
    });
  }

  void add(int owner, const Payload& q) {
    Vec& model = models_[owner];
    self_.operate(bytes_of(2 * model.size() + q.size()), [&] { model.add(share(q_.unpack(q, model.size()))); });
  }

 private:
  Node& self_;
  compressed::Compressor q_;
  float gamma_;
  std::map<int, Vec> models_;
};

void choco(Node& self, const KnobValues& knobs) {
  const std::vector<int>& neighbours = self.neighbours();
  PublicModels known(self, knobs);
  Vec x = self.initial();
  Optimizer optimizer = self.optimizer(x.size());

  for (Iter k = 0; self.running(k); ++k) {
    self.enter(k);
    groups::local_step(self, x, optimizer, k);
    if (k > 0) {
      for (const Message& q :
           self.gather(neighbours, int(neighbours.size()), is(kParams, k - 1), "differences of neighbours")) {
        known.add(q.from, q.body);
      }
    }
    x = known.averaged(x, k, k - 1);
    const Payload q = share(known.difference(x, k));
    for (int peer : neighbours) self.send(peer, kParams, k, q);
    known.add(self.rank, q);
    self.report(k + 1, x);
  }
}

std::string note(const Setting& setting) {
  if (step_size(setting.knobs) == kAuthorsStep || setting.knobs.given("gamma")) return "";
  return "its step size follows from the share; that is new, and gamma = 0.45, which diverges for small shares, is as "
         "before";
}

const Protocol& choco_protocol() {
  static const Protocol protocol{
      .name = "choco",
      .summary = "decentralised SGD that sends compressed differences to what the neighbours know",
      .paper =
          "Koloskova, Stich, Jaggi: Decentralized Stochastic Optimization and Gossip Algorithms with Compressed "
          "Communication, ICML 2019",
      .family = Family::kGossip,
      .knobs = {choice("compressor", compressed::Compressor::methods(), "Q: how differences are compressed", "code"),
                knob("share", 0.01, 1e-6, 1, "of the entries that top_k and random_k keep", "ours"),
                knob("gamma", 0.0, 0, 1,
                     "consensus step size; 0: the share for top_k, half of it for random_k, at most 0.45, which is "
                     "that of all others",
                     "code; ours")},
      .body = choco,
      .refuse = not_symmetric,
      .note = note,
      .gap_bound = [](const Setting& setting) -> std::optional<std::int64_t> { return 2 * setting.graph.diameter(); },
      .source = Source::kAbstractAndCode,
      .reading = "choco/gossip-then-send"};
  return protocol;
}

}  // namespace hopbench::gossip::choco
