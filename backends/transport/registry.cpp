#include <algorithm>
#include <string>
#include <vector>

#include "backends/base/error.h"
#include "backends/base/text.h"
#include "backends/transport/wire.h"

namespace hopbench {

extern const Transport kAutoTransport;
extern const Transport kGlooTransport;
extern const Transport kShmTransport;

const std::vector<Transport>& transports() {
  static const std::vector<Transport> all = {kAutoTransport, kGlooTransport, kShmTransport};
  return all;
}

const Transport& find_transport(std::string_view name) {
  std::vector<std::string> known;
  for (const Transport& transport : transports()) {
    if (transport.name == name) return transport;
    known.emplace_back(transport.name);
  }
  const std::string asked(name);
  throw usage_error("unknown transport '" + asked + "': known are " + join(known, ", ") + "." +
                    did_you_mean(asked, known));
}

}  // namespace hopbench
