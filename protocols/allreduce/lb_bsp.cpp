// LB-BSP: load-balanced bulk synchronous parallel, a "semi-dynamic" way with stragglers.
// Chen, Weng, Wang, Li, Li: "Semi-Dynamic Load Balancing: Efficient Distributed Learning in Non-Dedicated
// Environments", SoCC 2020.
//
// The rule enforced here: BSP, but at every barrier the batches are resized so that all workers finish together. Their
// sum is kept, and within an iteration nothing changes; so an update is BSP's.
//   CPU cluster  time is linear in the batch, speeds drift: b_i in proportion to the speed that is predicted of worker
//                i, from its past speeds and its host's load
//   GPU cluster  time is flat up to a saturation point, then linear up to the memory limit: an incremental search, a
//                step of samples from the straggler to the leader at a time (protocols/allreduce/allocation.h)
// The mean weighs each gradient by its batch, g = sum of b_i g_i / sum of b_i: that of all samples (balanced.h).
#include <algorithm>
#include <cmath>

#include "protocols/allreduce/allocation.h"
#include "protocols/allreduce/balanced.h"
#include "protocols/allreduce/pair_search.h"
#include "protocols/allreduce/prediction.h"

namespace hopbench::allreduce::lb_bsp {

BatchBounds bounds_of(int batch, const KnobValues& knobs) {
  return bounds_around(batch, 0, knobs.real("memory_limit"), knobs);
}

class InProportionToSpeed final : public BatchRule {
 public:
  InProportionToSpeed(Node& self, const KnobValues& knobs)
      : total_(std::int64_t{self.batch()} * self.worker_count()),
        bounds_(self.workers().size(), bounds_of(self.batch(), knobs)) {
    for (const int worker : self.workers()) {
      predictors_.push_back(make_speed_predictor(knobs.text("predictor"), knobs.real("ema_weight"),
                                                 self.random(Purpose::kProtocol, worker)));
    }
  }

  void observe(std::span<const Timing> timings) override {
    for (std::size_t i = 0; i < timings.size(); ++i) predictors_[i]->observe(timings[i].speed(), timings[i].load);
  }

  std::vector<int> batches() override {
    speeds_.clear();
    for (const auto& predictor : predictors_) speeds_.push_back(predictor->predict());
    batches_ = proportional(total_, speeds_, bounds_);
    return batches_;
  }

  double expected_seconds(int worker) const override {
    const auto i = static_cast<std::size_t>(worker);
    return batches_[i] / speeds_[i];
  }

  double bytes() const override {
    double sum = 0;
    for (const auto& predictor : predictors_) sum += predictor->bytes();
    return sum;
  }

 private:
  std::int64_t total_;
  std::vector<BatchBounds> bounds_;
  std::vector<std::unique_ptr<SpeedPredictor>> predictors_;
  std::vector<double> speeds_;
  std::vector<int> batches_;
};

class BySearch final : public BatchRule {
 public:
  BySearch(Node& self, const KnobValues& knobs)
      : search_(std::vector<int>(self.workers().size(), self.batch()),
                {.window = knobs.integer("window"),
                 .step = std::max(1, int(std::lround(knobs.real("step") * self.batch()))),
                 .window_growth = knobs.real("window_growth"),
                 .halve_on_rise = knobs.flag("halve_on_rise"),
                 .reopen = knobs.real("reopen"),
                 .bounds = bounds_of(self.batch(), knobs)}) {}

  void observe(std::span<const Timing> timings) override {
    std::vector<double> seconds;
    for (const Timing& timing : timings) seconds.push_back(timing.seconds);
    search_.observe(seconds);
  }
  std::vector<int> batches() override { return search_.batches(); }

 private:
  PairSearch search_;
};

void lb_bsp(Node& self, const KnobValues& knobs) {
  balanced_bsp(self, knobs, [](Node& manager, const KnobValues& k) -> std::unique_ptr<BatchRule> {
    if (k.text("form") == "gpu") return std::make_unique<BySearch>(manager, k);
    return std::make_unique<InProportionToSpeed>(manager, k);
  });
}

std::string note(const Setting& setting) {
  if (setting.knobs.text("form") != "gpu" || setting.knobs.given("reopen")) return "";
  return "its search begins anew when a worker becomes slower; that is new, and reopen = 0 is as before";
}

// Recalled with little confidence: the search's window and step. The predictors are narx, the paper's, and textbook
// ones.
bool experimental(const KnobValues& knobs) { return knobs.text("form") == "gpu"; }

const Protocol& lb_bsp_protocol() {
  static const Protocol protocol = with_balanced_batches(
      {.name = "lb_bsp",
       .summary = "BSP with batches resized at every barrier so that all workers finish together; their sum is kept",
       .paper = "Chen, Weng, Wang, Li, Li: Semi-Dynamic Load Balancing, SoCC 2020",
       .family = Family::kAllReduce,
       .knobs =
           {choice("form", {"cpu", "gpu"}, "cpu: in proportion to predicted speeds; gpu: incremental search", "paper"),
            {"predictor", "ema", 0, 0, {"last", "ema", "narx"}, "cpu: of a worker's next speed", "narx: paper; ours"},
            knob("ema_weight", 0.2, 0.001, 1, "cpu, ema: weight of the newest speed", "ours"),
            knob("window", 10, 1, 100'000, "gpu: iterations between moves (W0)", "memory L"),
            knob("step", 0.05, 0.0001, 1, "gpu: samples moved at first (D0), in first batches", "memory L"),
            knob("window_growth", 2.0, 1, 100, "gpu: the window is so many times longer at each halving", "ours"),
            knob("halve_on_rise", true, "gpu: the step halves also when the largest time rose", "ours"),
            knob("reopen", 0.1, 0, 100,
                 "gpu: the search begins anew once a worker's slowness makes the largest time so much longer than its "
                 "least; 0: never",
                 "ours"),
            knob("memory_limit", 1000.0, 1, 1000, "largest batch that fits (x_o), in first batches", "memory H")},
       .body = lb_bsp,
       .note = note,
       .reads_load = [](const KnobValues& k) { return k.text("form") == "cpu" && k.text("predictor") == "narx"; },
       .batches = [](const Setting& s) { return balanced_batches(s, bounds_of(s.batch, s.knobs)); },
       .source = Source::kAbstractAndCode,
       .reading = "lb_bsp/constant-sum",
       .experimental = experimental});
  return protocol;
}

}  // namespace hopbench::allreduce::lb_bsp
