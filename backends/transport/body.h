// Bodies of messages as transports send and receive them: stored floats, of a dense or a sparse vector.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/base/vec.h"

namespace hopbench {

/// The body as host memory: as it is, or a staged copy of what lies on a device, which all receivers share.
Payload on_host(const Payload& body);
/// So many bodies this process has copied between a device and host memory.
std::int64_t staged_bodies();

/// Whether it lies on a device, and is to lie on one where it arrives.
bool on_device(const Payload& body);
/// What arrived in host memory, where it is to lie: on this process's device, if it comes from one and there is one.
Payload arrived(const Payload& body, bool from_device);

/// Whether a body can store so many floats, of so many numbers if it is sparse (0: it is not).
bool body_is_possible(std::uint64_t floats, std::uint64_t numbers);

/// What a body is received into: so many stored floats, of a sparse vector of `numbers` numbers if that is not 0.
class ArrivingBody {
 public:
  ArrivingBody(std::size_t floats, std::size_t numbers);
  void* data() { return vec_.sparse() ? static_cast<void*>(vec_.room()) : vec_.mutable_data(); }
  std::size_t bytes() const { return floats_ * sizeof(float); }
  Payload whole();

 private:
  Vec vec_;
  std::size_t floats_;
};

}  // namespace hopbench
