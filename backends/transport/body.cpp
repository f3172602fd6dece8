#include "backends/transport/body.h"

#include <cstddef>
#include <limits>

namespace hopbench {

Payload on_host(const Payload& body) { return in_space(body, host_space()); }

bool on_device(const Payload& body) {
  DeviceSpace* const device = device_space();
  return device != nullptr && !body.empty() && &body.space() == device;
}

Payload arrived(const Payload& body, bool from_device) {
  DeviceSpace* const device = device_space();
  return from_device && device != nullptr ? in_space(body, *device) : body;
}

bool body_is_possible(std::uint64_t floats, std::uint64_t numbers) {
  if (floats > std::numeric_limits<std::ptrdiff_t>::max() / sizeof(float)) return false;
  return numbers == 0 || (floats % kEntryFloats == 0 && floats / kEntryFloats <= numbers);
}

ArrivingBody::ArrivingBody(std::size_t floats, std::size_t numbers)
    : vec_(numbers > 0 ? Vec::sparse_with_room(numbers, floats / kEntryFloats) : Vec::uninitialised(floats)),
      floats_(floats) {}

Payload ArrivingBody::whole() {
  if (vec_.sparse()) vec_.keep(floats_ / kEntryFloats);
  return vec_.share();
}

}  // namespace hopbench
