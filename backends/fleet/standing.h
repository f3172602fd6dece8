// Where this process stands among those of its run, when somebody started several: mpirun, srun, torchrun, a Kubernetes
// Indexed Job. Read from the environment (docs/clusters.md has the table); the first launcher of the list that gives a
// number counts, since the one nearest to the process sets its own and the outer one's are inherited.
#pragma once

#include <functional>
#include <string>

namespace hopbench {

struct Standing {
  int number = 0, size = 1;  // this process, and how many there are
  int local_size = 0;        // processes on this machine; 0: not said
  std::string by;            // the variable that gave the number; empty: started alone
  std::string run;           // the launcher's name for what it started; empty: it has none
  std::string address;       // MASTER_ADDR:MASTER_PORT, if they are for us to use
};

using Environment = std::function<const char*(const char* name)>;

/// Error(kUsage) naming the variables: a number without a size, one that is no number or outside the size.
Standing standing_of(const Environment& environment);

}  // namespace hopbench
