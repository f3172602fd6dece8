#pragma once

namespace hopbench {

/// The model whose loss has to reach a target. kAuto: the servers' model if there is one, else the workers' mean.
enum class TargetModel { kAuto, kMean, kMedianRank, kWorstRank };

}  // namespace hopbench
