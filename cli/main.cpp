// hopbench: benchmarks heterogeneity-aware distributed training protocols.
#include <csignal>
#include <cstring>

#include "backends/base/process/kept.h"
#include "backends/runtime/process/spawn.h"
#include "cli/app.h"
#include "cli/bench/transport_bench.h"
#include "suites/campaign/join.h"
#include "suites/trial/rank.h"
#include "suites/tuning/calibrate.h"
#include "suites/tuning/calibrate_links.h"

namespace {

/// The roles of a child process, by the name in its job. Those for others are harmless to a machine that lends itself.
constexpr hopbench::Role kRoles[] = {
    {"rank", hopbench::run_rank, true},
    {"simulate", hopbench::run_simulation},
    {"simulate_elsewhere", hopbench::run_simulation_elsewhere, true},
    {"calibrate", hopbench::calibrate_rank, true},
    {"calibrate_links", hopbench::calibrate_links_rank, true},
    {"bench", hopbench::bench_rank},
};

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of that write
  // A child of a trial is this same binary, and so is what --hosts starts by ssh. Both leave here before anything else
  // is set up.
  if (argc == 2 && std::strcmp(argv[1], "rank") == 0) return hopbench::rank_main(kRoles);
  hopbench::keep_contents(hopbench::set_for_ranks);  // so that no child reads again what is read here
  if (argc == 2 && std::strcmp(argv[1], "agent") == 0) return hopbench::agent_main();
  return hopbench::run_command_line(argc, argv);
}
