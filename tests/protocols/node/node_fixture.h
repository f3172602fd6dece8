// A node on a runtime that plays a script: what arrives when. Nothing but the test decides what happens.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/base/record/event.h"
#include "backends/base/record/rank_record.h"
#include "protocols/node/node.h"

namespace hopbench {

using std::chrono::milliseconds;
inline Time at_ms(std::int64_t ms) { return Time{} + milliseconds(ms); }

/// Time passes in `await` and `occupy` only; arrivals come at their times. A wait that says how many messages it needs
/// is held to it: with fewer, and nobody's departure, it may not hold, for a real runtime would not look.
class ScriptedRuntime : public Runtime {
 public:
  Time now() const override { return now_; }
  void post(int to, Message message) override { posted.emplace_back(to, std::move(message)); }
  bool await(const Ready& ready, Time deadline, const char* why, int messages) override {
    if (ready()) return true;
    const std::int64_t wanted = arrived_ + messages;
    departed_ = false;
    while (true) {
      if (arrivals.empty() || arrivals.front().first > deadline) {
        if (deadline == kNever) throw trial_error(std::string("nothing comes any more: ") + why);
        now_ = deadline;
        return false;
      }
      pass_to(arrivals.front().first);
      if (!ready()) continue;
      EXPECT_TRUE(departed_ || arrived_ >= wanted) << "a real runtime would not have looked: " << why;
      return true;
    }
  }
  Occupied occupy(Work work) override {
    const Time start = now_;
    if (before_job) before_job();
    if (work.job) work.job([&](int i) { reached.push_back(i); });
    if (after_job) after_job();
    for (const Work::Milestone& milestone : work.milestones) {
      pass_to(start + scaled(work.cost, milestone.at));
      milestone.then();
    }
    pass_to(start + work.cost);
    works.push_back(std::move(work));
    const Duration took = now_ - start;
    return {.took = took, .late = took - works.back().cost, .overran = overran};
  }
  void spawn(std::function<void()> strand) override { spawned.push_back(std::move(strand)); }

  void arrives(std::int64_t ms, int from, Kind kind, Iter k, Words words = {}) {
    Message message;
    message.from = from;
    message.kind = kind;
    message.iter = k;
    message.words = words;
    message.body = Vec::from_host(std::vector<float>{float(from)}).share();
    arrivals.emplace_back(at_ms(ms), message);
  }

  std::vector<std::pair<int, Message>> posted;
  std::deque<std::pair<Time, Message>> arrivals;
  std::vector<Work> works;
  std::vector<int> reached;
  std::vector<std::function<void()>> spawned;
  std::function<void()> before_job, after_job;
  bool overran = false;

 private:
  void pass_to(Time then) {
    for (now_ = std::max(now_, then); !arrivals.empty() && arrivals.front().first <= now_; arrivals.pop_front()) {
      ++arrived_;
      departed_ = departed_ || arrivals.front().second.kind >= kServing;
      mailbox.put(arrivals.front().second);
    }
  }
  Time now_{};
  std::int64_t arrived_ = 0;
  bool departed_ = false;  // somebody, since the wait began
};

/// Four parameters in two buckets; the gradient is x itself, plus the position of its first sample.
class FakeWorkload : public Workload {
 public:
  const WorkloadSpec& spec() const override { return spec_; }
  std::size_t size() const override { return 4; }
  std::size_t trainable() const override { return trained; }
  std::size_t trained = 4;
  Space& space() const override { return host_space(); }
  Vec initial() const override { return Vec::from_host(std::vector<float>{1, 2, 3, 4}); }
  const std::vector<Bucket>& buckets() const override { return buckets_; }
  double flops_per_sample() const override { return 1; }
  float gradient(const Payload& x, int worker, std::uint64_t first, int count, Vec& g,
                 const std::function<void(int)>& done) override {
    asked.push_back({worker, first, count});
    for (int i = 0; i < 4; ++i) g.mutable_data()[i] = x.data()[i] + float(first);
    done(0);
    done(1);
    return 0.5f;
  }
  Evaluation evaluate(const Payload&) override { return {}; }
  std::size_t part_size(int) const override { return 100; }

  struct Asked {
    int worker;
    std::uint64_t first;
    int count;
    bool operator==(const Asked&) const = default;
  };
  std::vector<Asked> asked;

 private:
  WorkloadSpec spec_{.batch = 10};
  std::vector<Bucket> buckets_ = {{2, 2, 0.6}, {0, 2, 1.0}};
};

class Recorder : public Observer {
 public:
  void on(const Event& event) override { events.push_back(event); }
  std::vector<Event> of(EventKind kind) const {
    std::vector<Event> found;
    for (const Event& event : events) {
      if (event.what == kind) found.push_back(event);
    }
    return found;
  }
  std::vector<Event> events;
};

class NodeTest : public testing::Test {
 protected:
  NodeTest() {
    options.workers = 5;
    options.graph = &graph;
    options.costs.gradient = milliseconds(10);
    options.stop.iterations = 100;
    protocol.body = [](Node&, const KnobValues&) {};
    options.protocol = &protocol;
    runtime.observer = &seen;
  }
  /// Returns the node of rank 0, with the options as they stand.
  Node& node() {
    if (node_ == nullptr) node_ = std::make_unique<Node>(runtime, *work, options);
    return *node_;
  }

  ScriptedRuntime runtime;
  FakeWorkload workload;
  Workload* work = &workload;
  Recorder seen;
  Topology graph = make_topology("complete", 5);
  Protocol protocol{.name = "test", .summary = "", .paper = "", .knobs = {}, .body = nullptr, .reading = ""};
  NodeOptions options;

 private:
  std::unique_ptr<Node> node_;
};

}  // namespace hopbench
