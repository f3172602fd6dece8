#include "protocols/node/micro_batches.h"

#include <gtest/gtest.h>

#include "tests/cluster.h"

namespace hopbench {
namespace {

int micro_batches_wanted = 0;  // micro-batches
std::vector<int> samples_seen;
double difference_seen = 0;

void cut_body(Node& self, const KnobValues& knobs) {
  Vec x = self.initial();
  Optimizer optimizer = self.optimizer(x.size());
  for (Iter k = 0; self.running(k); ++k) {
    self.enter(k);
    const Gradient whole = self.gradient(x, k);
    int asked = 0;
    const CutGradient cut =
        gradient_in_parts(self, x, k, knobs.integer("parts"), [&] { return ++asked < micro_batches_wanted; });
    samples_seen.push_back(cut.samples);
    EXPECT_EQ(cut.whole, cut.samples == self.batch());
    if (cut.whole) {
      Vec difference = cut.values;
      difference.axpy(-1, share(whole.values));
      difference_seen = std::max(difference_seen, difference.norm() / whole.values.norm());
    } else {
      self.abandoned();
    }
    optimizer.step(x, share(whole.values), k);
    self.report(k + 1, x);
  }
}

const Protocol& in_micro_batches() {
  static const Protocol protocol{.name = "in_parts",
                                 .summary = "computes each gradient in micro-batches too",
                                 .paper = "none",
                                 .knobs = {parts_knob(4)},
                                 .body = cut_body,
                                 .reading = "none"};
  return protocol;
}

Cluster one_worker(int batch) {
  samples_seen.clear();
  difference_seen = 0;
  Cluster cluster{.nodes = 1, .topology = "complete", .iterations = 3, .keep_events = true};
  cluster.workload.batch = batch;
  return cluster;
}

TEST(MicroBatches, AddUpToTheGradient) {
  micro_batches_wanted = 1000;
  for (const int parts : {1, 3, 4, 10, 100}) {
    Cluster cluster = one_worker(10);
    cluster.run(in_micro_batches(), {{"parts", parts}});
    EXPECT_EQ(samples_seen, (std::vector<int>{10, 10, 10})) << parts;
    EXPECT_LE(difference_seen, parts == 1 ? 0 : 1e-6) << parts;
    EXPECT_EQ(cluster.records[0].gradients, 3 + 3)
        << "all micro-batches are one gradient, and the whole one is another";
  }
}

TEST(MicroBatches, CanBeCutBetweenTwo) {
  micro_batches_wanted = 2;
  Cluster cluster = one_worker(10);
  cluster.run(in_micro_batches(), {{"parts", 4}});
  EXPECT_EQ(samples_seen, (std::vector<int>{5, 5, 5})) << "of 2, 3, 2, 3 samples the first two";
  EXPECT_EQ(cluster.records[0].samples, 3 * 10) << "without those that are abandoned";
  EXPECT_EQ(cluster.records[0].figures.at("samples abandoned"), 15);
  EXPECT_EQ(cluster.records[0].figures.at("gradients cut"), 3);
  EXPECT_EQ(cluster.records[0].gradients, 3) << "the whole ones";
  for (const IterationMark& mark : cluster.records[0].marks)
    EXPECT_EQ(mark.compute, std::chrono::milliseconds(10)) << "the time of what is thrown away is no computing";
  EXPECT_EQ(cluster.records[0].compute, std::chrono::milliseconds(45)) << "of the rank it is";
  EXPECT_EQ(cluster.records[0].compute, 3 * std::chrono::milliseconds(15));
}

}  // namespace
}  // namespace hopbench
