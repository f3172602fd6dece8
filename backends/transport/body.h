// Bodies of messages as transports send and receive them: stored floats, of a dense or a sparse vector.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/base/vec.h"

namespace hopbench {

/// Returns the body in host memory: the body itself, or a staged copy of device memory, which all receivers share.
Payload on_host(const Payload& body);
/// Returns the number of bodies that this process has copied between a device and host memory.
std::int64_t staged_bodies();

/// Returns true if the body lies on a device, and therefore is to lie on one where it arrives.
bool on_device(const Payload& body);
/// Returns a body that arrived in host memory, on this process's device if it comes from a device and there is one.
Payload arrived(const Payload& body, bool from_device);

/// Returns true if a body can store `floats` floats, of `numbers` numbers if it is sparse (0: it is not).
bool body_is_possible(std::uint64_t floats, std::uint64_t numbers);

/// The memory for a body: `floats` stored floats, of a sparse vector of `numbers` numbers if that is not 0.
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
