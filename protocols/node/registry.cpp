#include <algorithm>
#include <vector>

#include "backends/base/error.h"
#include "backends/base/text.h"
#include "protocols/node/extra.h"
#include "protocols/node/protocol.h"

namespace hopbench {

const Protocol& allreduce_protocol();
const Protocol& dpsgd_protocol();
const Protocol& hop_protocol();
const Protocol& ps_bsp_protocol();
const Protocol& ps_asp_protocol();
const Protocol& ps_ssp_protocol();
const Protocol& dssp_protocol();
const Protocol& ps_backup_protocol();
const Protocol& flexrr_protocol();
const Protocol& r2sp_protocol();
const Protocol& elastic_bsp_protocol();
const Protocol& adpsgd_protocol();
const Protocol& sgp_protocol();
const Protocol& gossipgrad_protocol();
const Protocol& choco_protocol();
const Protocol& ds_sync_protocol();
const Protocol& local_sgd_protocol();
const Protocol& lasgd_protocol();
const Protocol& selsync_protocol();
const Protocol& sync_switch_protocol();
const Protocol& dbw_protocol();
const Protocol& lb_bsp_protocol();
const Protocol& dynamic_batching_protocol();
const Protocol& prague_protocol();
const Protocol& partial_reduce_protocol();
const Protocol& rennala_protocol();
const Protocol& ringmaster_protocol();
const Protocol& delay_adaptive_protocol();
const Protocol& dc_asgd_protocol();
const Protocol& gba_protocol();
const Protocol& k_async_protocol();
const Protocol& k_batch_async_protocol();
const Protocol& specsync_protocol();
const Protocol& diloco_protocol();
const Protocol& streaming_diloco_protocol();
const Protocol& async_diloco_protocol();
const Protocol& noloco_protocol();
const Protocol& slowmo_protocol();
const Protocol& easgd_protocol();
const Protocol& overlap_local_sgd_protocol();
const Protocol& co2_protocol();
const Protocol& hivemind_protocol();
const Protocol& one_peer_protocol();
const Protocol& matcha_protocol();
const Protocol& dsgd_aau_protocol();
const Protocol& exact_diffusion_protocol();
const Protocol& d2_protocol();
const Protocol& gradient_tracking_protocol();
const Protocol& qg_dsgdm_protocol();
const Protocol& gossip_pga_protocol();
const Protocol& consensus_control_protocol();
const Protocol& r_fast_protocol();
const Protocol& moshpit_protocol();
const Protocol& dybw_protocol();
const Protocol& netmax_protocol();
const Protocol& decoupled_diloco_protocol();
const Protocol& halos_protocol();
const Protocol& dropcompute_protocol();
const Protocol& abs_sgd_protocol();
const Protocol& a_edit_protocol();
const Protocol& daso_protocol();
const Protocol& powersgd_protocol();
const Protocol& error_feedback_protocol();

namespace {

constexpr const Protocol& (*kBuiltIn[])() = {
    allreduce_protocol,
    dpsgd_protocol,
    hop_protocol,
    ps_bsp_protocol,
    ps_asp_protocol,
    ps_ssp_protocol,
    dssp_protocol,
    ps_backup_protocol,
    flexrr_protocol,
    r2sp_protocol,
    elastic_bsp_protocol,
    adpsgd_protocol,
    sgp_protocol,
    gossipgrad_protocol,
    choco_protocol,
    ds_sync_protocol,
    local_sgd_protocol,
    lasgd_protocol,
    selsync_protocol,
    sync_switch_protocol,
    dbw_protocol,
    lb_bsp_protocol,
    dynamic_batching_protocol,
    prague_protocol,
    partial_reduce_protocol,
    rennala_protocol,
    ringmaster_protocol,
    delay_adaptive_protocol,
    dc_asgd_protocol,
    gba_protocol,
    k_async_protocol,
    k_batch_async_protocol,
    specsync_protocol,
    diloco_protocol,
    streaming_diloco_protocol,
    async_diloco_protocol,
    noloco_protocol,
    slowmo_protocol,
    easgd_protocol,
    overlap_local_sgd_protocol,
    hivemind_protocol,
    co2_protocol,
    one_peer_protocol,
    matcha_protocol,
    dsgd_aau_protocol,
    exact_diffusion_protocol,
    d2_protocol,
    gradient_tracking_protocol,
    qg_dsgdm_protocol,
    gossip_pga_protocol,
    consensus_control_protocol,
    r_fast_protocol,
    moshpit_protocol,
    dybw_protocol,
    netmax_protocol,
    decoupled_diloco_protocol,
    halos_protocol,
    dropcompute_protocol,
    abs_sgd_protocol,
    a_edit_protocol,
    daso_protocol,
    powersgd_protocol,
    error_feedback_protocol,
};

}  // namespace

std::span<const Protocol* const> protocols() {
  static const std::vector<const Protocol*> all = [] {
    std::vector<const Protocol*> list;
    for (const auto& built_in : kBuiltIn) list.push_back(&built_in());
    for (const Protocol* extra : extra_protocols()) list.push_back(extra);
    return list;
  }();
  return all;
}

std::pair<int, int> step_factor(const Protocol& protocol, const Setting& setting) {
  return {protocol.gradients_per_update == nullptr ? setting.workers : protocol.gradients_per_update(setting),
          setting.workers};
}

bool in_lockstep(const Protocol& protocol, const KnobValues& knobs) {
  const Control control = protocol.control == nullptr ? Control::kLockstep : protocol.control(knobs);
  return control == Control::kLockstep || control == Control::kLockstepByValues;
}

bool same_everywhere(const Protocol& protocol, const KnobValues& knobs) {
  return protocol.follows_times != nullptr ? !protocol.follows_times(knobs) : in_lockstep(protocol, knobs);
}

bool continues(const Protocol& protocol, const KnobValues& knobs) {
  return protocol.on_loss != nullptr && protocol.on_loss(knobs) == OnLoss::kContinues;
}

bool uses_topology(const Protocol& protocol, const KnobValues& knobs) {
  return protocol.on_topology == nullptr ? protocol.links == nullptr : protocol.on_topology(knobs);
}

int class_of_changes(const Protocol& protocol, const Setting& setting) {
  const Changes changes = protocol.changes == nullptr ? Changes::kForm : protocol.changes(setting);
  if (changes == Changes::kRounding) return 1;
  const bool bounded = protocol.gap_bound != nullptr && protocol.gap_bound(setting).has_value();
  return changes == Changes::kForm && bounded ? 2 : 3;
}

bool goes_on_without(const Protocol& protocol, const KnobValues& knobs) {
  return protocol.rejoins != nullptr && protocol.rejoins(knobs) && continues(protocol, knobs);
}

const char* to_string(Family family) {
  static constexpr const char* kNames[] = {
      "all-reduce",  "gossip",         "skewed data",          "groups", "hop", "parameter server", "late gradients",
      "outer steps", "work cut short", "compressed gradients", "other"};
  return kNames[static_cast<std::size_t>(family)];
}

const char* to_string(Source source) {
  switch (source) {
    case Source::kFullText:
      return "full-text";
    case Source::kAbstractAndCode:
      return "abstract+code";
    case Source::kMemory:
      return "memory";
    case Source::kOwn:
      return "own";
  }
  return "";
}

bool is_experimental(const Protocol& protocol, const KnobValues& knobs) {
  return protocol.experimental != nullptr && protocol.experimental(knobs);
}

namespace {

// Returns the topologies with which the same setting is possible, as the end of a message; "" if there are none, since
// then the topology is not the reason.
std::string topologies_instead(const Protocol& protocol, const Setting& setting) {
  constexpr int kMostWorkers = 512;  // with more, a graph takes long to make and to check
  std::vector<std::string> possible;
  for (const auto& [name, summary] : topologies()) {
    if (setting.workers > kMostWorkers) break;
    try {
      const Topology graph = make_topology(name, setting.workers);
      const Setting there{setting.knobs, graph, setting.workers, setting.host_of, setting.parameters, setting.batch};
      if (protocol.refuse(there).empty()) possible.emplace_back(name);
    } catch (const Error&) {
      continue;  // it is not defined for this number of workers
    }
  }
  return possible.empty() ? "" : ": with these workers and knobs it accepts topology " + join(possible, ", ");
}

}  // namespace

std::string why_impossible(const Protocol& protocol, const Setting& setting) {
  const auto shares = [](const Knob& knob) { return knob.name == std::string_view("servers"); };
  if (setting.parameters > 0 && std::any_of(protocol.knobs.begin(), protocol.knobs.end(), shares)) {
    const int servers = protocol.extra_ranks(setting);
    if (servers > setting.parameters)
      return std::to_string(servers) + " servers share " + std::to_string(setting.parameters) +
             " parameters: some would have none: set servers to fewer";
  }
  const std::string why = protocol.refuse == nullptr ? "" : protocol.refuse(setting);
  return why.empty() ? why : why + topologies_instead(protocol, setting);
}

const Protocol& find_protocol(std::string_view name) {
  std::vector<std::string> known;
  for (const Protocol* protocol : protocols()) {
    if (protocol->name == name) return *protocol;
    known.emplace_back(protocol->name);
  }
  throw usage_error("unknown protocol '" + std::string(name) + "': there are " + join(known, ", ") + "." +
                    did_you_mean(name, known) +
                    " A protocol of your own has to be built in: ci/hopbench --protocols DIR");
}

}  // namespace hopbench
