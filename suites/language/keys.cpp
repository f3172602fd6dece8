#include "suites/language/keys.h"

#include <deque>
#include <utility>

#include <fmt/format.h>

#include "backends/base/text.h"
#include "backends/compute/backend.h"
#include "backends/transport/wire.h"
#include "models/dataset.h"
#include "models/workload.h"
#include "protocols/node/protocol.h"
#include "protocols/node/topology.h"
#include "suites/language/network_presets.h"
#include "suites/trial/trial_json.h"

namespace hopbench {
namespace {

using Names = std::vector<std::string>;
using enum KeyType;

template <class Entries>
Names names_of(const Entries& entries) {
  Names names;
  for (const auto& entry : entries) names.emplace_back(entry.name);
  return names;
}

Names model_names() { return names_of(models()); }
Names dataset_names() { return names_of(datasets()); }
Names backend_names() { return names_of(backends()); }
Names preset_names() { return names_of(network_presets()); }
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

constexpr double kMany = 1e12;     // "no limit", for counts
constexpr double kDays = 86400e3;  // ... and for times, in seconds
constexpr double kTiny = 1e-9;
constexpr double kMostRanks = 100000;

// Types of keys.
struct Type {
  KeyType kind;
  double low = 0, high = 0;
  std::function<Names()> choices = nullptr;
};
Type integer(double low, double high) { return {kInteger, low, high}; }
Type real(double low, double high) { return {kReal, low, high}; }
Type reals(double low, double high) { return {kReals, low, high}; }
Type count(double high) { return {kCount, 0, high}; }
Type duration(double low = 0) { return {kDuration, low, kDays}; }
Type rate(std::function<Names()> devices = nullptr) { return {kRate, 0, 1e15, std::move(devices)}; }
Type ranks() { return {kRanks, 0, kMostRanks}; }
Type hosts(double least) { return {kHosts, least, kMostRanks}; }
Type name(std::function<Names()> registered) { return {kName, 0, 0, std::move(registered)}; }
Type name(const Names& all) {
  return name([all] { return all; });
}
constexpr const char* kRequired = nullptr;
constexpr const char* kNotSet = "";

SuiteKey key(const char* path, const Type& type, const char* fallback, const char* meaning,
             const char* field = nullptr) {
  return {path, type.kind, fallback, type.low, type.high, type.choices, meaning, field};
}

/// Returns the number that a member of type float had, with as few digits as it was written with.
double shortest(double value) {
  const float narrow = static_cast<float>(value);
  return narrow == value ? std::stod(fmt::format("{}", narrow)) : value;
}

/// Returns a key whose default is that of the trial's field.
SuiteKey setting(const char* path, const Type& type, const char* field, const char* meaning) {
  static std::deque<std::string> defaults;  // a key refers to its own
  const OrderedJson value = trial_field(field).get(TrialSpec{});
  std::string& text = defaults.emplace_back(value.dump());
  if (type.kind == kDuration) text = toml_text(duration_text(value));
  if (type.kind == kReal || type.kind == kRate) text = toml_real(shortest(value));
  if (type.kind == kName && value.is_number()) text = toml_text(type.choices().at(value.get<std::size_t>()));
  return key(path, type, text.c_str(), meaning, field);
}

const std::vector<SuiteKey> kKeys = {
    key("schema", integer(1, 1), kRequired, "version of this format"),
    key("name", {kText}, kNotSet, "name of the suite; the file's name if it is not set"),
    key("summary", {kText}, "\"\"", "one line"),
    key("tuned", {kBool}, "false",
        "set by `hopbench tune`; counts if [tuning] shows the settings that the suite has, else results are marked "
        "untuned"),

    key("run.world_size", integer(1, 65536), kRequired, "workers; servers are additional ranks"),
    key("run.samples", integer(1, kMany), kNotSet, "stop after this number of samples, summed over the ranks"),
    key("run.epochs", real(kTiny, 1e6), kNotSet, "stop after this number of passes over the training set"),
    key("run.iterations", integer(1, 1e9), "50",
        "stop after this number of iterations of a rank; a rate's warm-up comes before them"),
    key("run.seconds", real(kTiny, kDays), kNotSet, "reserved: this version does not stop by time and says so"),
    key("run.repeats", integer(1, 1000), "3", "how often each trial runs, every time with new draws"),
    setting("run.seed", integer(0, 9.2e18), "seed", "seed of every draw"),
    key("run.reference", {kText}, kNotSet,
        "label of the variant that speed-ups refer to; the first one if it is not set"),
    key("run.order", name({"interleaved", "random", "sequential"}), "\"interleaved\"",
        "of the trials: variants take turns (seeded), all shuffled, or as written"),
    setting("run.remeasure", integer(0, 10), "remeasure",
            "how often a trial that the machine disturbed (oversubscribed, cpu-contended) is measured again"),
    key("run.warmup", count(1e6), "\"auto\"",
        "iterations of a rank left out of rates, at least 10; \"auto\": twice as many as a rank may be ahead of "
        "another"),
    setting("run.warmup_time", duration(), "warmup_time", "rates leave out at least this long"),
    setting("run.shuffles", integer(0, 100), "shuffles",
            "virtual time, rates: the number of other orders of simultaneous events that are tried, without gradients; "
            "a trial whose rate they change by more than 5 % is marked `depends on ties`"),
    key("run.evaluations", count(100000), "\"auto\"",
        "points of the loss curve, evenly over the samples; \"auto\": 15 for convergence, 0 (only the end) for rate"),
    setting("run.evaluation_samples", integer(1, kMany), "evaluation_samples",
            "the number of samples of the test set, its first ones, on which every point is evaluated"),
    setting("run.target.loss", real(0, 1e30), "target_loss", "loss whose time is reported; 0: none"),
    setting("run.target.hold", integer(1, 1000), "target_hold", "points in a row that count as reached"),
    setting(
        "run.target.model", name({"auto", "mean", "median rank", "worst rank"}), "target_model",
        "whose loss has to reach it; \"auto\": the servers' model where there is one, else the mean of the workers'"),
    setting("run.rendezvous_timeout", duration(kTiny), "rendezvous_timeout", "for all ranks to meet"),
    setting("run.stall_timeout", duration(kTiny), "stall_timeout", "no rank got anything done for this long"),
    key("run.trial_timeout", duration(kTiny), "\"30min\"", "of a trial as a whole", "trial_timeout"),

    setting("model.name", name(model_names), "model", "see `hopbench list models`"),
    key("model.dataset.name", name(dataset_names), kNotSet,
        "see `hopbench list datasets`; the model's own if it is not set"),
    setting("model.dataset.path", {kFolder}, "dataset_path",
            "folder of its files; \"\": where its package or `ci/fetch-data` puts them"),
    setting("model.batch", integer(1, 1e6), "batch", "samples in a gradient of one worker"),
    setting("model.split.kind", name({"iid", "dirichlet", "shards", "by_feature"}), "split",
            "how the training set is divided among the workers"),
    setting("model.split.alpha", real(1e-6, 1e6), "split_alpha", "dirichlet: smaller is more skewed"),
    setting("model.split.shards_per_worker", integer(1, 1e6), "split_shards_per_worker",
            "shards: of the samples sorted by label"),
    setting("model.split.feature", integer(-1, 1e9), "split_feature",
            "by_feature: the samples are sorted by this feature, from 0, and cut, and the slices are dealt at random; "
            "-1: by the sum of all (brightness); of sparse rows: the columns in use, counted from 0"),
    setting("model.augment", name({"none", "pad_crop_flip"}), "augment",
            "pad_crop_flip: a training picture is padded by 4, cropped at random and mirrored half the time"),
    setting("model.size", integer(0, 1e10), "size",
            "parameters of `timing_only`, unless `model.wire_bytes` is given, and of `quadratic` (at most 4096); 0: "
            "the model's default"),
    key("model.profile", {kFile}, kNotSet,
        "timing_only, instead of `model.size`: file with the sizes and times of a gradient's buckets, beside the suite "
        "or in the current folder"),
    setting("model.wire_bytes", integer(0, 4e12), "wire_bytes",
            "bytes that messages and vector operations charge for the whole model, for a small one that stands for a "
            "large one (sim); 0: its own. timing_only has the buckets of a gradient of this size"),
    setting("model.statistics", name({"running", "precise"}), "statistics",
            "of batch norms, for evaluation: averaged like parameters, or estimated from 1024 samples at each point"),

    setting("optimizer.name", name({"sgd", "adamw"}), "optimizer",
            "sgd: stochastic gradient descent; adamw: Adam with decoupled weight decay"),
    setting("optimizer.lr", real(0, 1e6), "lr", "learning rate"),
    setting("optimizer.momentum", real(0, 1), "momentum", "state of a worker (or server), never exchanged"),
    setting("optimizer.weight_decay", real(0, 1e6), "weight_decay",
            "sgd: this times x is added to the gradient; adamw: x is made shorter by lr times this, matrices and "
            "kernels only"),
    setting("optimizer.nesterov", {kBool}, "nesterov", "Nesterov's form of momentum"),
    setting("optimizer.beta1", real(0, 0.999999), "beta1", "adamw: share of the mean gradient that a step keeps"),
    setting("optimizer.beta2", real(0, 0.999999), "beta2", "adamw: share of the mean square that a step keeps"),
    setting("optimizer.epsilon", real(1e-30, 1), "epsilon", "adamw: is added to the root of the mean square"),
    key("optimizer.step", name({"per_sample", "as_written"}), "\"per_sample\"",
        "per_sample: lr is scaled so that the models move as far a sample as under all-reduce", "per_sample"),
    key("optimizer.steps", {kTables}, "[]", "steps of the learning rate"),
    key("optimizer.steps.iteration", real(0, 1e12), kRequired, "from this iteration on"),
    key("optimizer.steps.factor", real(0, 1e6), kRequired, "lr is multiplied by this"),
    setting("optimizer.lr_warmup", integer(0, kMany), "lr_warmup",
            "lr rises evenly over this number of first iterations"),
    setting("optimizer.cosine", integer(0, kMany), "lr_cosine",
            "then it falls along half a cosine to 0, at this iteration; 0: it does not"),
    setting("optimizer.lr_batch", integer(0, 1e9), "lr_batch",
            "the number of samples a step, of all workers together, for which lr is meant; lr is scaled to the actual "
            "number; 0: it is not scaled"),
    setting("optimizer.clip", real(0, 1e30), "clip",
            "gradients longer than this are scaled down to it, where a step is made; 0: never"),

    setting("compute.backend", name(backend_names), "backend", "see `hopbench list backends`"),
    key("compute.others", {kTables}, "[]", "ranks on another backend; with real processes only"),
    key("compute.others.backend", name(backend_names), kRequired, "theirs"),
    key("compute.others.ranks", ranks(), kRequired, "the workers"),
    setting("compute.precision", name({"fp32", "tf32", "bf16"}), "precision",
            "what products are computed in: fp32; on cuda also tf32, and bf16 with fp32 master weights"),
    setting("compute.deterministic", {kBool}, "deterministic",
            "the same bits in every run; false: on cuda, whichever convolutions are measured fastest"),
    setting("compute.ipc", {kBool}, "lend",
            "cuda over shm: ranks read each other's vectors on the GPU; false: they are copied through host memory"),
    setting("compute.threads", integer(1, 1024), "threads", "of one gradient"),
    key("compute.pace", {kPace, kTiny, kDays}, "\"auto\"",
        "how long a gradient takes on the trial's clock: a time; \"auto\": calibrated (real processes only); \"off\": "
        "as long as it takes"),
    key("compute.cost", duration(kTiny), kNotSet, "that time in virtual time, where pace is \"auto\" or \"off\""),
    key("compute.vector_rate", rate(vector_rate_names), "10e9",
        "bytes read and written a second by averages and steps; 0: they are free; cpu: 10e9, a100: 1.5e12, h100: "
        "2.5e12",
        "vector_bytes_per_s"),
    setting("compute.saturation", integer(0, 1e6), "saturation",
            "a gradient of fewer samples takes as long as one of this number, as on a GPU that is not full; 0: time is "
            "proportional"),
    key("compute.noise", real(0, 0.1), "0.003",
        "virtual time: the time of each gradient is multiplied by 1 + noise x (a draw of mean 0 and deviation 1, at "
        "most 6), since no two gradients on a machine take the same time; 0 for exact times",
        "noise"),
    setting("compute.load_noise", real(0, 1), "load_noise",
            "error of the processor load that lb_bsp's narx is shown, a share of a core (standard deviation)"),
    setting("compute.load_delay", integer(0, 1e6), "load_delay", "iterations by which that load is old"),

    setting("transport.name", name(transport_names), "transport",
            "gloo: TCP; shm: shared memory, on one machine; auto: shm between ranks of one machine, gloo between "
            "machines; sim: virtual time"),
    setting("transport.interface", {kText}, "interface", "gloo: network interface; \"\": loopback"),
    setting("transport.eager_bytes", integer(0, 1e12), "eager_bytes",
            "gloo: a rank's memory for bodies that it receives before it has read their heads, which saves them a "
            "round trip"),

    key("network.preset", name(preset_names), "\"none\"",
        "a network by name, for those keys of [network] that are not given: `hopbench list networks -v`"),
    setting("network.latency", duration(), "latency", "one way (all of [network] but loss: sim, or with emulate)"),
    key("network.bandwidth", rate(), "125e6", "of each host's NIC, each way; 0: unlimited", "bandwidth"),
    key("network.overhead", duration(), "\"0us\"", "a message's time on a processor, at each end: LogGOPS's o",
        "overhead"),
    setting("network.overhead_rate", rate(), "overhead_rate",
            "bytes per second that such a processor handles in addition to the overhead: LogGOPS's 1/O; 0: unlimited"),
    setting("network.processors", integer(0, 100000), "processors",
            "that handle all ranks' messages, as on one machine; 0: one on each host"),
    setting("network.jitter", real(0, 1e6), "jitter", "latency is multiplied by 1 + jitter x Exp(1)"),
    setting("network.loss", real(0, 0.99), "message_loss",
            "probability that a message is lost; only for protocols that may lose them (r_fast)"),
    setting("network.goodput", real(0.01, 1), "goodput",
            "payload's share of what links carry; TCP, packets of 1500 bytes: 0.956"),
    setting("network.queue", name({"fair", "fifo"}), "queue",
            "fair: flows share links max-min fairly; fifo: TCP's segments in the order in which they come (sim)"),
    setting("network.burst", real(0, 1e9), "burst", "fifo: bytes that an idle link lets through at once"),
    setting("network.rendezvous_bytes", integer(0, 1e12), "rendezvous_bytes",
            "larger messages wait for their receiver's permission (sim); 0: none do"),
    setting("network.packet_bytes", integer(0, 1e9), "packet_bytes", "messages up to this size do not share links"),
    key("network.hosts", hosts(1), kNotSet, "where the workers sit; each on a host of its own if not set"),
    setting(
        "network.servers_apart", {kBool}, "servers_apart",
        "true: servers have hosts of their own; false: they are beside worker 0. No effect with one for each worker"),
    key("network.racks", hosts(2), kNotSet,
        "which rack each host is in, or the number of racks, with hosts in blocks; hosts of servers alone are in the "
        "racks in turn"),
    setting("network.uplink", rate(), "uplink",
            "of each rack, each way, shared by all flows between it and the others; 0: unlimited"),
    setting("network.local_latency", duration(), "local_latency", "between ranks of one host"),
    setting("network.local_bandwidth", rate(), "local_bandwidth", "of a host's memory; 0: unlimited"),
    key("network.links", {kTables}, "[]", "hosts and pairs of hosts that differ"),
    key("network.links.a", integer(0, 100000), kRequired, "host"),
    key("network.links.b", integer(-1, 100000), "-1", "other host; -1: this is a's own NIC"),
    key("network.links.bandwidth", rate(), "0.0", "of that NIC, or of a link that all flows share"),
    key("network.links.latency", duration(), kNotSet, "replaces network.latency there"),
    key("network.links.one_way", {kBool}, "false", "from a to b only; of a NIC: outward only"),
    key("network.emulate", {kBool}, "false",
        "real processes: messages take as long as over this network; if false, real processes ignore it"),
    key("network.instant", {kBool}, "false",
        "no communication at all and free vector operations: the schedule's own critical path"),

    setting("topology.name", name(topology_names), "topology", "which workers send to which; `edges`: as listed"),
    key("topology.edges", {kEdges}, kNotSet, "a list of pairs: [a, b] means that a sends to b", "edges"),

    key("tune.trials", integer(3, 1000), "12", "settings tried for each variant, the reference too"),
    key("tune.repeats", integer(1, 100), "1", "draws on which each setting is tried; their median counts"),
    key("tune.lr", {kRange, 1e-12, 1e6}, kNotSet,
        "[low, high] of the log grid of learning rates, one for all variants; 1/64 to 32 times optimizer.lr if not "
        "set"),
    key("tune.momentum", reals(0, 1), kNotSet,
        "values of optimizer.momentum to try for every variant with sgd, within the same trials; if not set, it is not "
        "tuned"),
    key("tune.measure", {kText}, kNotSet, "a measure of convergence; the first one if not set"),
    key("tune.scenario", {kText}, kNotSet,
        "where it is tuned; if not set, the first scenario in which no worker is slow"),
    key("tune.knobs", {kTables}, "[]", "knobs that are tuned too, at most two of a variant"),
    key("tune.knobs.protocol", {kText}, kRequired, "label of the variant"),
    key("tune.knobs.knob", {kText}, kRequired, "its knob"),
    key("tune.knobs.values", {kValues}, kRequired, "to try; all values multiply within the same trials"),

    key("protocol.name", name(protocol_names), kRequired, "see `hopbench list protocols`, also for its knobs"),
    key("protocol.label", {kText}, kNotSet, "the variant's name in tables; the protocol's if it is not set"),
    key("protocol.without", ranks(), kNotSet, "workers that this variant trains without; none if not set"),
    key("scenario.name", {kText}, kRequired, "its name in tables"),
    key("scenario.compute", {kTables}, "[]", "rules that slow computing; none: homogeneous"),
    key("scenario.compute.kind",
        name({"constant", "bernoulli", "exponential", "log_normal", "pareto", "trace", "markov"}), kRequired,
        "how slow is drawn"),
    key("scenario.compute.ranks", {kRanksOrDrawn, 0, kMostRanks}, kNotSet,
        "the workers it slows; all if not set; \"drawn\": one, by seed and repeat, the same in all rules and "
        "scenarios"),
    key("scenario.compute.factor", real(1e-3, 1e6), kNotSet, "constant, bernoulli, markov: slowed by this much"),
    key("scenario.compute.probability", {kProbability, 0, 1}, kNotSet, "bernoulli: of being slowed"),
    key("scenario.compute.scale", real(0, 1e6), kNotSet,
        "exponential: factor 1 + scale x Exp(1); trace of seconds: they are multiplied by this (1 if not set)"),
    key("scenario.compute.shape", real(kTiny, 1e6), kNotSet,
        "log_normal: sigma (median 1); pareto: alpha (least 1; smaller is heavier)"),
    key("scenario.compute.file", {kFile}, kNotSet,
        "trace: a CSV file, beside the suite or in the current folder; written out, its absolute path"),
    key("scenario.compute.digest", {kText}, kNotSet,
        "trace: digest of the file, as runs write it into their suite.toml; a file with another one is refused"),
    key("scenario.compute.map", name({"fixed", "resample_ranks", "block_bootstrap"}), kNotSet,
        "trace: which worker replays which rank; fixed if not set"),
    key("scenario.compute.block", integer(1, 1e9), kNotSet,
        "trace of seconds, drawn in blocks: steps in a block; 1 if not set"),
    key("scenario.compute.end", name({"wrap", "hold", "error"}), kNotSet,
        "trace with map fixed: after its last step; wrap (from the start again) if not set"),
    key("scenario.compute.slow", duration(kTiny), kNotSet, "markov: mean time slow"),
    key("scenario.compute.normal", duration(kTiny), kNotSet, "markov: mean time at the usual speed"),
    key("scenario.compute.per", name({"iteration", "time"}), "\"iteration\"",
        "a new draw each iteration, or each slot"),
    key("scenario.compute.slot", duration(kTiny), "\"1s\"",
        "with per = \"time\"; trace of factors, drawn in blocks: length of a block"),
    key("scenario.compute.correlated", name({"rank", "host", "all"}), "\"rank\"", "which workers share a draw"),
    key("scenario.compute.of", name({"gradients", "all"}), "\"gradients\"",
        "what is slow; all: also averages and optimizer steps, and those of a server on the worker's host (one on a "
        "host of its own stays fast)"),
    key("scenario.compute.from", duration(), "\"0s\"", "the rule holds from here"),
    key("scenario.compute.until", duration(), kNotSet, "to here; to the end if not set"),
    key("scenario.links", {kTables}, "[]",
        "hosts and pairs of hosts that differ for a time; before those of [network]"),
    key("scenario.links.a", integer(0, 100000), kRequired, "host"),
    key("scenario.links.b", integer(-1, 100000), "-1", "other host; -1: this is a's own NIC"),
    key("scenario.links.bandwidth", rate(), "0.0",
        "of that NIC, or of a link that all flows share; 0: as without this rule"),
    key("scenario.links.latency", duration(), kNotSet, "replaces network.latency there"),
    key("scenario.links.one_way", {kBool}, "false", "from a to b only; of a NIC: outward only"),
    key("scenario.links.kind", name({"trace", "markov"}), kNotSet,
        "how the link changes while the rule holds; it does not if not set"),
    key("scenario.links.factor", real(1, 1e6), kNotSet,
        "markov: the bandwidth is divided by this while the link is slow"),
    key("scenario.links.latency_factor", real(1, 1e6), kNotSet,
        "markov: the latency is multiplied by this while the link is slow"),
    key("scenario.links.slow", duration(1e-3), kNotSet, "markov: mean time slow, 1 ms or more"),
    key("scenario.links.normal", duration(1e-3), kNotSet, "markov: mean time at the usual speed, 1 ms or more"),
    key("scenario.links.file", {kFile}, kNotSet,
        "trace: a CSV file, beside the suite or in the current folder; written out, its absolute path"),
    key("scenario.links.digest", {kText}, kNotSet,
        "trace: digest of the file, as runs write it into their suite.toml; a file with another one is refused"),
    key("scenario.links.map", name({"fixed", "block_bootstrap"}), kNotSet,
        "trace: how it is replayed; fixed if not set"),
    key("scenario.links.slot", duration(kTiny), kNotSet, "trace with map block_bootstrap: length of a block"),
    key("scenario.links.end", name({"wrap", "hold", "error"}), kNotSet,
        "trace with map fixed: after its last row; wrap (from the start again) if not set"),
    key("scenario.links.from", duration(), "\"0s\"", "the rule holds from here"),
    key("scenario.links.until", duration(), kNotSet, "to here; to the end if not set"),
    key("scenario.faults", {kTables}, "[]",
        "what happens once: ranks that crash, leave, join late or hang, and links that are cut"),
    key("scenario.faults.kind", name({"crash", "leave", "join", "hang", "cut"}), kRequired, "what happens"),
    key("scenario.faults.ranks", ranks(), kNotSet, "the workers to which it happens; for all kinds but cut"),
    key("scenario.faults.at", duration(), kNotSet, "when, on the trial's clock, which starts before a warm-up; or"),
    key("scenario.faults.iteration", integer(0, 1e12), kNotSet,
        "crash, leave, hang: before the rank's gradient of this iteration (0 is the first, of the warm-up where there "
        "is one)"),
    key("scenario.faults.lasts", duration(kTiny), kNotSet,
        "hang, cut: for how long; leave: after how long it returns, never if not set"),
    key("scenario.faults.file", {kFile}, kNotSet,
        "leave, instead of ranks and moment: a CSV file of absences, beside the suite or in the current folder"),
    key("scenario.faults.restart", duration(kTiny), kNotSet,
        "crash: the worker is replaced, which takes this long; the work since the last checkpoint is repeated"),
    key("scenario.faults.checkpoint", duration(kTiny), kNotSet,
        "crash with restart: a checkpoint is made after each such time of work"),
    key("scenario.faults.a", integer(0, 100000), kNotSet, "cut: host"),
    key("scenario.faults.b", integer(-1, 100000), kNotSet, "cut: the other host; a's own NIC if it is -1 or not set"),
    key("measure.what", name({"rate", "convergence"}), "\"rate\"", "what is measured"),
    key("measure.name", {kText}, kNotSet, "its name in tables; `what` if it is not set"),
    key("measure.scenarios", {kNames}, kNotSet, "only these scenarios; all if not set"),
    key("measure.protocols", {kNames}, kNotSet, "only these variants, by label; all if not set"),

    key("tuning.by", {kText}, kNotSet, "version and commit that tuned the suite"),
    key("tuning.measure", {kText}, kNotSet, "on which measure"),
    key("tuning.scenario", {kText}, kNotSet, "in which scenario"),
    key("tuning.trials", integer(1, 1000), kNotSet, "settings tried for each variant"),
    key("tuning.repeats", integer(1, 100), kNotSet, "draws for each of them"),
    key("tuning.draws", {kText}, kNotSet, "seed of those draws"),
    key("tuning.lr", {kRange, 1e-12, 1e6}, kNotSet, "range of the learning rates"),
    key("tuning.with", {kNames}, kNotSet, "what the command line changed; a run must change the same"),
    key("tuning.variants", {kTables}, "[]", "what was found"),
    key("tuning.variants.label", {kText}, kRequired, "of the variant"),
    key("tuning.variants.lr", real(0, 1e6), kRequired, "its best learning rate"),
    key("tuning.variants.knobs", {kText}, "\"\"", "its best knobs, of those that were tuned"),
    key("tuning.variants.samples", real(0, 1e30), kNotSet, "that it then needs to the target; not set: not reached"),
    key("tuning.variants.loss", real(0, 1e30), kNotSet, "at the end"),
    key("tuning.variants.edge", {kBool}, "false", "the learning rate lies on the edge of the grid"),
    key("tuning.variants.settings", {kText}, kRequired,
        "hash of all settings of that trial but names and seeds: the variant counts as tuned while they are these"),
};

}  // namespace

const std::vector<SuiteKey>& suite_keys() { return kKeys; }

}  // namespace hopbench
