// In the order of the documentation (docs/results.md), which a test holds against this table and the tables against
// both.
#include "results/columns.h"

#include <fmt/format.h>

#include <array>

namespace hopbench {
namespace {

constexpr auto kColumns = std::to_array<Column>({
    {"", "trial", "", "`suite/measure/scenario/variant/seed/repeat`"},
    {"", "scenario", "", "its name in the suite"},
    {"", "variant", "", "its label in the suite, or its protocol with its knobs"},
    {"", "seed", "", "of every draw"},
    {"", "repeat", "", "from 0. Trials of one seed and repeat share their draws: ratios pair them"},
    {"trials.csv", "suite", "", "the suite's name"},
    {"trials.csv", "measure", "", "its name in the suite"},
    {"trials.csv", "what", "", "`rate` or `convergence`"},
    {"trials.csv", "protocol", "", "as registered; the variant is this with its knobs"},
    {"trials.csv", "knobs", "", "all knobs of the protocol: `backup=1, staleness=4`; `none`; empty: not recorded"},
    {"trials.csv", "backend", "", "of the arithmetic"},
    {"trials.csv", "transport", "", "of the messages (`sim`: virtual time; `gloo+emulated`: over emulated links)"},
    {"trials.csv", "clock", "", "`virtual` or `real`"},
    {"trials.csv", "world", "", "ranks: workers and servers"},
    {"trials.csv", "hosts", "",
     "hosts that they are on, of the suite's placement (`network.hosts`); prague's generator and partial_reduce's "
     "controller are on a host of their own, which counts like a server's"},
    {"trials.csv", "batch", "", "samples in a gradient of one worker"},
    {"trials.csv", "model", "", "trained"},
    {"trials.csv", "dataset", "", "trained on, and tested on"},
    {"trials.csv", "split", "", "how the training set is divided, a phrase"},
    {"trials.csv", "topology", "", "who is linked with whom"},
    {"trials.csv", "network", "", "a phrase; empty with real processes"},
    {"trials.csv", "optimizer", "", "a phrase"},
    {"trials.csv", "tuned", "", "1: tuned by `hopbench tune`, and set as it was then ([tuning.md](tuning.md))"},
    {"trials.csv", "cost_s", "", "what an unslowed gradient costs on the clock; 0: unpaced"},
    {"trials.csv", "experimental", "", "1: rests on what is not sure of its paper ([protocols.md](protocols.md))"},
    {"trials.csv", "source", "", "of what is known of the protocol ([protocols.md](protocols.md))"},
    {"trials.csv", "reading", "", "which reading of its paper ([protocols.md](protocols.md))"},
    {"trials.csv", "order", "", "place in the run, from 0"},
    {"trials.csv", "status", "", "`ok`, `failed`, `interrupted`. Only `ok` trials are in the summary's numbers"},
    {"trials.csv", "reason", "", "of a failure: rank, signal or error, phase, iteration"},
    {"trials.csv", "warnings", "", "marks, separated by `; `: see below"},
    {"trials.csv", "time_s", "s", "when the last worker finished that was not lost"},
    {"trials.csv", "ranks_lost", "",
     "workers that the scenario took before the end: crashed or left. Rates, losses and `params_hash` are of the "
     "others"},
    {"trials.csv", "first_lost_s", "s", "when the first of them was; empty: none was"},
    {"trials.csv", "iters_total", "iterations", "of all workers, jumped ones not counted"},
    {"trials.csv", "iters_jumped", "iterations", "skipped by a jump"},
    {"trials.csv", "iters_min_rank", "iterations", "of the worker with the fewest"},
    {"trials.csv", "gradients", "", "computed"},
    {"trials.csv", "gradients_lost", "",
     "computed, and thrown away unsent (before a jump) or refused by a server as too late: a lower bound of what "
     "reached no other model. An update that was sent, and came too late for every neighbour, is not counted: with "
     "Hop's backup workers without jumps, or in its serial form, a straggler's whole work can be such"},
    {"trials.csv", "samples", "samples", "in those gradients"},
    {"trials.csv", "bytes_sent", "bytes", "by all ranks: bodies, and 64 for the header of each message"},
    {"trials.csv", "messages", "", "sent by protocols; the runtime's own are not counted"},
    {"trials.csv", "window_start_s", "s", "of the steady window"},
    {"trials.csv", "window_end_s", "s", "of the steady window"},
    {"trials.csv", "samples_per_s", "samples/s", "of all workers, in the window"},
    {"trials.csv", "iters_per_s", "1/s", "mean of the workers, in the window"},
    {"trials.csv", "median_iteration_s", "s", "of the workers' iterations that lie wholly in the window"},
    {"trials.csv", "wait_share", "0 to 1", "the workers' waiting / their time until each finished; of the whole trial"},
    {"trials.csv", "main_wait", "text", "the reason that the workers waited longest for"},
    {"trials.csv", "window_ideal_samples_per_s", "samples/s",
     "bound: the rate if no worker's device had idled in this trial's window. Empty: no cost is known, or a row of "
     "schema 1.0"},
    {"trials.csv", "slowest_rank_samples_per_s", "samples/s", "bound: all workers at the rate of the slowest"},
    {"trials.csv", "without_slowest_samples_per_s", "samples/s",
     "bound: without the slowest worker, the others at the rate of the slowest of them"},
    {"trials.csv", "overrun_share", "0 to 1", "iterations whose arithmetic did not fit its slot (real processes)"},
    {"trials.csv", "gap_max", "iterations",
     "by how many a worker was ahead of the slowest that had not finished, at most"},
    {"trials.csv", "gap_bound", "iterations",
     "how large it can get, by the protocol ([protocols.md](protocols.md)); empty: without bound, none is known, or "
     "workers were lost"},
    {"trials.csv", "staleness_max", "iterations", "the largest of `ranks.csv`"},
    {"trials.csv", "target_loss", "nats, or the objective's", "the suite's target; empty: none"},
    {"trials.csv", "time_to_target_s", "s", "where the fitted curve reaches it; empty: not reached"},
    {"trials.csv", "samples_to_target", "samples", "likewise"},
    {"trials.csv", "iters_to_target", "iterations", "likewise"},
    {"trials.csv", "time_to_target_held_s", "s", "first of `hold` evaluations in a row at or below it"},
    {"trials.csv", "samples_to_target_held", "samples", "likewise"},
    {"trials.csv", "iters_to_target_held", "iterations", "likewise"},
    {"trials.csv", "final_loss", "nats, or the objective's", "of the mean model at the end"},
    {"trials.csv", "final_accuracy", "0 to 1", "of the mean model at the end"},
    {"trials.csv", "best_accuracy", "0 to 1", "of the mean model at any evaluation"},
    {"trials.csv", "params_hash", "16 hex digits",
     "over all workers' last reported vectors, in rank order: equal if all bits are. Compare it only where the stop "
     "rule is `iterations`"},
    {"trials.csv", "figure: NAME", "",
     "a figure of the protocol's own, mean over its ranks; a column for each that occurs in the run"},
    {"ranks.csv", "rank", "", "from 0; servers last"},
    {"ranks.csv", "role", "", "`worker` or `server`"},
    {"ranks.csv", "lost", "",
     "`crash`, `leave`: the scenario took it before the end. Of a crash there is only when it was: what the rank had "
     "counted died with it"},
    {"ranks.csv", "finished_s", "s",
     "when its body returned; 0: a server that was ended when nobody needed it any more"},
    {"ranks.csv", "compute_s", "s", "in gradients, as paced, slowdown included"},
    {"ranks.csv", "wait_s", "s",
     "the body waited, a hang of the scenario included; what the strands beside it wait, for work, does not count"},
    {"ranks.csv", "injected_delay_s", "s", "of `compute_s`, what the scenario's slowdown added"},
    {"ranks.csv", "vector_ops_s", "s", "averages, optimizer steps, other vector operations"},
    {"ranks.csv", "iters", "", "as above, of this rank"},
    {"ranks.csv", "iters_jumped", "", "as above, of this rank"},
    {"ranks.csv", "gradients", "", "as above, of this rank"},
    {"ranks.csv", "gradients_lost", "", "as above, of this rank"},
    {"ranks.csv", "samples", "", "as above, of this rank"},
    {"ranks.csv", "batch_mean", "samples", "of a gradient; empty: it computed none"},
    {"ranks.csv", "messages", "", "as above"},
    {"ranks.csv", "bytes_sent", "bytes", "as above"},
    {"ranks.csv", "slow_events", "", "gradients that met a slowdown"},
    {"ranks.csv", "staleness_mean", "iterations",
     "own iteration minus tag, over the terms of its averages but its own; a server: its updates since it sent a "
     "gradient's weights"},
    {"ranks.csv", "staleness_max", "iterations", "the largest of those"},
    {"ranks.csv", "gap_mean", "iterations",
     "on entering an iteration but the first: its own minus the slowest worker's that has not finished"},
    {"ranks.csv", "gap_max", "iterations", "the largest of those"},
    {"ranks.csv", "queue_max", "messages", "most in its mailbox, at the moments it looked"},
    {"ranks.csv", "wait_s: REASON", "s", "`wait_s` by reason; a column for each reason that occurs in the run"},
    {"ranks.csv", "figure: NAME", "",
     "a figure of the protocol's own ([protocols.md](protocols.md)); a column for each that occurs in the run"},
    {"curve.csv", "model", "", "`mean` (of the workers' models), `median rank`, `worst rank` (by loss at this point)"},
    {"curve.csv", "time_s", "s", "of the evaluation on the trial's clock"},
    {"curve.csv", "iteration", "iterations", "finished, mean over the workers"},
    {"curve.csv", "samples", "samples", "summed over the workers"},
    {"curve.csv", "loss", "nats, or the objective's", "mean over the first `evaluation_samples` of the test set"},
    {"curve.csv", "accuracy", "0 to 1", "share of right answers there; 0 where the model has none"},
    {"curve.csv", "consensus_distance", "", "root mean square distance of the workers' models from their mean"},
    {"host.csv", "rank", "", "a number, or `all`"},
    {"host.csv", "wall_s", "s",
     "of the whole trial with starting and ending its processes, beside what else ran (`--jobs 1`: no other trial); "
     "of `all` only"},
    {"host.csv", "cpu_s", "s", "CPU time of the process; `all`: their sum. Virtual time is one process: see `all`"},
    {"host.csv", "cpu_wait_s", "s",
     "run delay (runnable, but no core) of all its threads, in compute slots too. 0 where the kernel does not tell"},
    {"host.csv", "contended_s", "s",
     "run delay (runnable, but no core) outside compute slots or past their deadlines; unpaced, all of it. 0 where "
     "the kernel does not tell"},
    {"host.csv", "overruns", "", "gradients whose arithmetic outlasted their slot"},
    {"host.csv", "max_rss_bytes", "bytes", "largest resident memory; `all`: of the largest process"},
    {"host.csv", "link_late_median_s", "s",
     "of emulated links: by how much a message that the rank waited for was handed over after it was due; `all`: of "
     "the rank with the largest"},
    {"host.csv", "link_late_p99_s", "s", "the 99th percentile of that"},
    {"host.csv", "machine", "", "that the rank ran on, where a run is of several processes (docs/clusters.md)"},
});

}  // namespace

std::span<const Column> columns() { return kColumns; }

std::string markdown_row(const Column& column) {
  return fmt::format("| `{}` | {} | {} |", column.name, column.unit, column.meaning);
}

}  // namespace hopbench
