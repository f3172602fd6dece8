#include "suites/language/keys.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "backends/base/text.h"
#include "backends/compute/backend.h"
#include "backends/transport/wire.h"
#include "models/dataset.h"
#include "models/workload.h"
#include "protocols/node/protocol.h"
#include "protocols/node/topology.h"
#include "suites/language/network_presets.h"

namespace hopbench {
namespace {

using Names = std::vector<std::string>;
using T = KeyType;

template <class Entries>
Names names_of(const Entries& entries) {
  Names names;
  for (const auto& entry : entries) names.emplace_back(entry.name);
  return names;
}

Names model_names() { return names_of(models()); }
Names dataset_names() { return names_of(datasets()); }
Names backend_names() { return names_of(backends()); }
Names precision_names() { return {"fp32", "tf32", "bf16"}; }
Names transport_names() {
  Names names = names_of(transports());
  names.emplace_back("sim");
  return names;
}
Names topology_names() {
  Names names;
  for (const auto& [name, summary] : topologies()) names.emplace_back(name);
  names.emplace_back("edges");
  return names;
}
Names protocol_names() {
  Names names;
  for (const Protocol* protocol : protocols()) names.emplace_back(protocol->name);
  return names;
}
Names orders() { return {"interleaved", "random", "sequential"}; }
Names augmentations() { return {"none", "pad_crop_flip"}; }
Names split_kinds() { return {"iid", "dirichlet", "shards", "by_feature"}; }
Names statistics_kinds() { return {"running", "precise"}; }
Names optimizer_names() { return {"sgd", "adamw"}; }
Names step_rules() { return {"per_sample", "as_written"}; }
Names rule_kinds() { return {"constant", "bernoulli", "exponential", "log_normal", "pareto", "trace", "markov"}; }
Names trace_maps() { return {"fixed", "resample_ranks", "block_bootstrap"}; }
Names trace_ends() { return {"wrap", "hold", "error"}; }
Names link_kinds() { return {"trace", "markov"}; }
Names link_trace_maps() { return {"fixed", "block_bootstrap"}; }
Names fault_kinds() { return {"crash", "leave", "join", "hang", "cut"}; }
Names draw_units() { return {"iteration", "time"}; }
Names draw_groups() { return {"rank", "host", "all"}; }
Names target_models() { return {"auto", "mean", "median rank", "worst rank"}; }
Names slowed_work() { return {"gradients", "all"}; }
Names preset_names() { return names_of(network_presets()); }
Names queue_kinds() { return {"fair", "fifo"}; }
Names measure_kinds() { return {"rate", "convergence"}; }

constexpr double kMany = 1e12;     // "no limit", for counts
constexpr double kDays = 86400e3;  // ... and for times, in seconds
constexpr double kTiny = 1e-9;

constexpr auto kWork = &TrialSpec::workload;
constexpr auto kOptimizer = &TrialSpec::optimizer;
constexpr auto kNetwork = &TrialSpec::network;

const std::vector<SuiteKey> kKeys = {
    {"schema", T::kInteger, nullptr, 1, 1, nullptr, "version of this format"},
    {"name", T::kText, "", 0, 0, nullptr, "name of the suite; the file's name if it is not set"},
    {"summary", T::kText, "\"\"", 0, 0, nullptr, "one line"},
    {"tuned", T::kBool, "false", 0, 0, nullptr,
     "set by `hopbench tune`; counts if [tuning] shows the settings that the suite has, else results are marked "
     "untuned"},

    {"run.world_size", T::kInteger, nullptr, 1, 65536, nullptr, "workers; servers are ranks beside them"},
    {"run.samples", T::kInteger, "", 1, kMany, nullptr, "stop after so many samples, summed over the ranks"},
    {"run.epochs", T::kReal, "", kTiny, 1e6, nullptr, "stop after so many passes over the training set"},
    {"run.iterations", T::kInteger, "50", 1, 1e9, nullptr,
     "stop after so many iterations of a rank; a rate's warm-up comes before them"},
    {"run.seconds", T::kReal, "", kTiny, kDays, nullptr, "reserved: this version does not stop by time and says so"},
    {"run.repeats", T::kInteger, "3", 1, 1000, nullptr, "how often each trial runs, every time with new draws"},
    {"run.seed", T::kInteger, "1", 0, 9.2e18, nullptr, "seed of every draw", to<&TrialSpec::seed>("seed", take_seed)},
    {"run.reference", T::kText, "", 0, 0, nullptr,
     "label of the variant that speed-ups refer to; the first one if it is not set"},
    {"run.order", T::kName, "\"interleaved\"", 0, 0, orders,
     "of the trials: variants take turns (seeded), all shuffled, or as written"},
    {"run.remeasure", T::kInteger, "1", 0, 10, nullptr,
     "how often a trial that the machine disturbed (oversubscribed, cpu-contended) is measured again",
     to<&TrialSpec::remeasure>("remeasure").as_limit()},
    {"run.warmup", T::kCount, "\"auto\"", 0, 1e6, nullptr,
     "iterations of a rank left out of rates, at least 10; \"auto\": twice as many as a rank may be ahead of another"},
    {"run.warmup_time", T::kDuration, "\"2s\"", 0, kDays, nullptr, "rates leave out at least this long",
     to<&TrialSpec::warmup_time>("warmup_time")},
    {"run.shuffles", T::kInteger, "0", 0, 100, nullptr,
     "virtual time, rates: so many other orders of what happens at one instant are tried, without gradients; a trial "
     "whose rate they change by more than 5 % is marked `depends on ties`",
     to_optional<&TrialSpec::shuffles>("shuffles")},
    {"run.evaluations", T::kCount, "\"auto\"", 0, 100000, nullptr,
     "points of the loss curve, evenly over the samples; \"auto\": 15 for convergence, 0 (only the end) for rate"},
    {"run.evaluation_samples", T::kInteger, "512", 1, kMany, nullptr,
     "the first so many samples of the test set, on which every point is evaluated",
     to<kWork, &WorkloadSpec::evaluation_samples>("evaluation_samples")},
    {"run.target.loss", T::kReal, "0.0", 0, 1e30, nullptr, "loss whose time is reported; 0: none",
     to<&TrialSpec::target_loss>("target_loss")},
    {"run.target.hold", T::kInteger, "3", 1, 1000, nullptr, "points in a row that count as reached",
     to<&TrialSpec::target_hold>("target_hold")},
    {"run.target.model", T::kName, "\"auto\"", 0, 0, target_models,
     "whose loss has to reach it; \"auto\": the servers' model where there is one, else the mean of the workers'",
     to_optional<&TrialSpec::target_model>("target_model")},
    {"run.rendezvous_timeout", T::kDuration, "\"30s\"", kTiny, kDays, nullptr, "for all ranks to meet",
     to<&TrialSpec::rendezvous_timeout>("rendezvous_timeout").as_limit()},
    {"run.stall_timeout", T::kDuration, "\"60s\"", kTiny, kDays, nullptr, "no rank got anything done for this long",
     to<&TrialSpec::stall_timeout>("stall_timeout").as_limit()},
    {"run.trial_timeout", T::kDuration, "\"30min\"", kTiny, kDays, nullptr, "of a trial as a whole",
     to<&TrialSpec::trial_timeout>("trial_timeout").as_limit()},

    {"model.name", T::kName, "\"lenet\"", 0, 0, model_names, "see `hopbench list models`",
     to<kWork, &WorkloadSpec::model>("model")},
    {"model.dataset.name", T::kName, "", 0, 0, dataset_names,
     "see `hopbench list datasets`; the model's own if it is not set"},
    {"model.dataset.path", T::kFolder, "\"\"", 0, 0, nullptr,
     "folder of its files; \"\": where its package or `ci/fetch-data` puts them",
     to<kWork, &WorkloadSpec::dataset_path>("dataset_path")},
    {"model.batch", T::kInteger, "32", 1, 1e6, nullptr, "samples in a gradient of one worker",
     to<kWork, &WorkloadSpec::batch>("batch")},
    {"model.split.kind", T::kName, "\"iid\"", 0, 0, split_kinds, "how the training set is divided among the workers",
     to<kWork, &WorkloadSpec::split, &SplitSpec::what>("split")},
    {"model.split.alpha", T::kReal, "0.5", 1e-6, 1e6, nullptr, "dirichlet: smaller is more skewed",
     to<kWork, &WorkloadSpec::split, &SplitSpec::alpha>("split_alpha")},
    {"model.split.shards_per_worker", T::kInteger, "2", 1, 1e6, nullptr, "shards: of the samples sorted by label",
     to<kWork, &WorkloadSpec::split, &SplitSpec::shards_per_worker>("split_shards_per_worker")},
    {"model.split.feature", T::kInteger, "-1", -1, 1e9, nullptr,
     "by_feature: the samples are sorted by this feature, from 0, and cut, and the slices are dealt at random; -1: by "
     "the sum of all (brightness); of sparse rows: the columns in use, counted from 0",
     to<kWork, &WorkloadSpec::split, &SplitSpec::feature>("split_feature")},
    {"model.augment", T::kName, "\"none\"", 0, 0, augmentations,
     "pad_crop_flip: a training picture is padded by 4, cropped at random and mirrored half the time",
     to<kWork, &WorkloadSpec::augment>("augment")},
    {"model.size", T::kInteger, "0", 0, 1e10, nullptr,
     "parameters of `timing_only`, unless `model.wire_bytes` is given, and of `quadratic` (at most 4096); 0: the "
     "model's default",
     to<kWork, &WorkloadSpec::size>("size")},
    {"model.profile", T::kFile, "", 0, 0, nullptr,
     "timing_only, instead of `model.size`: file with the sizes and times of a gradient's buckets, beside the suite or "
     "in the current folder"},
    {"model.wire_bytes", T::kInteger, "0", 0, 4e12, nullptr,
     "bytes that messages and vector operations charge for the whole model, for a small one that stands for a large "
     "one (sim); 0: its own. timing_only has the buckets of a gradient of so many bytes",
     to_optional<&TrialSpec::costs, &Costs::wire_bytes>("wire_bytes")},
    {"model.statistics", T::kName, "\"running\"", 0, 0, statistics_kinds,
     "of batch norms, for evaluation: averaged like parameters, or estimated from 1024 samples at each point",
     to<kWork, &WorkloadSpec::statistics>("statistics")},

    {"optimizer.name", T::kName, "\"sgd\"", 0, 0, optimizer_names,
     "sgd: stochastic gradient descent; adamw: Adam with decoupled weight decay",
     to_optional<kOptimizer, &OptimizerSpec::kind>("optimizer")},
    {"optimizer.lr", T::kReal, "0.05", 0, 1e6, nullptr, "learning rate", to<kOptimizer, &OptimizerSpec::lr>("lr")},
    {"optimizer.momentum", T::kReal, "0.0", 0, 1, nullptr, "state of a worker (or server), never exchanged",
     to<kOptimizer, &OptimizerSpec::momentum>("momentum")},
    {"optimizer.weight_decay", T::kReal, "0.0", 0, 1e6, nullptr,
     "sgd: this times x is added to the gradient; adamw: x is made shorter by lr times this, matrices and kernels only",
     to<kOptimizer, &OptimizerSpec::weight_decay>("weight_decay")},
    {"optimizer.nesterov", T::kBool, "false", 0, 0, nullptr, "Nesterov's form of momentum",
     to<kOptimizer, &OptimizerSpec::nesterov>("nesterov")},
    {"optimizer.beta1", T::kReal, "0.9", 0, 0.999999, nullptr, "adamw: share of the mean gradient that a step keeps",
     to_optional<kOptimizer, &OptimizerSpec::beta1>("beta1")},
    {"optimizer.beta2", T::kReal, "0.999", 0, 0.999999, nullptr, "adamw: share of the mean square that a step keeps",
     to_optional<kOptimizer, &OptimizerSpec::beta2>("beta2")},
    {"optimizer.epsilon", T::kReal, "1e-8", 1e-30, 1, nullptr, "adamw: is added to the root of the mean square",
     to_optional<kOptimizer, &OptimizerSpec::epsilon>("epsilon")},
    {"optimizer.step", T::kName, "\"per_sample\"", 0, 0, step_rules,
     "per_sample: lr is scaled so that the models move as far a sample as under all-reduce",
     to<kOptimizer, &OptimizerSpec::per_sample>("per_sample", take_step_rule)},
    {"optimizer.steps", T::kTables, "[]", 0, 0, nullptr, "steps of the learning rate",
     to<kOptimizer, &OptimizerSpec::steps>("lr_steps", take_lr_steps)},
    {"optimizer.steps.iteration", T::kReal, nullptr, 0, 1e12, nullptr, "from this iteration on"},
    {"optimizer.steps.factor", T::kReal, nullptr, 0, 1e6, nullptr, "lr is multiplied by this"},
    {"optimizer.lr_warmup", T::kInteger, "0", 0, kMany, nullptr, "lr rises evenly over the first so many iterations",
     to<kOptimizer, &OptimizerSpec::warmup>("lr_warmup")},
    {"optimizer.cosine", T::kInteger, "0", 0, kMany, nullptr,
     "then it falls along half a cosine to 0, at this iteration; 0: it does not",
     to<kOptimizer, &OptimizerSpec::cosine>("lr_cosine")},
    {"optimizer.lr_batch", T::kInteger, "0", 0, 1e9, nullptr,
     "lr is meant for so many samples a step of all workers, and scaled to as many as there are; 0: it is not",
     to<kOptimizer, &OptimizerSpec::lr_batch>("lr_batch")},
    {"optimizer.clip", T::kReal, "0.0", 0, 1e30, nullptr,
     "gradients longer than this are scaled down to it, where a step is made; 0: never",
     to<kOptimizer, &OptimizerSpec::clip>("clip")},

    {"compute.backend", T::kName, "\"onednn\"", 0, 0, backend_names, "see `hopbench list backends`",
     to<kWork, &WorkloadSpec::backend>("backend")},
    {"compute.others", T::kTables, "[]", 0, 0, nullptr, "ranks on another backend; with real processes only",
     taken(take_others)},
    {"compute.others.backend", T::kName, nullptr, 0, 0, backend_names, "theirs"},
    {"compute.others.ranks", T::kRanks, nullptr, 0, 100000, nullptr, "the workers"},
    {"compute.precision", T::kName, "\"fp32\"", 0, 0, precision_names,
     "what products are computed in: fp32; on cuda also tf32, and bf16 with fp32 master weights",
     to<kWork, &WorkloadSpec::precision>("precision")},
    {"compute.deterministic", T::kBool, "true", 0, 0, nullptr,
     "the same bits in every run; false: on cuda, whichever convolutions are measured fastest",
     to<kWork, &WorkloadSpec::deterministic>("deterministic")},
    {"compute.ipc", T::kBool, "true", 0, 0, nullptr,
     "cuda over shm: ranks read each other's vectors on the GPU; false: they are copied through host memory",
     to<kWork, &WorkloadSpec::ipc>("lend")},
    {"compute.threads", T::kInteger, "1", 1, 1024, nullptr, "of one gradient",
     to<kWork, &WorkloadSpec::threads>("threads")},
    {"compute.pace", T::kPace, "\"auto\"", kTiny, kDays, nullptr,
     "how long a gradient takes on the trial's clock: a time; \"auto\": calibrated (real processes only); \"off\": as "
     "long as it takes"},
    {"compute.cost", T::kDuration, "", kTiny, kDays, nullptr,
     "that time in virtual time, where pace is \"auto\" or \"off\""},
    {"compute.vector_rate", T::kRate, "10e9", 0, 1e15, vector_rate_names,
     "bytes read and written a second by averages and steps; 0: they are free; cpu: 10e9, a100: 1.5e12, h100: 2.5e12",
     to<&TrialSpec::costs, &Costs::vector_bytes_per_s>("vector_bytes_per_s", take_vector_rate)},
    {"compute.saturation", T::kInteger, "0", 0, 1e6, nullptr,
     "a gradient of fewer samples takes as long as one of so many, as on a GPU that is not full; 0: time is "
     "proportional",
     to<&TrialSpec::costs, &Costs::saturation>("saturation")},
    {"compute.noise", T::kReal, "0.003", 0, 0.1, nullptr,
     "virtual time: each gradient takes 1 + noise x (a draw of mean 0 and deviation 1, at most 6) times as long, as no "
     "two of a machine take the same time; 0 where exact times are wanted",
     to_optional<&TrialSpec::noise>("noise")},
    {"compute.load_noise", T::kReal, "0.0", 0, 1, nullptr,
     "error of the processor load that lb_bsp's narx is shown, a share of a core (standard deviation)",
     to_optional<&TrialSpec::monitor, &LoadMonitor::noise>("load_noise")},
    {"compute.load_delay", T::kInteger, "0", 0, 1e6, nullptr, "iterations by which that load is old",
     to_optional<&TrialSpec::monitor, &LoadMonitor::delay>("load_delay")},

    {"transport.name", T::kName, "\"auto\"", 0, 0, transport_names,
     "gloo: TCP; shm: shared memory, on one machine; auto: shm between ranks of one machine, gloo between machines; "
     "sim: virtual time",
     to<&TrialSpec::transport>("transport")},
    {"transport.interface", T::kText, "\"\"", 0, 0, nullptr, "gloo: network interface; \"\": loopback",
     to<&TrialSpec::interface>("interface")},
    {"transport.eager_bytes", T::kInteger, "67108864", 0, 1e12, nullptr,
     "gloo: a rank's memory for bodies that it receives before it has read their heads, which saves them a round trip",
     to_optional<&TrialSpec::eager_bytes>("eager_bytes")},

    {"network.preset", T::kName, "\"none\"", 0, 0, preset_names,
     "a network by name, for those keys of [network] that are not given: `hopbench list networks -v`"},
    {"network.latency", T::kDuration, "\"100us\"", 0, kDays, nullptr,
     "one way (all of [network] but loss: sim, or with emulate)", to<kNetwork, &NetworkSpec::latency>("latency")},
    {"network.bandwidth", T::kRate, "125e6", 0, 1e15, nullptr, "of each host's NIC, each way; 0: unlimited",
     to<kNetwork, &NetworkSpec::bandwidth>("bandwidth")},
    {"network.overhead", T::kDuration, "\"0us\"", 0, kDays, nullptr,
     "a message's time on a processor, at each end: LogGOPS's o", to<kNetwork, &NetworkSpec::overhead>("overhead")},
    {"network.overhead_rate", T::kRate, "0.0", 0, 1e15, nullptr,
     "bytes that such a processor handles a second besides: LogGOPS's 1/O; 0: unlimited",
     to<kNetwork, &NetworkSpec::overhead_rate>("overhead_rate")},
    {"network.processors", T::kInteger, "0", 0, 100000, nullptr,
     "that handle all ranks' messages, as on one machine; 0: one on each host",
     to<kNetwork, &NetworkSpec::processors>("processors")},
    {"network.jitter", T::kReal, "0.0", 0, 1e6, nullptr, "latency is multiplied by 1 + jitter x Exp(1)",
     to<kNetwork, &NetworkSpec::jitter>("jitter")},
    {"network.loss", T::kReal, "0.0", 0, 0.99, nullptr,
     "probability that a message is lost; only for protocols that may lose them (r_fast)",
     to_optional<&TrialSpec::loss>("message_loss")},
    {"network.goodput", T::kReal, "1.0", 0.01, 1, nullptr,
     "payload's share of what links carry; TCP, packets of 1500 bytes: 0.956",
     to_optional<kNetwork, &NetworkSpec::goodput>("goodput")},
    {"network.queue", T::kName, "\"fair\"", 0, 0, queue_kinds,
     "fair: flows share links max-min fairly; fifo: TCP's segments in the order in which they come (sim)",
     to_optional<kNetwork, &NetworkSpec::queue>("queue")},
    {"network.burst", T::kReal, "0.0", 0, 1e9, nullptr, "fifo: bytes that an idle link lets through at once",
     to_optional<kNetwork, &NetworkSpec::burst>("burst")},
    {"network.rendezvous_bytes", T::kInteger, "0", 0, 1e12, nullptr,
     "larger messages wait for their receiver's permission (sim); 0: none do",
     to_optional<kNetwork, &NetworkSpec::rendezvous_bytes>("rendezvous_bytes")},
    {"network.packet_bytes", T::kInteger, "1500", 0, 1e9, nullptr, "messages up to this size do not share links",
     to<kNetwork, &NetworkSpec::packet_bytes>("packet_bytes")},
    {"network.hosts", T::kHosts, "", 1, 100000, nullptr, "where the workers sit; each on a host of its own if not set"},
    {"network.servers_apart", T::kBool, "true", 0, 0, nullptr,
     "true: servers have hosts of their own; false: they are beside worker 0. No effect with one for each worker",
     to_optional<kNetwork, &NetworkSpec::servers_apart>("servers_apart")},
    {"network.racks", T::kHosts, "", 2, 100000, nullptr,
     "which rack each host is in, or so many racks of hosts in blocks; hosts of servers alone are in the racks in "
     "turn"},
    {"network.uplink", T::kRate, "0.0", 0, 1e15, nullptr,
     "of each rack, each way, shared by all flows between it and the others; 0: unlimited",
     to_optional<kNetwork, &NetworkSpec::uplink>("uplink")},
    {"network.local_latency", T::kDuration, "\"20us\"", 0, kDays, nullptr, "between ranks of one host",
     to<kNetwork, &NetworkSpec::local_latency>("local_latency")},
    {"network.local_bandwidth", T::kRate, "0.0", 0, 1e15, nullptr, "of a host's memory; 0: unlimited",
     to<kNetwork, &NetworkSpec::local_bandwidth>("local_bandwidth")},
    {"network.links", T::kTables, "[]", 0, 0, nullptr, "hosts and pairs of hosts that differ",
     to<kNetwork, &NetworkSpec::links>("links", take_links)},
    {"network.links.a", T::kInteger, nullptr, 0, 100000, nullptr, "host"},
    {"network.links.b", T::kInteger, "-1", -1, 100000, nullptr, "other host; -1: this is a's own NIC"},
    {"network.links.bandwidth", T::kRate, "0.0", 0, 1e15, nullptr, "of that NIC, or of a link that all flows share"},
    {"network.links.latency", T::kDuration, "", 0, kDays, nullptr, "replaces network.latency there"},
    {"network.links.one_way", T::kBool, "false", 0, 0, nullptr, "from a to b only; of a NIC: outward only"},
    {"network.emulate", T::kBool, "false", 0, 0, nullptr,
     "real processes: messages take as long as over this network, which they else do not obey"},
    {"network.instant", T::kBool, "false", 0, 0, nullptr,
     "no communication at all and free vector operations: the schedule's own critical path"},

    {"topology.name", T::kName, "\"ring_based\"", 0, 0, topology_names, "who talks to whom; `edges`: as listed",
     to<&TrialSpec::topology>("topology")},
    {"topology.edges", T::kEdges, "", 0, 0, nullptr, "a list of pairs: [a, b] means that a sends to b",
     to<&TrialSpec::edges>("edges", take_edges)},

    {"tune.trials", T::kInteger, "12", 3, 1000, nullptr, "settings tried for each variant, the reference too"},
    {"tune.repeats", T::kInteger, "1", 1, 100, nullptr, "draws on which each setting is tried; their median counts"},
    {"tune.lr", T::kRange, "", 1e-12, 1e6, nullptr,
     "[low, high] of the log grid of learning rates, one for all variants; 1/64 to 32 times optimizer.lr if not set"},
    {"tune.momentum", T::kReals, "", 0, 1, nullptr,
     "values of optimizer.momentum to try for every variant with sgd, within the same trials; if not set, it is not "
     "tuned"},
    {"tune.measure", T::kText, "", 0, 0, nullptr, "a measure of convergence; the first one if not set"},
    {"tune.scenario", T::kText, "", 0, 0, nullptr,
     "where it is tuned; the first scenario in which nobody is slow if not set"},
    {"tune.knobs", T::kTables, "[]", 0, 0, nullptr, "knobs that are tuned too, at most two of a variant"},
    {"tune.knobs.protocol", T::kText, nullptr, 0, 0, nullptr, "label of the variant"},
    {"tune.knobs.knob", T::kText, nullptr, 0, 0, nullptr, "its knob"},
    {"tune.knobs.values", T::kValues, nullptr, 0, 0, nullptr, "to try; all values multiply within the same trials"},

    {"protocol.name", T::kName, nullptr, 0, 0, protocol_names, "see `hopbench list protocols`, also for its knobs"},
    {"protocol.label", T::kText, "", 0, 0, nullptr, "the variant's name in tables; the protocol's if it is not set"},
    {"protocol.without", T::kRanks, "", 0, 100000, nullptr,
     "workers that this variant trains without; none if not set"},
    {"scenario.name", T::kText, nullptr, 0, 0, nullptr, "its name in tables"},
    {"scenario.compute", T::kTables, "[]", 0, 0, nullptr, "rules that slow computing; none: homogeneous"},
    {"scenario.compute.kind", T::kName, nullptr, 0, 0, rule_kinds, "how slow is drawn"},
    {"scenario.compute.ranks", T::kRanksOrDrawn, "", 0, 100000, nullptr,
     "the workers it slows; all if not set; \"drawn\": one, by seed and repeat, the same in all rules and scenarios"},
    {"scenario.compute.factor", T::kReal, "", 1e-3, 1e6, nullptr, "constant, bernoulli, markov: slowed by this much"},
    {"scenario.compute.probability", T::kProbability, "", 0, 1, nullptr, "bernoulli: of being slowed"},
    {"scenario.compute.scale", T::kReal, "", 0, 1e6, nullptr,
     "exponential: factor 1 + scale x Exp(1); trace of seconds: they are multiplied by this (1 if not set)"},
    {"scenario.compute.shape", T::kReal, "", kTiny, 1e6, nullptr,
     "log_normal: sigma (median 1); pareto: alpha (least 1; smaller is heavier)"},
    {"scenario.compute.file", T::kFile, "", 0, 0, nullptr,
     "trace: a CSV file, beside the suite or in the current folder; written out, its absolute path"},
    {"scenario.compute.digest", T::kText, "", 0, 0, nullptr,
     "trace: digest of the file, as runs write it into their suite.toml; a file with another one is refused"},
    {"scenario.compute.map", T::kName, "", 0, 0, trace_maps, "trace: who replays what; fixed if not set"},
    {"scenario.compute.block", T::kInteger, "", 1, 1e9, nullptr,
     "trace of steps, drawn in blocks: steps in a block; 1 if not set"},
    {"scenario.compute.end", T::kName, "", 0, 0, trace_ends,
     "trace with map fixed: after its last step; wrap (from the start again) if not set"},
    {"scenario.compute.slow", T::kDuration, "", kTiny, kDays, nullptr, "markov: mean time slow"},
    {"scenario.compute.normal", T::kDuration, "", kTiny, kDays, nullptr, "markov: mean time at the usual speed"},
    {"scenario.compute.per", T::kName, "\"iteration\"", 0, 0, draw_units, "a new draw each iteration, or each slot"},
    {"scenario.compute.slot", T::kDuration, "\"1s\"", kTiny, kDays, nullptr,
     "with per = \"time\"; trace of times, drawn in blocks: length of a block"},
    {"scenario.compute.correlated", T::kName, "\"rank\"", 0, 0, draw_groups, "who shares a draw"},
    {"scenario.compute.of", T::kName, "\"gradients\"", 0, 0, slowed_work,
     "what is slow; all: also averages and optimizer steps, and those of a server on the worker's host (one on a host "
     "of its own stays fast)"},
    {"scenario.compute.from", T::kDuration, "\"0s\"", 0, kDays, nullptr, "the rule holds from here"},
    {"scenario.compute.until", T::kDuration, "", 0, kDays, nullptr, "to here; to the end if not set"},
    {"scenario.links", T::kTables, "[]", 0, 0, nullptr,
     "hosts and pairs of hosts that differ for a time; before those of [network]"},
    {"scenario.links.a", T::kInteger, nullptr, 0, 100000, nullptr, "host"},
    {"scenario.links.b", T::kInteger, "-1", -1, 100000, nullptr, "other host; -1: this is a's own NIC"},
    {"scenario.links.bandwidth", T::kRate, "0.0", 0, 1e15, nullptr,
     "of that NIC, or of a link that all flows share; 0: as without this rule"},
    {"scenario.links.latency", T::kDuration, "", 0, kDays, nullptr, "replaces network.latency there"},
    {"scenario.links.one_way", T::kBool, "false", 0, 0, nullptr, "from a to b only; of a NIC: outward only"},
    {"scenario.links.kind", T::kName, "", 0, 0, link_kinds,
     "how the link changes while the rule holds; it does not if not set"},
    {"scenario.links.factor", T::kReal, "", 1, 1e6, nullptr,
     "markov: the bandwidth is divided by this while the link is slow"},
    {"scenario.links.latency_factor", T::kReal, "", 1, 1e6, nullptr,
     "markov: the latency is multiplied by this while the link is slow"},
    {"scenario.links.slow", T::kDuration, "", 1e-3, kDays, nullptr, "markov: mean time slow, 1 ms or more"},
    {"scenario.links.normal", T::kDuration, "", 1e-3, kDays, nullptr,
     "markov: mean time at the usual speed, 1 ms or more"},
    {"scenario.links.file", T::kFile, "", 0, 0, nullptr,
     "trace: a CSV file, beside the suite or in the current folder; written out, its absolute path"},
    {"scenario.links.digest", T::kText, "", 0, 0, nullptr,
     "trace: digest of the file, as runs write it into their suite.toml; a file with another one is refused"},
    {"scenario.links.map", T::kName, "", 0, 0, link_trace_maps, "trace: how it is replayed; fixed if not set"},
    {"scenario.links.slot", T::kDuration, "", kTiny, kDays, nullptr,
     "trace with map block_bootstrap: length of a block"},
    {"scenario.links.end", T::kName, "", 0, 0, trace_ends,
     "trace with map fixed: after its last row; wrap (from the start again) if not set"},
    {"scenario.links.from", T::kDuration, "\"0s\"", 0, kDays, nullptr, "the rule holds from here"},
    {"scenario.links.until", T::kDuration, "", 0, kDays, nullptr, "to here; to the end if not set"},
    {"scenario.faults", T::kTables, "[]", 0, 0, nullptr,
     "what happens once: ranks that crash, leave, join late or hang, and links that are cut"},
    {"scenario.faults.kind", T::kName, nullptr, 0, 0, fault_kinds, "what happens"},
    {"scenario.faults.ranks", T::kRanks, "", 0, 100000, nullptr, "the workers to which; of all kinds but cut"},
    {"scenario.faults.at", T::kDuration, "", 0, kDays, nullptr,
     "when, on the trial's clock, which starts before a warm-up; or"},
    {"scenario.faults.iteration", T::kInteger, "", 0, 1e12, nullptr,
     "crash, leave, hang: before the rank's gradient of this iteration (0 is the first, of the warm-up where there is "
     "one)"},
    {"scenario.faults.lasts", T::kDuration, "", kTiny, kDays, nullptr,
     "hang, cut: for how long; leave: after how long it returns, never if not set"},
    {"scenario.faults.file", T::kFile, "", 0, 0, nullptr,
     "leave, instead of ranks and moment: a CSV file of absences, beside the suite or in the current folder"},
    {"scenario.faults.restart", T::kDuration, "", kTiny, kDays, nullptr,
     "crash: the worker is replaced, which takes this long; the work since the last checkpoint is repeated"},
    {"scenario.faults.checkpoint", T::kDuration, "", kTiny, kDays, nullptr,
     "crash with restart: a checkpoint is made after each such time of work"},
    {"scenario.faults.a", T::kInteger, "", 0, 100000, nullptr, "cut: host"},
    {"scenario.faults.b", T::kInteger, "", -1, 100000, nullptr,
     "cut: the other host; a's own NIC if it is -1 or not set"},
    {"measure.what", T::kName, "\"rate\"", 0, 0, measure_kinds, "what is measured"},
    {"measure.name", T::kText, "", 0, 0, nullptr, "its name in tables; `what` if it is not set"},
    {"measure.scenarios", T::kNames, "", 0, 0, nullptr, "only these scenarios; all if not set"},
    {"measure.protocols", T::kNames, "", 0, 0, nullptr, "only these variants, by label; all if not set"},

    {"tuning.by", T::kText, "", 0, 0, nullptr, "version and commit that tuned the suite"},
    {"tuning.measure", T::kText, "", 0, 0, nullptr, "on which measure"},
    {"tuning.scenario", T::kText, "", 0, 0, nullptr, "in which scenario"},
    {"tuning.trials", T::kInteger, "", 1, 1000, nullptr, "settings tried for each variant"},
    {"tuning.repeats", T::kInteger, "", 1, 100, nullptr, "draws for each of them"},
    {"tuning.draws", T::kText, "", 0, 0, nullptr, "seed of those draws"},
    {"tuning.lr", T::kRange, "", 1e-12, 1e6, nullptr, "range of the learning rates"},
    {"tuning.with", T::kNames, "", 0, 0, nullptr, "what the command line changed; a run must change the same"},
    {"tuning.variants", T::kTables, "[]", 0, 0, nullptr, "what was found"},
    {"tuning.variants.label", T::kText, nullptr, 0, 0, nullptr, "of the variant"},
    {"tuning.variants.lr", T::kReal, nullptr, 0, 1e6, nullptr, "its best learning rate"},
    {"tuning.variants.knobs", T::kText, "\"\"", 0, 0, nullptr, "its best knobs, of those that were tuned"},
    {"tuning.variants.samples", T::kReal, "", 0, 1e30, nullptr,
     "that it then needs to the target; not set: not reached"},
    {"tuning.variants.loss", T::kReal, "", 0, 1e30, nullptr, "at the end"},
    {"tuning.variants.edge", T::kBool, "false", 0, 0, nullptr, "the learning rate lies on the edge of the grid"},
    {"tuning.variants.settings", T::kText, nullptr, 0, 0, nullptr,
     "hash of all settings of that trial but names and seeds: the variant counts as tuned while they are these"},
};

}  // namespace

const std::vector<SuiteKey>& suite_keys() { return kKeys; }

}  // namespace hopbench
