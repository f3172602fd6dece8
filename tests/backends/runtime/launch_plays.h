// The rank's side of launch_test: what a rank does, and how it ends.
#pragma once

namespace hopbench {

/// The body of a process that launch_test has launched; its job says what it plays. `late`: it does not listen at
/// first.
int play_rank(bool late);

}  // namespace hopbench
