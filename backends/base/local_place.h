#pragma once

namespace hopbench {

/// A rank among its trial's ranks on its machine.
struct LocalPlace {
  int number = 0;  // from 0
  int ranks = 1;   // so many are there
  bool operator==(const LocalPlace&) const = default;
};

}  // namespace hopbench
