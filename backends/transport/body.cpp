#include "backends/transport/body.h"

#include <atomic>
#include <cstddef>
#include <limits>

namespace hopbench {
namespace {

std::atomic<std::int64_t> staged{0};

}  // namespace

Payload on_host(const Payload& body) {
  bool copied = false;
  Payload there = body.on_host(&copied);
  staged += copied ? 1 : 0;
  return there;
}

std::int64_t staged_bodies() { return staged; }

bool on_device(const Payload& body) {
  DeviceSpace* const device = device_space();
  return device != nullptr && !body.empty() && &body.space() == device;
}

Payload arrived(const Payload& body, bool from_device) {
  DeviceSpace* const device = device_space();
  if (!from_device || device == nullptr || on_device(body)) return body;
  ++staged;
  return body.on_device(*device);
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
