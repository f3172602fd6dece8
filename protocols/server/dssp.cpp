// DSSP: stale synchronous parallel with a range of thresholds instead of one.
// Zhao, An, Liu, Chen: "Dynamic Stale Synchronous Parallel Distributed Training", ICDCS 2019.
//
// One rule is enforced here: a worker p that has pushed t[p] gradients is held until every worker has pushed at least
// t[p] - s_L. But when a fastest worker first exceeds s_L, the controller (protocols/server/dssp_controller.h) grants
// it r* in [0, r_max] more iterations, r_max = s_U - s_L, so that it stops just when the slowest worker is about to
// push.
//
// The printed algorithm does not enforce s_U, and `faithful` is the algorithm as printed. There r[p] counts from now
// and not from s_L. When it is used up and p is still the fastest, the controller grants anew, and nothing compares the
// whole difference with s_U. So the difference is unbounded, although the prose, the problem statement and the regret
// theorem assume a bound; at steady speeds this is ASP. (Also, OK is sent at the grant without counting it, so a grant
// is r* + 1 pushes.) `capped` is our repair: a grant ends when t[p] - t[slowest] = s_U + 1, SSP's own convention. Then
// its long-run rate is SSP(s_U)'s, the slowest worker's. The paper's results can only come from `faithful`.
#include <algorithm>
#include <limits>

#include "protocols/node/node.h"
#include "protocols/server/dssp_controller.h"
#include "protocols/server/ps_clock.h"
#include "protocols/server/server.h"
#include "protocols/server/shard.h"

namespace hopbench::server::dssp {

/// Returns the slowest of the workers that are present, the lowest rank if there are several.
int slowest(const Node& self, const Shard& shard) {
  const auto is_slowest = [&](int w) { return self.present(w) && shard.pushed(w) == shard.least_pushed(); };
  return *std::find_if(self.workers().begin(), self.workers().end(), is_slowest);
}

void dssp(Node& self, const KnobValues& knobs) {
  if (!self.is_server()) return work(self, knobs);
  const int s_l = knobs.integer("s_l"), r_max = knobs.integer("r_max");
  const bool capped = knobs.text("mode") == "capped";
  constexpr Iter kOk = 0;  // answer at once
  Shard shard(self);
  std::vector<PushTimes> a(self.workers().size());  // table A
  std::vector<Iter> r(self.workers().size(), 0);    // extra iterations left

  const Iter most = capped ? s_l + r_max : std::numeric_limits<Iter>::max();
  serve(self, shard, most, [&](const Message& push, Time now) -> Iter {  // Algorithm 1
    const auto p = static_cast<std::size_t>(push.from);
    a[p] = {.latest = now, .before = a[p].latest};
    const Iter t = shard.pushed(push.from), behind = t - shard.least_pushed();
    const Iter hold = t - s_l;  // answer once the slowest has pushed this many
    if (r[p] > 0) {
      --r[p];
      return kOk;
    }
    if (behind <= s_l || t < shard.most_pushed()) return hold;
    const int slow = slowest(self, shard);
    if (t < 2 || shard.pushed(slow) < 2) return hold;  // nothing to predict from
    const Iter granted = extra_iterations(a[p], a[static_cast<std::size_t>(slow)], r_max);
    const Iter left = capped ? std::min(granted, s_l + r_max - behind + 1) : granted;
    if (left <= 0) return hold;
    r[p] = capped ? left - 1 : left;
    return kOk;
  });
}

std::optional<std::int64_t> gap_bound(const Setting& setting) {
  const KnobValues& knobs = setting.knobs;  // only `capped` bounds anything
  return knobs.text("mode") == "capped" ? std::optional<std::int64_t>(knobs.integer("s_l") + knobs.integer("r_max") + 1)
                                        : std::nullopt;
}

const Protocol& dssp_protocol() {
  static const Protocol protocol = asynchronous(
      {.name = "dssp",
       .summary = "parameter server, stale synchronous with a threshold that a controller picks from a range",
       .paper = "Zhao, An, Liu, Chen: Dynamic Stale Synchronous Parallel Distributed Training, ICDCS 2019",
       .family = Family::kServer,
       .knobs = with_server_knobs(
           {knob("s_l", 3, 0, 1000, "s_L, the least threshold", "paper"),
            knob("r_max", 12, 0, 1000, "most iterations beyond s_L that a grant of the controller is for", "paper"),
            choice("mode", {"faithful", "capped"},
                   "faithful: as printed, grants follow each other, no bound; capped: s_l + r_max bounds it", "ours")}),
       .body = dssp,
       .gradients_per_update = always<1>,
       .free_run = [](const KnobValues& knobs) { return knobs.integer("s_l") + knobs.integer("r_max"); },
       .gap_bound = gap_bound,
       .source = Source::kFullText,
       .reading = "dssp/D1-D7"});
  return protocol;
}

}  // namespace hopbench::server::dssp
