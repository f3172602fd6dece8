// A meeting point in a Redis server. Internal to meeting_point.cpp.
#pragma once

#include <memory>
#include <string>

#include "backends/fleet/meeting_point.h"

namespace hopbench {

/// `where` is the text after redis://. Throws Error(kEnvironment) if this build has no hiredis.
std::unique_ptr<MeetingPoint> open_redis_point(const std::string& where, const std::string& run);

}  // namespace hopbench
