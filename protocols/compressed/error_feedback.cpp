// Error feedback: each worker sends a compressed gradient to all others, and adds what the compression left out to its
// next one. Seide, Fu, Droppo, Li, Yu: "1-Bit Stochastic Gradient Descent and its Application to Data-Parallel
// Distributed Training of Speech DNNs", Interspeech 2014; with the largest entries: Stich, Cordonnier, Jaggi:
// "Sparsified SGD with Memory", NeurIPS 2018; with signs: Karimireddy, Rebjock, Stich, Jaggi: "Error Feedback Fixes
// SignSGD and other Gradient Compression Schemes", ICML 2019.
//
// Rules enforced here, with Q a compressor (protocols/compressed/compress.h):
//   - d = gradient + error; the worker sends Q(d) to all others, and its error becomes d - Q(d);
//   - all step with the mean of all workers' Q(d). So nothing is lost for good: the sum of all steps and the errors'
//     mean is the sum of all mean gradients.
// Running statistics are sent as they are.
#include <span>

#include "protocols/compressed/compress.h"
#include "protocols/groups/groups.h"
#include "protocols/node/collectives.h"

namespace hopbench::compressed::error_feedback {

/// A worker's side of the compression: what it sends, and what it keeps for later.
class Feedback {
 public:
  Feedback(Node& self, const KnobValues& knobs, const Vec& like)
      : self_(self),
        q_(knobs.text("compressor"), knobs.real("share")),
        trained_(self.trainable()),
        error_(trained_, like.space()) {}

  /// Returns the message for a gradient: Q(gradient + error), and statistics.
  Vec message(const Vec& g, Iter k) {
    return self_.computed(bytes_of(6 * g.size()), [&] {
      error_.add(g.slice(0, trained_));
      const Vec packed = q_.pack(error_, self_.random(Purpose::kProtocol, k));
      error_.axpy(-1.0f, share(q_.unpack(share(packed), trained_)));
      const std::size_t statistics = g.size() - trained_;
      Vec all = Vec::uninitialised(packed.size() + statistics, g.space());
      all.assign(0, share(packed));
      if (statistics > 0) all.assign(packed.size(), g.slice(trained_, statistics));
      return all;
    });
  }

  /// Returns the mean of what the messages stand for, in the order given, of `size` numbers. A message of few entries
  /// is charged for those.
  Vec mean_of(std::span<const Payload> messages, std::size_t size) {
    std::size_t touched = size;
    for (const Payload& message : messages) touched += message.size() + 2 * (q_.keeps_few() ? message.size() : size);
    Vec mean(size, messages.front().space());
    const float weight = 1.0f / static_cast<float>(messages.size());
    self_.operate(bytes_of(touched), [&] {
      for (const Payload& message : messages) mean.axpy(weight, share(unpacked(message, size)));
    });
    return mean;
  }

 private:
  Vec unpacked(const Payload& message, std::size_t size) const {
    Vec all = Vec::uninitialised(size, message.space());
    const std::size_t statistics = size - trained_, packed = message.size() - statistics;
    all.assign(0, share(q_.unpack(message.slice(0, packed), trained_)));
    if (statistics > 0) all.assign(trained_, message.slice(packed, statistics));
    return all;
  }

  Node& self_;
  Compressor q_;
  std::size_t trained_;
  Vec error_;
};

void error_feedback(Node& self, const KnobValues& knobs) {
  Vec x = self.initial();
  Optimizer optimizer = self.optimizer(x.size());
  Feedback feedback(self, knobs, x);
  for (Iter k = 0; self.running(k); ++k) {
    self.enter(k);
    const Vec own = feedback.message(self.gradient(x, k).values, k);
    std::vector<Payload> messages;  // by worker
    for (const Message& from : exchanged(self, kPush, k, share(own), {}, "others' gradients"))
      messages.push_back(from.body);
    const Vec mean = feedback.mean_of(messages, x.size());
    self.averaged(k, self.workers(), 1.0 / static_cast<double>(messages.size()));
    optimizer.step(x, share(mean), k);
    for (const int worker : self.workers()) self.applied(worker, k);
    self.report(k + 1, x);
  }
}

const Protocol& error_feedback_protocol() {
  static const Protocol protocol{
      .name = "error_feedback",
      .summary = "all workers exchange compressed gradients; what is left out is added to the next one",
      .paper = "Karimireddy et al.: Error Feedback Fixes SignSGD and other Gradient Compression Schemes, ICML 2019",
      .family = Family::kCompressed,
      .knobs = {choice("compressor", {"top_k", "sign", "random_k", "qsgd", "none"}, "Q: how gradients are compressed",
                       "memory H"),
                knob("share", 0.01, 1e-6, 1, "of the entries that top_k and random_k keep", "memory M")},
      .body = error_feedback,
      .links = groups::all_pairs,
      .gap_bound = one_ahead,
      .source = Source::kMemory,
      .reading = "compressed/E1-E4"};
  return protocol;
}

}  // namespace hopbench::compressed::error_feedback
