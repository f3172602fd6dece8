#include <vector>

#include "backends/base/error.h"
#include "backends/base/text.h"
#include "protocols/extra.h"
#include "protocols/protocol.h"

namespace hopbench {

const Protocol& allreduce_protocol();
const Protocol& dpsgd_protocol();
const Protocol& hop_protocol();
const Protocol& ps_bsp_protocol();
const Protocol& ps_asp_protocol();
const Protocol& ps_ssp_protocol();
const Protocol& prague_protocol();
const Protocol& partial_reduce_protocol();

std::span<const Protocol* const> protocols() {
  static const std::vector<const Protocol*> all = [] {
    std::vector<const Protocol*> list = {
        &allreduce_protocol(),  //
        &dpsgd_protocol(),     &hop_protocol(),    &ps_bsp_protocol(),         &ps_asp_protocol(),
        &ps_ssp_protocol(),    &prague_protocol(), &partial_reduce_protocol(),
    };
    for (const Protocol* extra : extra_protocols()) list.push_back(extra);
    return list;
  }();
  return all;
}

bool is_experimental(const Protocol& protocol, const KnobValues& knobs) {
  return protocol.experimental != nullptr && protocol.experimental(knobs);
}

const Protocol& find_protocol(std::string_view name) {
  std::vector<std::string> known;
  for (const Protocol* protocol : protocols()) {
    if (protocol->name == name) return *protocol;
    known.emplace_back(protocol->name);
  }
  throw usage_error("unknown protocol '" + std::string(name) + "': there are " + join(known, ", ") + "." +
                    did_you_mean(name, known));
}

}  // namespace hopbench
