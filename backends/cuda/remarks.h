// Remarks on how this process used the GPU. They go into the trial's record, for readers of its measurements.
#pragma once

#include <string>

namespace hopbench::cuda {

/// Keeps the last text of each topic, and the number of fallbacks that the text reports. Any thread may call it.
void remark(const std::string& topic, const std::string& text, int fallbacks = 0);
int fallbacks();  // of all topics
/// Returns "TOPIC: TEXT; TOPIC: TEXT", with topics in alphabetical order.
std::string remarks();

}  // namespace hopbench::cuda
