// Prague: after each step a worker averages its model with those of a group, which is another one each time.
// Luo, He, Zhuo, Qian: "Prague: High-Performance Heterogeneity-Aware Asynchronous Decentralized Training", ASPLOS 2020
// (earlier "Ripples").
//
// Rules enforced here:
//   - a group's members go on with the mean of their models, 1/|G| each: a doubly stochastic averaging of all models;
//   - smart: a group generator answers requests. It draws groups such that a drawn worker need not ask for a group of
//     its own, and slow workers are left out. A worker runs one group at a time (protocols/groups/group_generator.h);
//   - static: the groups are a function of the iteration; no rank is asked.
//
// The generator is a rank of its own, a server. All workers reach it equally well, and it needs no worker's turn to
// answer. A worker that has done its last iteration takes part in the groups it is in already, then leaves. A dead
// worker is drawn no more, and its groups go on without it.
#include <algorithm>

#include "protocols/groups/group_average.h"
#include "protocols/groups/group_generator.h"
#include "protocols/node/node.h"

namespace hopbench::groups::prague {

constexpr int kUsualSize = 3;  // by default

bool is_static(const KnobValues& knobs) { return knobs.text("groups") == "static"; }

void generate(Node& self, const KnobValues& knobs) {
  GroupGenerator generator(hosts_of(self), {.group_size = knobs.integer("group_size"),
                                            .inter_intra = knobs.flag("inter_intra"),
                                            .slow_threshold = knobs.integer("slow_threshold")});
  const auto is_lost = [&](int w) { return self.died(w) && !generator.has_lost(w); };
  const auto lost = [&] { return std::find_if(self.workers().begin(), self.workers().end(), is_lost); };
  for (Iter requests = 0;;) {
    self.until([&] { return self.has(is(kRequest)) || self.has(is(kAck)) || lost() != self.workers().end(); },
               "a request for a group");
    for (auto w = lost(); w != self.workers().end(); w = lost()) generator.lose(*w);
    while (const auto done = self.take(is(kAck))) generator.release(done->from);
    const auto request = self.take(is(kRequest));
    if (request && self.present(request->from)) {  // one that is not present asked, then died
      if (request->words[0] != 0) {
        generator.leave(request->from);
      } else {
        generator.request(request->from, self.random(Purpose::kPeer, requests++));
      }
    }
    for (const auto& [worker, group] : generator.answers())
      self.send(worker, kReply, group.number, {}, words_of(group.members));
  }
}

/// Asks for the next group and averages over it. Returns false if there is none for a worker that is leaving.
bool join_group(Node& self, Iter k, bool leaving, Vec& x) {
  const int generator = self.servers().front();
  self.send(generator, kRequest, k, {}, {leaving ? 1 : 0});
  const Message answer = self.recv(is_from(kReply, generator), "a group");
  if (answer.words.size() == 0) return false;
  average_in_group(self, {answer.iter, members_in(answer.words)}, k, x);
  self.send(generator, kAck, answer.iter);
  return true;
}

void prague(Node& self, const KnobValues& knobs) {
  if (self.is_server()) return generate(self, knobs);
  std::vector<std::vector<int>> schedule;
  if (is_static(knobs)) schedule = static_schedule(hosts_of(self), self.rank);
  Vec x = self.initial();
  Optimizer optimizer = self.optimizer(x.size());

  Iter k = 0;
  for (; self.running(k); ++k) {
    self.enter(k);
    local_step(self, x, optimizer, k);
    if (schedule.empty()) {
      join_group(self, k, false, x);
    } else {
      average_in_group(self, {k, schedule[static_cast<std::size_t>(k) % schedule.size()]}, k, x);
    }
    self.report(k + 1, x);
  }
  while (schedule.empty() && join_group(self, k, true, x)) self.report(k, x);
}

std::vector<Edge> links(const Setting& setting) {
  if (!is_static(setting.knobs)) return all_pairs(setting.workers + 1);
  std::vector<Edge> edges;
  for (int w = 0; w < setting.workers; ++w) {
    for (const std::vector<int>& group : static_schedule(hosts_of(setting), w)) {
      for (int other : group) {
        if (other < w) edges.emplace_back(w, other);
      }
    }
  }
  return edges;
}

std::string refuse(const Setting& setting) {
  const int size = setting.knobs.integer("group_size");
  if (!is_static(setting.knobs) && size > std::max(setting.workers, kUsualSize))  // with fewer, all form a group
    return "group_size = " + std::to_string(size) + " is more than the " + std::to_string(setting.workers) + " workers";
  if (!is_static(setting.knobs) && setting.workers > kMostGrouped)
    return "a group is told in one message, of up to " + std::to_string(kMostGrouped) + " workers: take fewer";
  if (is_static(setting.knobs) && !has_static_schedule(hosts_of(setting)))
    return "groups = 'static' is written for 4 workers on each host: place them so (network.hosts), or take 'smart'";
  return "";
}

Control control(const KnobValues& knobs) { return is_static(knobs) ? Control::kLockstep : Control::kSchedule; }

/// Returns kStops for a static schedule: it could go on, but a dead head would cut off its host for good.
OnLoss on_loss(const KnobValues& knobs) { return is_static(knobs) ? OnLoss::kStops : OnLoss::kContinues; }

const Protocol& prague_protocol() {
  static const Protocol protocol{
      .name = "prague",
      .summary = "decentralised SGD: models are averaged over groups that a generator draws, without the slow workers",
      .paper =
          "Luo, He, Zhuo, Qian: Prague: High-Performance Heterogeneity-Aware Asynchronous Decentralized Training, "
          "ASPLOS 2020",
      .family = Family::kGroups,
      .knobs = {choice("groups", {"smart", "static"}, "drawn on request, or a schedule for 4 workers a host", "paper"),
                knob("group_size", kUsualSize, 2, 1000, "smart: workers in a group, or up to twice as many less one",
                     "ours"),
                knob("inter_intra", true, "smart: a head of each host with others', then the whole host", "memory H"),
                knob("slow_threshold", 4, 0, 1000, "smart: who asked over so many times less is left out; 0: nobody",
                     "ours")},
      .body = prague,
      .extra_ranks = [](const Setting& setting) { return is_static(setting.knobs) ? 0 : 1; },
      .links = links,
      .refuse = refuse,
      .control = control,
      .on_loss = on_loss,
      .free_run = [](const KnobValues& knobs) { return is_static(knobs) ? 4 : knobs.integer("slow_threshold"); },
      .source = Source::kMemory,
      .reading = "prague/one-sided filter"};
  return protocol;
}

}  // namespace hopbench::groups::prague
