#include "protocols/allreduce/balanced.h"

#include <algorithm>
#include <cmath>

#include "protocols/allreduce/gradient_mean.h"
#include "protocols/groups/groups.h"
#include "protocols/node/collectives.h"
#include "protocols/server/pushes.h"
#include "protocols/server/server.h"

namespace hopbench::allreduce {
namespace balanced {

bool by_servers(const KnobValues& knobs) { return knobs.text("aggregation") == "servers"; }

void over_ring(Node& self, const KnobValues& knobs) {
  Vec x = self.initial();
  Optimizer optimizer = self.optimizer(x.size());
  GradientMean mean(self, knobs);
  Batches batches(self, 0);
  for (Iter k = 0; self.running(k); ++k) {
    if (self.returned()) take_state(self, self.peers(), k, x);
    self.enter(k);
    const Samples mine = batches.next(k);
    const float weight = float(mine.count) / float(self.batch());  // the mean over n of (n b_i / sum of b) g_i
    const Gradient g = mean.add(x, k, mine, weight);
    batches.report(k, g);
    optimizer.step(x, mean.result(), k);
    for (int worker : self.workers()) self.applied(worker, k);
    self.report(k + 1, x);
  }
}

void over_servers(Node& self, const KnobValues& knobs) {
  Vec x = self.initial();
  Batches batches(self, self.servers().front());
  server::Pushes pushes(self, knobs.flag("overlap"));
  for (Iter k = 0; self.running(k); ++k) {
    if (self.returned()) server::rejoin(self, k, x);
    self.enter(k);
    const Gradient g = pushes.gradient(x, k, k, batches.next(k));
    batches.report(k, g);
    pushes.push(k, g.values, {g.samples});
    x = server::pull_weights(self, k, x);
    self.report(k + 1, x);
  }
}

int servers_of(const Setting& setting) { return by_servers(setting.knobs) ? server::server_count(setting) : 0; }

std::vector<Edge> links_of(const Setting& setting) {
  if (by_servers(setting.knobs)) return server::server_links(setting);
  return groups::joined(GradientMean::links(setting),
                        groups::star_links(0, groups::all_workers(setting)));  // the manager
}

std::vector<Knob> all_knobs(std::vector<Knob> own) {
  std::vector<Knob> all = std::move(own);
  all.push_back(knob("warmup_steps", 5, 0, 1'000'000, "iterations with equal batches at the start", "code"));
  all.push_back(choice("aggregation", {"allreduce", "servers"}, "of the gradients: ring or servers", "ours"));
  all.push_back(server::servers_knob());
  all.push_back(knob("multiple", 1, 1, 1024, "batches are multiples of so many samples; see docs/gpu.md", "ours"));
  for (const Knob& knob : GradientMean::knobs()) all.push_back(knob);
  return all;
}

std::string refuse(const Setting& setting) {
  const int multiple = setting.knobs.integer("multiple");
  if (setting.batch % multiple == 0) return "";
  return "multiple = " + std::to_string(multiple) + " does not divide model.batch = " + std::to_string(setting.batch) +
         ": take a divisor, or another batch";
}

}  // namespace balanced

void balanced_bsp(Node& self, const KnobValues& knobs, const MakeRule& make_rule) {
  using namespace balanced;
  if (self.rank == (by_servers(knobs) ? self.servers().front() : 0)) {
    const std::shared_ptr<BatchRule> rule = make_rule(self, knobs);  // the strand outlives this body
    self.spawn([&self, rule, warmup = knobs.integer("warmup_steps")] { manage_batches(self, *rule, warmup); });
  }
  if (!by_servers(knobs)) return over_ring(self, knobs);
  return self.is_server() ? server::serve_bsp(self, true) : over_servers(self, knobs);
}

BatchBounds bounds_around(int batch, double low, double high, const KnobValues& knobs) {
  const int multiple = knobs.integer("multiple");
  return {.low = std::max(1, int(std::ceil(low * batch / multiple))) * multiple,
          .high = int(high * batch) / multiple * multiple,
          .multiple = multiple};
}

BatchBounds balanced_batches(const Setting& setting, BatchBounds bounds) {
  const std::int64_t others = setting.workers - 1;
  bounds.high = int(std::min<std::int64_t>(bounds.high, setting.batch + others * (setting.batch - bounds.low)));
  return bounds;
}

Protocol with_balanced_batches(Protocol own) {
  using namespace balanced;
  own.knobs = all_knobs(std::move(own.knobs));
  own.extra_ranks = servers_of;
  own.links = links_of;
  own.refuse = refuse;
  own.follows_times = always<true>;
  own.moves_data = always<true>;
  own.changes = always<Changes::kRounding>;
  own.gap_bound = one_ahead;
  return own;
}

}  // namespace hopbench::allreduce
