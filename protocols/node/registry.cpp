#include <algorithm>
#include <vector>

#include "backends/base/error.h"
#include "backends/base/text.h"
#include "protocols/node/extra.h"
#include "protocols/node/protocol.h"

namespace hopbench {

// Every protocol, in the order of all tables: the namespace of its file, and its name.
#define HB_PROTOCOLS(P)                            \
  P(allreduce::allreduce, allreduce)               \
  P(gossip::dpsgd, dpsgd)                          \
  P(hop::hop, hop)                                 \
  P(server::parameter_server, ps_bsp)              \
  P(server::parameter_server, ps_asp)              \
  P(server::parameter_server, ps_ssp)              \
  P(server::dssp, dssp)                            \
  P(server::backup_workers, ps_backup)             \
  P(server::flexrr, flexrr)                        \
  P(server::r2sp, r2sp)                            \
  P(server::elastic_bsp, elastic_bsp)              \
  P(gossip::adpsgd, adpsgd)                        \
  P(gossip::sgp, sgp)                              \
  P(gossip::gossipgrad, gossipgrad)                \
  P(gossip::choco, choco)                          \
  P(groups::ds_sync, ds_sync)                      \
  P(allreduce::local_sgd, local_sgd)               \
  P(allreduce::lasgd, lasgd)                       \
  P(allreduce::selsync, selsync)                   \
  P(server::sync_switch, sync_switch)              \
  P(server::dbw, dbw)                              \
  P(allreduce::lb_bsp, lb_bsp)                     \
  P(allreduce::dynamic_batching, dynamic_batching) \
  P(groups::prague, prague)                        \
  P(groups::partial_reduce, partial_reduce)        \
  P(late::rennala, rennala)                        \
  P(late::ringmaster, ringmaster)                  \
  P(late::delay_adaptive, delay_adaptive)          \
  P(late::dc_asgd, dc_asgd)                        \
  P(late::gba, gba)                                \
  P(late::k_async, k_async)                        \
  P(late::k_async, k_batch_async)                  \
  P(late::specsync, specsync)                      \
  P(outer::diloco, diloco)                         \
  P(outer::streaming_diloco, streaming_diloco)     \
  P(outer::async_diloco, async_diloco)             \
  P(outer::noloco, noloco)                         \
  P(outer::slowmo, slowmo)                         \
  P(outer::easgd, easgd)                           \
  P(outer::overlap_local_sgd, overlap_local_sgd)   \
  P(outer::hivemind, hivemind)                     \
  P(outer::co2, co2)                               \
  P(gossip::one_peer, one_peer)                    \
  P(gossip::matcha, matcha)                        \
  P(gossip::dsgd_aau, dsgd_aau)                    \
  P(skewed::exact_diffusion, exact_diffusion)      \
  P(skewed::d2, d2)                                \
  P(skewed::gradient_tracking, gradient_tracking)  \
  P(skewed::qg_dsgdm, qg_dsgdm)                    \
  P(skewed::gossip_pga, gossip_pga)                \
  P(skewed::consensus_control, consensus_control)  \
  P(skewed::r_fast, r_fast)                        \
  P(groups::moshpit, moshpit)                      \
  P(gossip::dybw, dybw)                            \
  P(gossip::netmax, netmax)                        \
  P(outer::decoupled_diloco, decoupled_diloco)     \
  P(outer::halos, halos)                           \
  P(cut::dropcompute, dropcompute)                 \
  P(cut::abs_sgd, abs_sgd)                         \
  P(cut::a_edit, a_edit)                           \
  P(allreduce::daso, daso)                         \
  P(compressed::powersgd, powersgd)                \
  P(compressed::error_feedback, error_feedback)

#define HB_DECLARE(file, name)       \
  namespace file {                   \
  const Protocol& name##_protocol(); \
  }
HB_PROTOCOLS(HB_DECLARE)
#undef HB_DECLARE

#define HB_NAME(file, name) file::name##_protocol,
constexpr const Protocol& (*kBuiltIn[])() = {HB_PROTOCOLS(HB_NAME)};
#undef HB_NAME

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
  static constexpr const char* kNames[] = {"full-text", "abstract+code", "memory", "own"};
  return kNames[static_cast<std::size_t>(source)];
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
