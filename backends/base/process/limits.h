// How long ranks and trials may take unless something else is set.
#pragma once

#include <chrono>

#include "backends/base/time.h"

namespace hopbench {

inline constexpr Duration kRendezvousTimeout = std::chrono::seconds(30);  // for all ranks to meet
inline constexpr Duration kStallTimeout = std::chrono::seconds(60);       // without progress of any rank
inline constexpr Duration kTrialTimeout = std::chrono::minutes(30);       // of a trial as a whole

}  // namespace hopbench
