// ElasticBSP: bulk synchronous parallel with barriers at times when workers of unequal speed arrive together anyway.
// Zhao, An, Liu, Chen: "Elastic Bulk Synchronous Parallel Model for Distributed Deep Learning", ICDM 2019.
//
// Rules enforced here: at each barrier the server predicts every worker's next R pushes from its latest iteration. It
// picks the next barrier by ZipLine (protocols/server/zipline.h): one push of each worker, as close together as
// possible. Until that push, at most R iterations later, a worker waits for no other. At the barrier it waits for all,
// and all go on with the same weights. The first barrier comes after one iteration each, because nothing is known
// before.
//
// A push carries the number of iterations left to its worker's barrier, so servers need not agree on anything. The
// first one plans, and its answer carries the worker's share. Between barriers, gradients are applied on arrival.
#include <optional>

#include "protocols/node/node.h"
#include "protocols/server/server.h"
#include "protocols/server/shard.h"
#include "protocols/server/zipline.h"

namespace hopbench::server::elastic_bsp {

void worker(Node& self, const KnobValues& knobs) {
  std::int64_t left = 1;  // iterations to the barrier
  const auto hear = [&](Iter, const Words& words) {
    if (left == 0) left = words[0];
  };
  work(self, knobs, {.say = [&](Iter) { return Words{--left}; }, .hear = hear});
}

struct Worker {  // as a server sees it
  Time answered{};
  Duration iteration{};        // from an answer to the push that followed it
  std::optional<Iter> held{};  // its push at the barrier, not answered yet
};

bool all_at_barrier(const Node& self, const std::vector<Worker>& workers) {
  bool anybody = false;
  for (const int w : self.workers()) {
    const bool held = workers[static_cast<std::size_t>(w)].held.has_value();
    if (!held && self.present(w)) return false;
    anybody = anybody || held;
  }
  return anybody;
}

/// Returns, by worker, the iterations to the next barrier for the workers that go on from this one.
std::vector<Iter> plan(const std::vector<Worker>& workers, int r) {
  std::vector<std::size_t> who;
  std::vector<std::vector<Time>> pushes;
  for (std::size_t w = 0; w < workers.size(); ++w) {
    if (!workers[w].held) continue;
    who.push_back(w);
    pushes.emplace_back();
    for (int j = 1; j <= r; ++j) pushes.back().push_back(Time{} + j * workers[w].iteration);
  }
  std::vector<Iter> iterations(workers.size(), 0);
  const std::vector<std::size_t> chosen = zipline(pushes);
  for (std::size_t i = 0; i < who.size(); ++i) iterations[who[i]] = static_cast<Iter>(chosen[i]) + 1;
  return iterations;
}

void elastic_bsp(Node& self, const KnobValues& knobs) {
  if (!self.is_server()) return worker(self, knobs);
  const bool plans = self.rank == self.servers().front();
  Shard shard(self);
  std::vector<Worker> workers(self.workers().size(), {.answered = self.now()});
  for (;;) {
    self.until([&] { return self.has(is(kPush)) || all_at_barrier(self, workers); }, "a gradient");
    if (const auto push = self.take(is(kPush))) {
      Worker& worker = workers[static_cast<std::size_t>(push->from)];
      worker.iteration = self.now() - worker.answered;
      shard.apply(*push);
      if (push->words[0] == 0) {
        worker.held = push->iter;
      } else {
        shard.answer(push->from, push->iter);
        worker.answered = self.now();
      }
    }
    if (!all_at_barrier(self, workers)) continue;
    const std::vector<Iter> iterations =
        plans ? plan(workers, knobs.integer("r")) : std::vector<Iter>(workers.size(), 0);
    for (std::size_t w = 0; w < workers.size(); ++w) {
      if (!workers[w].held) continue;
      shard.answer(static_cast<int>(w), *workers[w].held, {iterations[w]});
      workers[w].held.reset();
      workers[w].answered = self.now();
    }
  }
}

const Protocol& elastic_bsp_protocol() {
  static const Protocol protocol = asynchronous(
      {.name = "elastic_bsp",
       .summary = "parameter server, synchronous at barriers that are put where workers of unequal speed meet",
       .paper = "Zhao, An, Liu, Chen: Elastic Bulk Synchronous Parallel Model for Distributed Deep Learning, ICDM 2019",
       .family = Family::kServer,
       .knobs = with_server_knobs({knob(
           "r", 15, 1, 1000, "R: how many pushes of a worker are predicted, its most between barriers", "paper")}),
       .body = elastic_bsp,
       .gradients_per_update = always<1>,
       .free_run = [](const KnobValues& knobs) { return knobs.integer("r"); },
       .source = Source::kFullText,
       .reading = "elastic_bsp/E1-E5",
       // Not in the paper's text but our reading: gradients are applied on arrival between barriers.
       .experimental = always<true>});
  return protocol;
}

}  // namespace hopbench::server::elastic_bsp
