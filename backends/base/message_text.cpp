// Alone in its file, so that a test can define the function instead.
#include "backends/base/failure.h"

namespace hopbench {

std::string message_text(std::string text) { return text; }

}  // namespace hopbench
