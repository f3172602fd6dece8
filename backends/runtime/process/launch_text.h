// The texts in which a launcher reports on its ranks.
#pragma once

#include <cstdint>
#include <string>

#include "backends/base/failure.h"
#include "backends/base/time.h"
#include "backends/runtime/process/board.h"

namespace hopbench {

std::string rank_name(int rank);  // "rank 3"
std::string seconds_text(Duration duration);

/// Returns "was killed by signal 9 (SIGKILL)", and the kind of such a death. `status` is as in waitpid.
std::string how_it_ended(int status);
FailureKind kind_of_end(int status);

/// Returns "computing iteration 12", "waiting in iteration 17: a token from a slower neighbour".
std::string doing(const RankSlot& slot);
std::string what_it_did(const RankSlot& slot);  // "while computing iteration 12"

/// Returns for how long, and from which ranks a waiting rank has heard nothing since. The ranks it waits for are among
/// them. `now` is on CLOCK_MONOTONIC in ns.
std::string since(const RankSlot& slot, std::int64_t now);

}  // namespace hopbench
