// hopbench: benchmarks heterogeneity-aware distributed training protocols.
//
//   app.cpp                    the command line: commands, flags, help
//   command_run.cpp            run           command_list.cpp        list
//   command_calibrate.cpp      calibrate     command_validate.cpp    validate
//   command_bench.cpp          bench sim     command_env.cpp         env, version
//   command_new.cpp            new           command_completion.cpp  completion
#include <cstring>

#include "cli/app.h"
#include "cli/join.h"
#include "cli/transport_bench.h"
#include "suites/trial/rank.h"
#include "suites/tuning/calibrate.h"
#include "suites/tuning/calibrate_links.h"

namespace {

/// The roles of a child process, by the name in its job. Those for others are harmless to a machine that lends itself.
constexpr hopbench::Role kRoles[] = {
    {"rank", hopbench::run_rank, true},
    {"simulate", hopbench::run_simulation},
    {"calibrate", hopbench::calibrate_rank, true},
    {"calibrate_links", hopbench::calibrate_links_rank, true},
    {"bench", hopbench::bench_rank},
};

}  // namespace

int main(int argc, char** argv) {
  // A child of a trial is this same binary, and so is what --hosts starts by ssh. Both leave here before anything else
  // is set up.
  if (argc == 2 && std::strcmp(argv[1], "rank") == 0) return hopbench::rank_main(kRoles);
  if (argc == 2 && std::strcmp(argv[1], "agent") == 0) return hopbench::agent_main();
  return hopbench::run_command_line(argc, argv);
}
