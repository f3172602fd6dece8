#pragma once

namespace hopbench {

/// The place of a rank among the ranks of its trial on its machine.
struct LocalPlace {
  int number = 0;  // counted from 0
  int ranks = 1;   // number of these ranks
  bool operator==(const LocalPlace&) const = default;
};

}  // namespace hopbench
