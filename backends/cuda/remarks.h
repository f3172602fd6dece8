// Remarks on how this process used the GPU. They go into the trial's record, for readers of its measurements.
#pragma once

#include <string>

namespace hopbench::cuda {

/// Keeps the last text of each topic, and how many fallbacks it tells of. Any thread.
void remark(const std::string& topic, const std::string& text, int fallbacks = 0);
int fallbacks();  // of all topics
/// "TOPIC: TEXT; TOPIC: TEXT", topics in the order of the alphabet.
std::string remarks();

}  // namespace hopbench::cuda
