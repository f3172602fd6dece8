// The place of this process among those of its run, if a launcher started several: mpirun, srun, torchrun, a Kubernetes
// Indexed Job. Read from the environment (docs/clusters.md has the table). The first launcher of the list that gives a
// number counts: the one nearest to the process sets its own, and the outer one's are inherited.
#pragma once

#include <functional>
#include <string>

namespace hopbench {

struct ProcessIdentity {
  int number = 0, size = 1;  // this process, and the number of processes
  int local_size = 0;        // processes on this machine; 0: not said
  std::string by;            // the variable that gave the number; empty: started alone
  std::string run;           // the launcher's name for the run; empty: it has none
  std::string address;       // MASTER_ADDR:MASTER_PORT, if they are for us to use
};

using Environment = std::function<const char*(const char* name)>;

/// Throws Error(kUsage), naming the variables: a number without a size, a wrong number, or one outside the size.
ProcessIdentity identity_of(const Environment& environment);

}  // namespace hopbench
