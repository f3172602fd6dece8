#include <string_view>
#include <vector>

#include "backends/base/find_named.h"
#include "backends/transport/wire.h"

namespace hopbench {

extern const Transport kAutoTransport;
extern const Transport kGlooTransport;
extern const Transport kShmTransport;

const std::vector<Transport>& transports() {
  static const std::vector<Transport> all = {kAutoTransport, kGlooTransport, kShmTransport};
  return all;
}

const Transport& find_transport(std::string_view name) { return find_named(transports(), name, "transport"); }

}  // namespace hopbench
