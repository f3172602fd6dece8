#include "backends/transport/body.h"

namespace hopbench {

Payload on_host(const Payload& body) {
  if (body.empty() || &body.space() == &host_space()) return body;  // as all sparse ones
  Vec staged = Vec::uninitialised(body.size());
  body.space().read(body.data(), staged.mutable_data(), body.size());
  return staged.share();
}

ArrivingBody::ArrivingBody(std::size_t floats, std::size_t numbers)
    : vec_(numbers > 0 ? Vec::sparse_with_room(numbers, floats / kEntryFloats) : Vec::uninitialised(floats)),
      floats_(floats) {}

Payload ArrivingBody::whole() {
  if (vec_.sparse()) vec_.keep(floats_ / kEntryFloats);
  return vec_.share();
}

}  // namespace hopbench
