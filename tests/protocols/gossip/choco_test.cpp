#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "protocols/compressed/compress.h"
#include "tests/cluster.h"

namespace hopbench {
namespace {

using compressed::Compressor;

Vec some_vector(std::size_t n) {
  Random random({.seed = 3});
  std::vector<float> x;
  for (std::size_t i = 0; i < n; ++i) x.push_back(float(random.normal()));
  return Vec::from_host(x);
}

Vec through(const Compressor& q, const Vec& x, std::uint64_t seed = 1) {
  return q.unpack(share(q.pack(x, Random({.seed = seed}))), x.size());
}

// |Q(x) - x|^2 / |x|^2
double error_of(const Vec& qx, const Vec& x) {
  Vec d = qx;
  d.axpy(-1.0f, share(x));
  return d.norm() * d.norm() / (x.norm() * x.norm());
}

TEST(Compressor, SendsAsMuchAsItsMethodNeeds) {
  const Vec x = some_vector(1000);
  const auto floats = [&](const char* method, double share) {
    return Compressor(method, share).pack(x, Random(RandomKey{})).size();
  };
  EXPECT_EQ(floats("none", 1), 1000u);
  EXPECT_EQ(floats("sign", 1), 1u + 32);      // a bit an entry
  EXPECT_EQ(floats("qsgd", 1), 1u + 250);     // a byte an entry
  EXPECT_EQ(floats("top_k", 0.01), 2u * 10);  // values and places
  EXPECT_EQ(floats("random_k", 0.01), 10u + 1);
  EXPECT_EQ(floats("top_k", 1e-6), 2u) << "at least one";
}

TEST(Compressor, KeepsWhatItSaysItKeeps) {
  const Vec x = Vec::from_host(std::vector<float>{1, -4, 0.5, 3, -2, 0});
  EXPECT_EQ(through(Compressor("none", 1), x).to_host(), x.to_host());
  EXPECT_EQ(through(Compressor("top_k", 0.5), x).to_host(), (std::vector<float>{0, -4, 0, 3, -2, 0}));
  const float mean = 10.5f / 6;
  EXPECT_EQ(through(Compressor("sign", 1), x).to_host(), (std::vector<float>{mean, -mean, mean, mean, -mean, mean}));
  const std::vector<float> kept = through(Compressor("random_k", 0.5), x).to_host();
  EXPECT_GE(std::count(kept.begin(), kept.end(), 0.0f), 3);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_TRUE(kept[i] == 0 || kept[i] == x.to_host()[i]);
}

// The paper asks of Q: E |Q(x) - x|^2 <= (1 - omega) |x|^2 with omega > 0.
TEST(Compressor, Contracts) {
  const Vec x = some_vector(4000);
  const double top = error_of(through(Compressor("top_k", 0.1), x), x);
  EXPECT_LT(top, 0.9);
  double random_k = 0, qsgd = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    random_k += error_of(through(Compressor("random_k", 0.1), x, seed), x) / 50;
    qsgd += error_of(through(Compressor("qsgd", 1), x, seed), x) / 50;
  }
  EXPECT_NEAR(random_k, 0.9, 0.02) << "1 - k / n";
  const double omega = 1 / (1 + std::min(4000.0 / (127 * 127), std::sqrt(4000.0) / 127));
  EXPECT_LT(qsgd, 1 - omega);
  // For a normal vector |x|_1^2 / n is 2 / pi of |x|_2^2.
  EXPECT_NEAR(error_of(through(Compressor("sign", 1), x), x), 1 - 2 / 3.14159265, 0.02);
}

TEST(Compressor, LeavesZeroAlone) {
  const Vec zero(70);
  for (const std::string& method : Compressor::methods())
    EXPECT_EQ(through(Compressor(method, 0.1), zero).norm(), 0) << method;
}

// With equal starts, Q the identity and gamma 1 it is D-PSGD.
TEST(Choco, WithoutCompressionIsDPsgd) {
  Cluster choco{.nodes = 8, .slow = {{2, 3.0}}, .topology = "ring", .iterations = 25}, dpsgd = choco;
  choco.run("choco", {{"compressor", std::string("none")}, {"gamma", 1.0}});
  dpsgd.run("dpsgd");
  for (int w = 0; w < 8; ++w) {
    const std::vector<float> a = Vec::copy_of(choco.params(w)).to_host(), b = Vec::copy_of(dpsgd.params(w)).to_host();
    for (std::size_t d = 0; d < a.size(); ++d) EXPECT_NEAR(a[d], b[d], 1e-4) << "worker " << w;
  }
}

// Copies of a public model that differed would move the mean.
TEST(Choco, KeepsTheMeanHoweverRoughTheCompression) {
  for (const std::string& method : Compressor::methods()) {
    for (const char* topology : {"ring", "star"}) {
      Cluster early{.nodes = 6, .topology = topology, .iterations = 12};
      early.optimizer.steps = {{10, 0.0f}};
      Cluster late = early;
      late.iterations = 60;
      const Knobs knobs = {{"compressor", method}, {"share", 0.2}, {"gamma", 0.1}};
      early.run("choco", knobs);
      late.run("choco", knobs);
      const std::vector<float> a = early.mean_model(), b = late.mean_model();
      for (std::size_t d = 0; d < a.size(); ++d) EXPECT_NEAR(a[d], b[d], 2e-5) << method << " on " << topology;
      EXPECT_EQ(early.broken() + late.broken(), "");
    }
  }
}

TEST(Choco, TendsToTheMeanByCompressedMessagesAlone) {
  for (const std::string& method : Compressor::methods()) {
    Cluster cluster{.nodes = 8, .topology = "ring", .iterations = 3000};
    cluster.optimizer.steps = {{10, 0.0f}};
    cluster.run("choco", {{"compressor", method}, {"share", 0.25}, {"gamma", 0.1}});
    const std::vector<float> mean = cluster.mean_model();
    for (int w = 0; w < 8; ++w) {
      const std::vector<float> x = Vec::copy_of(cluster.params(w)).to_host();
      for (std::size_t d = 0; d < x.size(); ++d) EXPECT_NEAR(x[d], mean[d], 1e-3) << method;
    }
  }
}

// With the defaults of the knobs, and as many numbers that a share of 0.01 means several.
TEST(Choco, ItsDefaultStepSizeDivergesWithNoCompressor) {
  const auto spread = [](const Cluster& cluster) {
    const std::vector<float> mean = cluster.mean_model();
    double most = 0;
    for (int w = 0; w < 8; ++w) most = std::max(most, distance(Vec::copy_of(cluster.params(w)).to_host(), mean));
    return most;
  };
  for (const std::string& method : Compressor::methods()) {
    for (const double share : {0.01, 0.1, 0.5}) {
      Cluster early{.nodes = 8, .topology = "ring", .iterations = 12};
      early.workload.size = 400;
      early.optimizer.steps = {{10, 0.0f}};
      Cluster late = early;
      late.iterations = 2000;
      early.run("choco", {{"compressor", method}, {"share", share}});
      late.run("choco", {{"compressor", method}, {"share", share}});
      EXPECT_LT(spread(late), spread(early)) << method << " " << share;
    }
  }
}

TEST(Choco, NotesTheChangedDefaultOfItsStepSize) {
  const Topology ring = make_topology("ring", 8);
  EXPECT_EQ(note_of("choco", ring), "");
  for (const char* few : {"top_k", "random_k"}) {
    EXPECT_NE(note_of("choco", ring, {{"compressor", std::string(few)}}).find("gamma = 0.45"), std::string::npos);
    EXPECT_EQ(note_of("choco", ring, {{"compressor", std::string(few)}, {"gamma", 0.1}}), "");
  }
}

TEST(Choco, ConvergesWithEveryCompressor) {
  Cluster reference{.nodes = 6, .topology = "ring", .iterations = 400};
  reference.run("allreduce");
  const double there = reference.loss(), initial = reference.initial_loss();
  for (const std::string& method : Compressor::methods()) {
    Cluster cluster{.nodes = 6, .slow = {{1, 2.0}}, .topology = "ring", .iterations = 400};
    cluster.run("choco", {{"compressor", method}, {"share", 0.25}, {"gamma", 0.2}});
    EXPECT_LT(cluster.loss() - there, 0.02 * (initial - there)) << method;
  }
}

TEST(Choco, PutsTheCompressedSizeOnTheWire) {
  Cluster cluster{.nodes = 4, .topology = "ring", .iterations = 10};
  cluster.workload.size = 640;
  cluster.run("choco");
  EXPECT_EQ(cluster.total(&RankRecord::bytes_sent), 4 * 2 * 10 * (kHeaderBytes + (1 + 20) * 4));
}

TEST(Choco, RefusesDirectedGraphs) {
  Cluster cluster{.nodes = 3, .edges = {{0, 1}, {1, 2}, {2, 0}}};
  EXPECT_THROW(cluster.run("choco"), Error);
}

}  // namespace
}  // namespace hopbench
