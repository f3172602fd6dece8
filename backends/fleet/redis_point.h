// A meeting point in a Redis server. Inside of meeting_point.cpp.
#pragma once

#include <memory>
#include <string>

#include "backends/fleet/meeting_point.h"

namespace hopbench {

/// `where` is what follows redis://. Error(kEnvironment) where this build has no hiredis.
std::unique_ptr<MeetingPoint> open_redis_point(const std::string& where, const std::string& run);

}  // namespace hopbench
