// What a launcher says of its ranks.
#pragma once

#include <cstdint>
#include <string>

#include "backends/base/failure.h"
#include "backends/base/time.h"
#include "backends/runtime/board.h"

namespace hopbench {

std::string rank_name(int rank);  // "rank 3"
std::string seconds_text(Duration duration);

/// "was killed by signal 9 (SIGKILL)", and the kind of such a death; `status` as waitpid has it.
std::string how_it_ended(int status);
FailureKind kind_of_end(int status);

/// "computing iteration 12", "waiting in iteration 17: a token from a slower neighbour".
std::string doing(const RankSlot& slot);
std::string what_it_did(const RankSlot& slot);  // "while computing iteration 12"

/// For how long, and from whom a rank that waits has heard nothing since: those it waits for are among them. `now` on
/// CLOCK_MONOTONIC in ns.
std::string since(const RankSlot& slot, std::int64_t now);

}  // namespace hopbench
