// HALoS: a server in each region takes in its workers' local steps at once, and now and then tells a global server,
// which takes in the regions' at once. Kim, Li, Gandham, Baldonado, Gangidi, Balaji, Wang, Akella: "HALoS: Hierarchical
// Asynchronous Local SGD over Slow Networks for Geo-Distributed Large Language Model Training", ICML 2025.
//
// Rules enforced here. A region is a host, with w workers and a server; there are R of them:
//   - a worker makes H local steps, pushes x - x0 to its region's server, and goes on from that server's newest model;
//   - a region's server moves its model on arrival, by momentum SGD: m <- beta m + (x - x0) / w, model <- model + m;
//   - after every `accumulate` pushes it sends how far pushes have moved its model since it did so last, without
//     waiting;
//   - the global server moves its model on arrival, M <- beta M + moved / R, model <- model + M, and answers with it;
//   - the region's server then continues with 1 - alpha times its own model plus alpha times the answer.
#include "protocols/groups/group_average.h"
#include "protocols/groups/groups.h"
#include "protocols/node/collectives.h"
#include "protocols/node/node.h"
#include "protocols/outer/moving_model.h"
#include "protocols/outer/outer_optimizer.h"

namespace hopbench::outer::halos {

using groups::by_host, groups::group_of, groups::star_links;
constexpr Kind kMoved = kPart, kGlobal = kReply;

int global_server(const Node& self) { return self.size - 1; }

/// Returns the server of a worker's region.
int region_server(const Node& self, int worker) {
  return self.worker_count() + static_cast<int>(group_of(by_host(self), worker));
}

void train(Node& self, const KnobValues& knobs) {
  const int server = region_server(self, self.rank);
  const Iter period = knobs.integer("period");
  const double part = 1.0 / static_cast<double>(by_host(self)[group_of(by_host(self), self.rank)].size());
  Vec x0 = self.initial(), x = x0;
  Optimizer inner = self.optimizer(x.size());
  for (Iter k = 0; self.running(k); ++k) {
    if (groups::inner_step(self, x, inner, k, period)) {
      self.send(server, kPush, k, share(combined(self, {{part, share(x)}, {-part, share(x0)}})));
      x0 = Vec::copy_of(self.recv(is_from(kWeights, server, k), "the region's model").body);
      take_over(self, x, x0);
    }
    self.report(k + 1, x0);
  }
}

void serve_region(Node& self, const KnobValues& knobs) {
  const groups::Division regions = by_host(self);
  const std::size_t own = static_cast<std::size_t>(self.rank - self.worker_count());
  const Iter every = knobs.integer("accumulate", static_cast<int>(regions[own].size()));
  const double part = 1.0 / static_cast<double>(regions.size());
  MovingModel region(self, knobs.real("local_momentum"));
  Vec told = self.initial();  // the model without the pushes that the global server has not been told of
  const int global = global_server(self);
  self.hears_alone();
  for (Iter come = 0;;) {
    self.until([&] { return self.has(is(kPush)) || self.has(is(kGlobal)); }, "a worker, or the global model");
    while (const auto answer = self.take(is(kGlobal))) {
      const Vec by = region.mix(answer->body, knobs.real("alpha"));
      self.operate(bytes_of(3 * told.size()), [&] { told.add(share(by)); });
    }
    const auto push = self.take(is(kPush));
    if (!push) continue;
    region.move(push->body);
    self.applied(push->from, push->iter);
    self.send(push->from, kWeights, push->iter, share(region.model()));
    if (++come % every != 0) continue;
    self.send(global, kMoved, come, share(combined(self, {{part, share(region.model())}, {-part, share(told)}})));
    told = region.model();
  }
}

void serve_all(Node& self, const KnobValues& knobs) {
  MovingModel all(self, knobs.real("global_momentum"));
  for (;;) {
    const Message change = self.recv(is(kMoved), "a region");
    all.move(change.body);
    self.send(change.from, kGlobal, change.iter, share(all.model()));
  }
}

void halos(Node& self, const KnobValues& knobs) {
  if (!self.is_server()) return train(self, knobs);
  if (self.rank == global_server(self)) return serve_all(self, knobs);
  serve_region(self, knobs);
}

int ranks(const Setting& setting) { return static_cast<int>(by_host(setting).size()) + 1; }

std::vector<int> hosts(const Setting& setting) {
  const std::vector<int> host_of = groups::hosts_of(setting);
  std::vector<int> all;
  for (const groups::Group& region : by_host(setting)) all.push_back(host_of[static_cast<std::size_t>(region.front())]);
  all.push_back(host_of.front());
  return all;
}

std::vector<Edge> links(const Setting& setting) {
  std::vector<Edge> all;
  const groups::Division regions = by_host(setting);
  const int global = setting.workers + static_cast<int>(regions.size());
  for (int r = 0; r < static_cast<int>(regions.size()); ++r) {
    all = groups::joined(std::move(all), star_links(setting.workers + r, regions[static_cast<std::size_t>(r)]));
    all.emplace_back(setting.workers + r, global);
  }
  // It serves until all workers are done. With real processes, one that knew only servers would end at once.
  return groups::joined(std::move(all), star_links(global, groups::all_workers(setting)));
}

std::string note(const Setting& setting) {
  if (by_host(setting).size() < static_cast<std::size_t>(setting.workers) || setting.workers == 1) return "";
  return "each worker is a region of its own, with a server of its own: set network.hosts to have fewer regions";
}

const Protocol& halos_protocol() {
  static const Protocol protocol{
      .name = "halos",
      .summary = "asynchronous local SGD in two levels: a server in each region, and a global one",
      .paper =
          "Kim et al.: HALoS: Hierarchical Asynchronous Local SGD over Slow Networks for Geo-Distributed Large "
          "Language Model Training, ICML 2025",
      .family = Family::kOuter,
      .knobs = {period_knob(),
                knob("accumulate", 0, 0, 100000, "pushes between two messages; 0: a region's workers", "memory M"),
                knob("alpha", 0.25, 0, 1, "share of the global model that a region takes over", "memory M"),
                knob("local_momentum", 0.5, 0, 0.999999, "beta of a region's server", "ours"),
                knob("global_momentum", 0.5, 0, 0.999999, "beta of the global server", "ours")},
      .body = halos,
      .extra_ranks = ranks,
      .extra_hosts = hosts,
      .links = links,
      .note = note,
      .control = always<Control::kSchedule>,
      .on_loss = always<OnLoss::kContinues>,
      .free_run = periods<1>,
      .source = Source::kMemory,
      .reading = "outer/HA1-HA4",
      .experimental = always<true>};  // the momentum and the merge are not checked against the paper's text
  return protocol;
}

}  // namespace hopbench::outer::halos
