#include "results/files/fields.h"

#include "results/files/cells.h"

namespace hopbench {
namespace {

using namespace cells;  // NOLINT(google-build-using-namespace): the lists name most of them

/// Returns a field that is a member. Its value is a cell too if it has one.
template <auto kMember, class Record = typename RecordOf<decltype(kMember)>::type>
constexpr Field<Record> stored(const char* name, const char* table = nullptr, const char* unit = "",
                               const char* meaning = "") {
  Field<Record> field;
  field.name = name;
  field.get = [](const Record& record) { return encode(record.*kMember); };
  field.set = [](Record& record, const OrderedJson& j) { decode(j, record.*kMember); };
  field.column = {table, name, unit, meaning};
  using Member = std::remove_cvref_t<decltype(std::declval<Record&>().*kMember)>;
  field.number = std::is_arithmetic_v<Member> && !std::is_same_v<Member, bool>;
  if constexpr (requires(const Record& record) { value_of(record.*kMember); })
    field.cell = [](const Record& record, const std::string&) { return value_of(record.*kMember); };
  return field;
}

/// Returns a field that is a member of the trial's failure.
template <auto kPart>
constexpr Field<TrialRecord> of_failure(const char* name, const char* table = nullptr, const char* meaning = "") {
  Field<TrialRecord> field;
  field.name = name;
  field.get = [](const TrialRecord& record) { return encode(record.failure.*kPart); };
  field.set = [](TrialRecord& record, const OrderedJson& j) { decode(j, record.failure.*kPart); };
  field.column = {table, name, "", meaning};
  if constexpr (requires(const Failure& failure) { value_of(failure.*kPart); })
    field.cell = [](const TrialRecord& record, const std::string&) { return value_of(record.failure.*kPart); };
  return field;
}

/// Returns a field that is only a column, of numbers.
template <class Record>
constexpr Field<Record> computed(typename Field<Record>::Cell cell, const char* column, const char* table,
                                 const char* unit, const char* meaning) {
  Field<Record> field;
  field.cell = cell;
  field.number = true;
  field.column = {table, column, unit, meaning};
  return field;
}

constexpr Field<TrialRecord> warning_kinds() {
  Field<TrialRecord> field;
  field.name = "warning_kinds";
  field.get = kinds_of;
  field.set = set_kinds;
  return field;
}

CsvValue bytes_for_each_sample(const TrialRecord& record, const std::string&) {
  return value_of(bytes_per_sample(record));
}

CsvValue goodput(const TrialRecord& record, const std::string&) {
  const double ideal = record.window_ideal_samples_per_s, heard = record.samples_heard_per_s;
  return ideal > 0 && heard >= 0 ? value_of(heard / ideal) : CsvValue();
}

using L = TrialLabels;
using T = TrialRecord;
using R = RankRecord;
using P = CurvePoint;
constexpr const char *kEvery = "", *kTrials = "trials.csv", *kRanks = "ranks.csv", *kCurve = "curve.csv",
                     *kHost = "host.csv";

/// Returns a column of host.csv, which another run need not have again.
template <auto kMember>
constexpr Field<RankRecord> of_host(const char* name, const char* unit, const char* meaning) {
  return stored<kMember>(name, kHost, unit, meaning).never_compared();
}

constexpr Field<TrialLabels> kLabels[] = {
    stored<&L::scenario>("scenario", kEvery, "", "the scenario's name in the suite"),
    stored<&L::variant>("variant", kEvery, "", "the variant's label in the suite, or its protocol with its knobs"),
    stored<&L::seed>("seed", kEvery, "", "seed of every random draw"),
    stored<&L::repeat>("repeat", kEvery, "",
                       "number of the repeat, from 0. Trials with the same seed and repeat share their random draws; "
                       "ratios between variants are formed from such pairs"),
    stored<&L::suite>("suite", kTrials, "", "the suite's name"),
    stored<&L::measure>("measure", kTrials, "", "the measure's name in the suite"),
    stored<&L::what>("what", kTrials, "", "`rate` or `convergence`"),
    stored<&L::protocol>("protocol", kTrials, "", "the protocol's name; the variant is this with its knobs"),
    stored<&L::knobs>("knobs", kTrials, "",
                      "all knobs of the protocol: `backup=1, staleness=4`; `none`; empty: not recorded"),
    stored<&L::backend>("backend", kTrials, "", "backend that does the arithmetic"),
    stored<&L::transport>("transport", kTrials, "",
                          "what carries the messages (`sim`: virtual time; `gloo+emulated`: over emulated links)"),
    stored<&L::clock>("clock", kTrials, "", "`virtual` or `real`"),
    stored<&L::world>("world", kTrials, "", "number of ranks: workers and servers"),
    stored<&L::hosts>("hosts", kTrials, "",
                      "number of hosts that the ranks are on, by the suite's placement (`network.hosts`). Hosts of "
                      "servers, of Prague's generator and of partial_reduce's controller count too"),
    stored<&L::batch>("batch", kTrials, "", "samples in a gradient of one worker"),
    stored<&L::model>("model", kTrials, "", "the model that is trained"),
    stored<&L::dataset>("dataset", kTrials, "", "the data set that the model is trained and tested on"),
    stored<&L::split>("split", kTrials, "", "how the training set is divided, a phrase"),
    stored<&L::topology>("topology", kTrials, "", "which workers are linked with which"),
    stored<&L::network>("network", kTrials, "", "the network, a phrase; empty with real processes"),
    stored<&L::optimizer>("optimizer", kTrials, "", "the optimizer, a phrase"),
    stored<&L::tuned>("tuned", kTrials, "",
                      "1: the learning rate was tuned by `hopbench tune`, and the settings are those of that tuning "
                      "([tuning.md](tuning.md))"),
    stored<&L::cost_s>("cost_s", kTrials, "", "what an unslowed gradient costs on the clock; 0: unpaced"),
    stored<&L::experimental>("experimental", kTrials, "",
                             "1: some rule that the trial uses is called `likely` or `guess`, and not `sure` "
                             "([protocols.md](protocols.md))"),
    stored<&L::source>("source", kTrials, "",
                       "what the description of the protocol rests on: its provenance ([protocols.md](protocols.md))"),
    stored<&L::reading>(
        "reading", kTrials, "",
        "how the protocol's paper was read: the name of the notes on it ([protocols.md](protocols.md))"),
    stored<&L::order>("order", kTrials, "", "place in the run, from 0"),
    stored<&L::status_mark>("status_mark"),
    stored<&L::row_order>("place"),
    stored<&L::target_loss>("target_loss"),
    stored<&L::target_hold>("target_hold"),
    stored<&L::target_model>("target_model"),
    stored<&L::learns>("learns"),
    stored<&L::faults>("faults"),
    stored<&L::unharmed>("unharmed"),
};

constexpr Field<TrialRecord> kTrial[] = {
    stored<&T::id>("id", kEvery, "", "`suite/measure/scenario/variant/seed/repeat`").named("trial").never_compared(),
    stored<&T::hash>("hash").never_compared(),
    stored<&T::status>("status", kTrials, "",
                       "`ok`, `failed`, `interrupted`. Only `ok` trials are in the summary's numbers"),
    of_failure<&Failure::text>("reason", kTrials, "why the trial failed: rank, signal or error, phase, iteration")
        .never_compared(),
    of_failure<&Failure::kind>("failure_kind"),
    of_failure<&Failure::rank>("failure_rank"),
    stored<&T::warnings>("warnings", kTrials, "", "marks, separated by `; `: see below").never_compared(),
    warning_kinds(),
    stored<&T::time_s>("time_s", kTrials, "s", "when the last worker that was not lost finished"),
    stored<&T::ranks_lost>("ranks_lost", kTrials, "",
                           "number of workers that crashed or left before the end, by the scenario. Rates, losses and "
                           "`params_hash` are of the others"),
    stored<&T::first_lost_s>("first_lost_s", kTrials, "s", "when the first worker was lost; empty: none was")
        .shown(first_lost),
    computed<T>(sum<&R::iters, kWorkers>, "iters_total", kTrials, "iterations",
                "iterations of all workers, jumped ones not counted"),
    computed<T>(sum<&R::iters_jumped, kWorkers>, "iters_jumped", kTrials, "iterations",
                "iterations that were skipped by a jump"),
    computed<T>(least_iters, "iters_min_rank", kTrials, "iterations", "iterations of the worker with the fewest"),
    computed<T>(sum<&R::gradients, kAll>, "gradients", kTrials, "",
                "gradients that were computed. One that was computed in parts counts once, also if it ended early and "
                "what there was of it is used (dropcompute, abs_sgd). One that was cut short and thrown away is none: "
                "see `gradients cut`"),
    computed<T>(sum<&R::gradients_lost, kAll>, "gradients_lost", kTrials, "",
                "gradients that were computed but lost: (1) a jump threw them away, and no update with them had been "
                "sent in time for any neighbour (the sender's tokens say what is in time), (2) a server refused them "
                "as too late, or (3) the round that they were for was over (dybw). More gradients than these may have "
                "reached no other model, for example because no receiver used an update that was sent in time. If "
                "Hop's workers do not jump, or keep their own model in a jump, nothing is counted, because that model "
                "keeps the work, however late its updates are"),
    computed<T>(sum<&R::samples, kAll>, "samples", kTrials, "samples", "samples in all gradients that were computed"),
    computed<T>(sum<&R::bytes_sent, kAll>, "bytes_sent", kTrials, "bytes",
                "bytes that all ranks sent: the payload of each message, and 64 for its header"),
    computed<T>(bytes_for_each_sample, "bytes_per_sample", kTrials, "bytes/sample",
                "bytes_sent / samples: what a protocol sends for its work"),
    computed<T>(sum<&R::messages_sent, kAll>, "messages", kTrials, "",
                "messages that protocols sent; the runtime's own are not counted"),
    stored<&T::window_start_s>("window_start_s", kTrials, "s", "start of the steady window"),
    stored<&T::window_end_s>("window_end_s", kTrials, "s", "end of the steady window"),
    stored<&T::samples_per_s>("samples_per_s", kTrials, "samples/s", "rate of all workers, in the window"),
    stored<&T::iters_per_s>("iters_per_s", kTrials, "1/s", "iteration rate, mean of the workers, in the window"),
    stored<&T::median_iteration_s>("median_iteration_s", kTrials, "s",
                                   "median length of the workers' iterations that lie wholly in the window"),
    stored<&T::wait_share>("wait_share", kTrials, "0 to 1",
                           "the workers' waiting / their time until each finished; of the whole trial"),
    stored<&T::main_wait>("main_wait", kTrials, "text", "the reason that the workers waited longest for"),
    stored<&T::samples_heard_per_s>(
        "samples_heard_per_s", kTrials, "samples/s",
        "the part of `samples_per_s` whose gradients reached others: another worker averaged an update that contains "
        "them (the first one that was sent after them, or a later one), or a server applied them. The last gradients "
        "of a worker count as heard. Where Hop jumps, an update that was sent in time counts too, although with backup "
        "workers it may be that no receiver uses it. Empty: workers were lost, or a row of schema 1.2 or older")
        .shown(if_known<&T::samples_heard_per_s>),
    stored<&T::window_ideal_samples_per_s>("window_ideal_samples_per_s", kTrials, "samples/s",
                                           "bound: the rate if no worker's device had idled in this trial's window. "
                                           "Empty: no cost is known, or a row of schema 1.0")
        .shown(if_known<&T::window_ideal_samples_per_s>),
    computed<T>(goodput, "goodput", kTrials, "0 to 1",
                "samples_heard_per_s / window_ideal_samples_per_s: the share of what the workers could have computed "
                "in the window, without faults and waits, that reached others. Empty: one of the two is"),
    stored<&T::slowest_rank_samples_per_s>("slowest_rank_samples_per_s", kTrials, "samples/s",
                                           "bound: all workers at the rate of the slowest"),
    stored<&T::without_slowest_samples_per_s>(
        "without_slowest_samples_per_s", kTrials, "samples/s",
        "bound: without the slowest worker, the others at the rate of the slowest of them"),
    stored<&T::overrun_share>("overrun_share", kTrials, "0 to 1",
                              "iterations whose arithmetic did not fit its slot (real processes)")
        .never_compared(),
    computed<T>(
        largest<&R::gap_max, kWorkers>, "gap_max", kTrials, "iterations",
        "the largest number of iterations by which a worker was ahead of the slowest worker that had not finished"),
    stored<&T::gap_bound>("gap_bound", kTrials, "iterations",
                          "how large `gap_max` can get, by the protocol ([protocols.md](protocols.md)); empty: there "
                          "is no bound, none is known, or workers were lost")
        .shown(if_known<&T::gap_bound>),
    computed<T>(largest<&R::staleness_max, kAll>, "staleness_max", kTrials, "iterations", "the largest of `ranks.csv`"),
    stored<&T::params_hash>("params_hash", kTrials, "16 hex digits",
                            "hash over the last reported vectors of all workers, in rank order; two hashes are equal "
                            "if all bits are equal. Compare it only where the stop rule is `iterations`")
        .of_arithmetic(),
    computed<T>(mean_figure, "figure: NAME", kTrials, "",
                "a figure of the protocol's own, mean over its ranks; a column for each that occurs in the run")
        .for_each(all_figures),
    stored<&T::path>("path"),
    stored<&T::wall_s>("wall_s").never_compared(),
    stored<&T::cpu_s>("cpu_s").never_compared(),
    stored<&T::max_rss_bytes>("max_rss_bytes").never_compared(),
    stored<&T::ranks>("ranks"),
    stored<&T::curve>("curve"),
};

constexpr Field<TableLine> kLine[] = {
    computed<TableLine>(target, "target_loss", kTrials, "nats, or the objective's", "the suite's target; empty: none"),
    computed<TableLine>(to_target<&TargetReached::time_s, &Crossing::fitted>, "time_to_target_s", kTrials, "s",
                        "time at which the fitted curve reaches the target; empty: not reached"),
    computed<TableLine>(to_target<&TargetReached::samples, &Crossing::fitted>, "samples_to_target", kTrials, "samples",
                        "likewise"),
    computed<TableLine>(to_target<&TargetReached::iterations, &Crossing::fitted>, "iters_to_target", kTrials,
                        "iterations", "likewise"),
    computed<TableLine>(to_target<&TargetReached::time_s, &Crossing::held>, "time_to_target_held_s", kTrials, "s",
                        "time of the first of `hold` evaluations in a row at or below the target"),
    computed<TableLine>(to_target<&TargetReached::samples, &Crossing::held>, "samples_to_target_held", kTrials,
                        "samples", "likewise"),
    computed<TableLine>(to_target<&TargetReached::iterations, &Crossing::held>, "iters_to_target_held", kTrials,
                        "iterations", "likewise"),
    computed<TableLine>(at_the_end<&P::loss>, "final_loss", kTrials, "nats, or the objective's",
                        "loss of the mean model at the end"),
    computed<TableLine>(at_the_end<&P::accuracy>, "final_accuracy", kTrials, "0 to 1",
                        "accuracy of the mean model at the end"),
    computed<TableLine>(best, "best_accuracy", kTrials, "0 to 1", "best accuracy of the mean model at any evaluation"),
    computed<TableLine>(rank_or_all, "rank", kHost, "", "a number, or `all`").as_text(),
    computed<TableLine>(wall, "wall_s", kHost, "s",
                        "wall time of the whole trial, including start and end of its processes, and what other "
                        "programs took (`--jobs 1`: no other trial ran); of `all` only"),
};

constexpr Field<RankRecord> kRank[] = {
    stored<&R::rank>("rank", kRanks, "", "number of the rank, from 0; servers last"),
    stored<&R::worker>("worker", kRanks, "",
                       "the worker's number in the suite, which differs from `rank` where the variant is without some; "
                       "empty: a server, or a row of an older version")
        .shown(worker_number)
        .never_compared(),
    stored<&R::server>("server", kRanks, "", "`worker` or `server`").named("role").shown(role),
    stored<&R::lost>(
        "lost", kRanks, "",
        "`crash`, `leave`: the rank was lost before the end, by the scenario. For a crashed rank only the time of the "
        "crash is known and, in curves, how many samples it had computed; its counters were lost with it"),
    stored<&R::finished>(
        "finished", kRanks, "s",
        "when the rank's protocol code returned; 0: a server that was ended because nobody needed it any more")
        .named("finished_s"),
    stored<&R::compute>("compute", kRanks, "s", "time in gradients, as paced, slowdown included").named("compute_s"),
    computed<R>(waited, "wait_s", kRanks, "s",
                "time that the rank's protocol code waited, including hangs of the scenario; the waiting of its helper "
                "threads for work is not counted"),
    stored<&R::injected_delay>("injected_delay", kRanks, "s",
                               "the part of `compute_s` that the scenario's slowdown added")
        .named("injected_delay_s"),
    stored<&R::vector_ops>("vector_ops", kRanks, "s", "time in averages, optimizer steps and other vector operations")
        .named("vector_ops_s"),
    stored<&R::iters>("iters", kRanks, "", "as in trials.csv, for this rank"),
    stored<&R::iters_jumped>("iters_jumped", kRanks, "", "as in trials.csv, for this rank"),
    stored<&R::gradients>("gradients", kRanks, "", "as in trials.csv, for this rank"),
    stored<&R::gradients_lost>("gradients_lost", kRanks, "", "as in trials.csv, for this rank"),
    stored<&R::samples>("samples", kRanks, "", "as in trials.csv, for this rank"),
    computed<R>(batch_mean, "batch_mean", kRanks, "samples", "mean batch of a gradient; empty: the rank computed none"),
    stored<&R::messages_sent>("messages_sent", kRanks, "", "as in trials.csv, for this rank").named("messages"),
    stored<&R::bytes_sent>("bytes_sent", kRanks, "bytes", "as in trials.csv, for this rank"),
    stored<&R::slow_events>("slow_events", kRanks, "", "gradients that met a slowdown"),
    stored<&R::staleness_mean>(
        "staleness_mean", kRanks, "iterations",
        "of a worker: its iteration minus the iteration of the vector that it averaged, mean over all vectors of "
        "others. Of a server: the number of its updates since it sent the weights that the gradient was computed on. "
        "Families of protocols count in different units: compare within one"),
    stored<&R::staleness_max>("staleness_max", kRanks, "iterations",
                              "the largest value of which `staleness_mean` is the mean"),
    stored<&R::gap_mean>("gap_mean", kRanks, "iterations",
                         "at each entry of an iteration except the first: its own iteration minus that of the slowest "
                         "unfinished worker; mean"),
    stored<&R::gap_max>("gap_max", kRanks, "iterations", "the largest value of which `gap_mean` is the mean"),
    stored<&R::heard>("heard").never_compared(),
    stored<&R::heard_step>("heard_step").never_compared(),
    stored<&R::lost_in>("lost_in").never_compared(),
    stored<&R::queue_max>("queue_max", kRanks, "messages",
                          "largest number of messages in its mailbox, at the moments when it read it"),
    stored<&R::waits>("waits", kRanks, "s", "`wait_s` by reason; a column for each reason that occurs in the run")
        .named("wait_s: REASON")
        .shown(wait)
        .for_each(reasons_of),
    stored<&R::figures>(
        "figures", kRanks, "",
        "a figure of the protocol's own ([protocols.md](protocols.md)); a column for each that occurs in the run")
        .named("figure: NAME")
        .shown(figure)
        .for_each(figures_of),
    stored<&R::host>("host"),
    stored<&R::bytes_to>("bytes_to"),
    of_host<&R::cpu_s>("cpu_s", "s",
                       "CPU time of the process; `all`: their sum. Virtual time is one process: see `all`"),
    of_host<&R::cpu_wait_s>(
        "cpu_wait_s", "s",
        "run delay (runnable, but no core) of all its threads, in compute slots too. 0 where the kernel does not tell"),
    of_host<&R::contended_s>("contended_s", "s",
                             "run delay (runnable, but no core) outside compute slots or past their deadlines; "
                             "unpaced, all of it. 0 where the kernel does not tell"),
    of_host<&R::overruns>("overruns", "", "gradients whose arithmetic outlasted their slot"),
    of_host<&R::max_rss_bytes>("max_rss_bytes", "bytes", "largest resident memory; `all`: of the largest process"),
    of_host<&R::state_vectors>(
        "state_vectors", "",
        "vectors of the model's size that the rank keeps: the fewest that its process held at the start of an "
        "iteration (a server: of a wait), from the 20th on, gradients that stay in memory included, momentum of sparse "
        "models not. 0: none, or not known, as in virtual time and with fewer iterations. `all`: their sum"),
    of_host<&R::awaited_bodies>("awaited_bodies", "",
                                "Gloo: vectors that had to wait until the receiver asked for them, because they did "
                                "not fit into its memory of `transport.eager_bytes`"),
    of_host<&R::carriers>(
        "carriers", "", "the other ranks that the rank was connected to, grouped by transport: `shm: 0-2; gloo: 3 5`"),
    of_host<&R::congestion_control>("congestion_control", "", "TCP's, where the rank used TCP: `cubic`, `reno`, `bbr`"),
    of_host<&R::gpu>("gpu", "", "PCI address of the GPU that the rank computed on"),
    of_host<&R::gpu_shared_well>(
        "gpu_mps", "", "NVIDIA's MPS was there, so that ranks on one GPU computed side by side, not in turns"),
    of_host<&R::gpu_fallbacks>("gpu_fallbacks", "",
                               "number of ranks whose GPU memory could not be read in place, plus number of batch "
                               "sizes without a CUDA graph: see gpu_remarks"),
    of_host<&R::gpu_remarks>("gpu_remarks", "", "how the rank used its GPU: graphs, shared memory, waits"),
    of_host<&R::staged_bodies>("staged_bodies", "",
                               "vectors that were copied between the rank's GPU and host memory for messages"),
    of_host<&R::link_late_median_s>("link_late_median_s", "s",
                                    "for emulated links: how late messages arrived that the rank waited for (median); "
                                    "`all`: the largest value of any rank"),
    of_host<&R::link_late_p99_s>("link_late_p99_s", "s", "the 99th percentile of that lateness"),
    of_host<&R::machine>("machine", "",
                         "the machine that the rank ran on, if the run uses several machines (docs/clusters.md)"),
    stored<&R::marks>("marks").never_compared(),
};

constexpr Field<CurvePoint> kPoint[] = {
    stored<&P::model>("model", kCurve, "",
                      "`mean` (of the workers' models), `median rank`, `worst rank` (by loss at this point), `server` "
                      "(the parameter servers' own, all parts at one instant)"),
    stored<&P::time>("time", kCurve, "s", "time of the evaluation on the trial's clock").named("time_s"),
    stored<&P::iteration>("iteration", kCurve, "iterations", "iterations that were finished, mean over the workers"),
    stored<&P::samples>("samples", kCurve, "samples", "samples of all workers together"),
    stored<&P::loss>("loss", kCurve, "nats, or the objective's",
                     "mean loss over the first `evaluation_samples` of the test set")
        .of_arithmetic(),
    stored<&P::accuracy>("accuracy", kCurve, "0 to 1",
                         "share of right answers on those samples; 0 where the model has none")
        .of_arithmetic(),
    stored<&P::consensus_distance>("consensus_distance", kCurve, "",
                                   "root mean square distance of the workers' models from their mean")
        .of_arithmetic(),
};

}  // namespace

std::span<const Field<TrialLabels>> json_fields_of(const TrialLabels*) { return kLabels; }
std::span<const Field<TrialRecord>> json_fields_of(const TrialRecord*) { return kTrial; }
std::span<const Field<RankRecord>> json_fields_of(const RankRecord*) { return kRank; }
std::span<const Field<CurvePoint>> json_fields_of(const CurvePoint*) { return kPoint; }
std::span<const Field<TableLine>> json_fields_of(const TableLine*) { return kLine; }

std::set<std::string> names_with(Agreement agreement) {
  std::set<std::string> names;
  const auto add = [&](auto list) {
    for (const auto& field : list) {
      if (field.agreement == agreement) names.insert(field.name);
    }
  };
  add(fields<TrialRecord>());
  add(fields<RankRecord>());
  add(fields<CurvePoint>());
  return names;
}

std::optional<double> bytes_per_sample(const TrialRecord& record) {
  std::int64_t bytes = 0, samples = 0;
  for (const RankRecord& rank : record.ranks) {
    bytes += rank.bytes_sent;
    samples += rank.samples;
  }
  return samples > 0 ? std::optional(static_cast<double>(bytes) / static_cast<double>(samples)) : std::nullopt;
}

std::set<std::string> trial_columns(bool numbers) {
  std::set<std::string> names;
  visit_columns(kTrials, [&](const char* table, const auto& list, const auto&) {
    for (const auto& field : list) {
      if (field.is_in(table) && field.number == numbers && field.keys == nullptr) names.insert(field.column.name);
    }
  });
  return names;
}

namespace {

std::vector<Column> all_columns() {
  std::vector<Column> all;
  for (const char* table : {kTrials, kRanks, kCurve, kHost}) {
    visit_columns(table, [&](const char* of, const auto& list, const auto&) {
      const bool known = *of == '\0' && table != kTrials;
      for (const auto& field : list) {
        if (!known && field.is_in(of)) all.push_back(field.column);
      }
    });
  }
  return all;
}

}  // namespace

std::span<const Column> columns() {
  static const std::vector<Column> all = all_columns();
  return all;
}

}  // namespace hopbench
