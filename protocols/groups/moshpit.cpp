// Moshpit SGD: workers stand on a grid of d dimensions and average along one of them after another, each with the few
// that differ from it in this coordinate only. Ryabinin, Gorbunov, Plokhotnyuk, Pekhimenko: "Moshpit SGD:
// Communication-Efficient Decentralized Training on Heterogeneous Unreliable Devices", NeurIPS 2021.
//
// Rules enforced here:
//   - worker r has the coordinates of r written with `dimensions` digits to the base M, the smallest number whose d-th
//     power is at least n;
//   - in round number q, after every `period` local steps, a worker goes on with the mean of the models of those that
//     agree with it in all coordinates but coordinate q mod d. If n = M^d, d rounds without steps make all models their
//     mean, exactly;
//   - a worker that has died is left out. What its group gets is the mean over the others.
#include <algorithm>
#include <cmath>

#include "protocols/groups/group_average.h"
#include "protocols/node/node.h"

namespace hopbench::groups::moshpit {

int side_of(int workers, int dimensions) {
  int side = 1;
  const auto holds = [&] {
    double places = 1;
    for (int d = 0; d < dimensions; ++d) places *= side;
    return places >= workers;
  };
  while (!holds()) ++side;
  return side;
}

/// Returns the ranks that agree with `rank` in all coordinates but this one, ascending.
Group group_along(int rank, int coordinate, int side, int workers) {
  int stride = 1;
  for (int d = 0; d < coordinate; ++d) stride *= side;
  const int first = rank - rank / stride % side * stride;
  Group group;
  for (int i = 0; i < side; ++i) {
    if (first + i * stride < workers) group.push_back(first + i * stride);
  }
  return group;
}

void moshpit(Node& self, const KnobValues& knobs) {
  const int dimensions = knobs.integer("dimensions"), side = side_of(self.worker_count(), dimensions);
  const Iter period = knobs.integer("period");
  Vec x = self.initial();
  Optimizer optimizer = self.optimizer(x.size());
  for (Iter k = 0; self.running(k); ++k) {
    if (inner_step(self, x, optimizer, k, period)) {
      const auto coordinate = static_cast<int>(k / period % dimensions);
      const Group members = group_along(self.rank, coordinate, side, self.worker_count());
      average_in_group(self, {.number = k, .members = members}, k, x);
    }
    self.report(k + 1, x);
  }
}

std::vector<Edge> links(const Setting& setting) {
  const int dimensions = setting.knobs.integer("dimensions"), side = side_of(setting.workers, dimensions);
  std::vector<Edge> all;
  for (int rank = 0; rank < setting.workers; ++rank) {
    for (int d = 0; d < dimensions; ++d) {
      for (const int other : group_along(rank, d, side, setting.workers)) {
        if (other > rank) all.emplace_back(rank, other);
      }
    }
  }
  return all;
}

std::string refuse(const Setting& setting) {
  const int dimensions = setting.knobs.integer("dimensions");
  if (dimensions <= 2 || (1 << (dimensions - 1)) < setting.workers) return "";
  const int most = std::max(1, static_cast<int>(std::ceil(std::log2(setting.workers))));
  return "dimensions = " + std::to_string(dimensions) + ": " + std::to_string(setting.workers) +
         " workers fill a grid of at most " + std::to_string(most) + ": take dimensions = " + std::to_string(most);
}

const Protocol& moshpit_protocol() {
  static const Protocol protocol{
      .name = "moshpit",
      .summary = "Moshpit SGD: means along one dimension of a grid of workers after another; dead ones are left out",
      .paper =
          "Ryabinin, Gorbunov, Plokhotnyuk, Pekhimenko: Moshpit SGD: Communication-Efficient Decentralized Training on "
          "Heterogeneous Unreliable Devices, NeurIPS 2021",
      .family = Family::kGroups,
      .knobs = {knob("dimensions", 2, 1, 16, "d: rounds after which all have heard of all", "memory H"),
                knob("period", 1, 1, 1'000'000, "local steps from one round to the next", "ours")},
      .body = moshpit,
      .links = links,
      .refuse = refuse,
      .on_loss = always<OnLoss::kContinues>,
      .free_run = periods<1>,
      .source = Source::kMemory,
      .reading = "moshpit/G1-G3"};
  return protocol;
}

}  // namespace hopbench::groups::moshpit
