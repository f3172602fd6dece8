// A trial in virtual time: all ranks in this process.
#include <algorithm>
#include <chrono>
#include <memory>

#include "backends/base/process/cores.h"
#include "backends/base/record/event.h"
#include "backends/runtime/virtual/simulated.h"
#include "protocols/node/node.h"
#include "results/arithmetic/critical_path.h"
#include "suites/trial/completion.h"
#include "suites/trial/evaluation.h"
#include "suites/trial/execute.h"
#include "suites/trial/ties.h"

namespace hopbench {
namespace {

SimulationOptions simulation_options(const TrialSpec& spec, const Plan& plan, Observer* observer) {
  SimulationOptions options;
  options.ranks = plan.ranks();
  options.strands = strand_kind_available(spec.strands) ? spec.strands : StrandKind::kThreads;
  options.threads = spec.sim_threads > 0 ? spec.sim_threads : usable_cores();
  if (find_model(spec.workload.model).create == nullptr) options.threads = 1;  // there is nothing to compute
  options.shuffle = spec.shuffle;
  if (spec.ties_alone) options.stretch = 0;
  options.observer = observer;
  return options;
}

// An observer for the caller, for the critical path, and for the loss that is shown while the trial runs.
class Watch : public Observer {
 public:
  Watch(Observer* asked_for, Board* board, CriticalPath& path) : asked_for_(asked_for), board_(board), path_(path) {}
  void on(const Event& event) override {
    path_.on(event);
    if (board_ != nullptr && event.what == EventKind::kGradient) board_->slot(0).loss = float(event.value);
    if (asked_for_ != nullptr) asked_for_->on(event);
  }
  void settled(Time now) override {
    if (asked_for_ != nullptr) asked_for_->settled(now);
  }

 private:
  Observer* asked_for_;
  Board* board_;
  CriticalPath& path_;
};

// The nodes of one trial on a simulation. Everything the strands refer to is a member, so it outlives the run.
class Trial {
 public:
  Trial(const TrialSpec& spec, const Plan& plan, Observer* observer, Board* board, CriticalPath& path, const Dump& dump)
      : spec_(spec),
        plan_(plan),
        dump_(dump),
        workload_(make_workload(spec.workload)),
        credits_(plan_.credits),
        watch_(observer, board, path),
        seen_by_(spec.events == EventDetail::kNone ? observer : &watch_),
        simulation_(simulation_options(spec, plan_, seen_by_)),
        curve_(plan_.workers, spec.evaluations, total_samples(), workload_->initial().share()),
        board_(board) {
    simulation_.use(spec.instant_network
                        ? make_instant_network(simulation_)
                        : make_network(network_of(spec, plan_), plan_.ranks(), simulation_, spec.seed, spec.repeat));
    for (int r = 0; r < plan_.ranks(); ++r) {
      for (const int peer : plan_.peers[std::size_t(r)]) {
        if (r < peer) simulation_.connect(r, peer);
      }
    }
    for (int r = 0; r < plan_.ranks(); ++r) add_rank(r);
    for (int r = 0; r < plan_.workers; ++r) {
      for (const Fault& fault : spec_.scenario.faults_of(r)) {
        if (fault.what == FaultKind::kCrash && fault.at != kNever) simulation_.kill(r, fault.at);
      }
    }
    if (plan_.servers > 0) curve_.ask_servers([this] { return servers_model(); });
    simulation_.before_kill([this](int r) { crash(r); });
    simulation_.describe_with([this](int r) {
      const Iter k = nodes_[std::size_t(r)]->iteration();  // -1: a server, or a worker before its first one
      const std::size_t messages = simulation_.rank(r).mailbox.size();
      return (k >= 0 ? "iteration " + std::to_string(k) + ", " : "") + std::to_string(messages) +
             (messages == 1 ? " message" : " messages") + " in its mailbox";
    });
  }

  /// Runs the trial. Call it once: the record takes what the nodes have recorded.
  TrialRecord run() {
    simulation_.run();
    TrialRecord record;
    std::vector<Payload> finals;
    record.ranks.reserve(std::size_t(plan_.ranks()));
    for (int r = 0; r < plan_.ranks(); ++r) {
      record.ranks.push_back(std::move(nodes_[std::size_t(r)]->record()));
      if (r < plan_.workers && record.ranks.back().lost.empty()) finals.push_back(curve_.latest(r));
    }
    record.params_hash = params_hash(finals);
    const int threads = simulation_options(spec_, plan_, nullptr).threads;
    if (spec_.workload.evaluation_samples > 0) {
      record.curve = curve_.evaluate(*workload_, threads, [this] { beat(); });  // or it would look like a stall
      if (spec_.workload.split.what != SplitKind::kIid) add_own_losses(finals, record);
    }
    mark_if_diverged(record, finals);
    if (spec_.workload.evaluation_samples > 0) mark_if_unchanged(record, finals, workload_->initial().share());
    if (dump_.any()) write_dump(dump_, curve_.points(), workload_.get());
    return record;
  }

 private:
  /// Adds the mean model's loss on samples of each worker's own, which shows which workers suffer from skewed data.
  void add_own_losses(const std::vector<Payload>& finals, TrialRecord& record) {
    const Vec average = mean(finals);
    const Payload x = average.watch();
    const int batch = spec_.workload.batch;
    for (int w = 0; w < plan_.workers; ++w) {
      if (!record.ranks[std::size_t(w)].lost.empty()) continue;
      const auto own = std::min<std::int64_t>(spec_.workload.evaluation_samples, std::int64_t(workload_->part_size(w)));
      const std::int64_t batches = std::max<std::int64_t>(1, own / batch);
      Vec gradient(average.size());
      double loss = 0;
      for (std::int64_t b = 0; b < batches; ++b) {
        loss += workload_->gradient(x, w, std::uint64_t(b * batch), batch, gradient, {}) / double(batches);
        beat();
      }
      record.ranks[std::size_t(w)].figures["loss on its own samples"] = loss;
    }
  }

  /// Returns what each server keeps of the model; nothing if the extra ranks keep none.
  std::vector<Payload> servers_model() const {
    std::vector<Payload> parts;
    for (int r = plan_.workers; r < plan_.ranks(); ++r) parts.push_back(nodes_[std::size_t(r)]->kept());
    const bool any_empty = std::any_of(parts.begin(), parts.end(), [](const Payload& part) { return part.empty(); });
    return any_empty ? std::vector<Payload>{} : parts;
  }

  std::int64_t total_samples() const {
    const std::int64_t batch = spec_.workload.batch;
    return plan_.iterations > 0 ? plan_.iterations * batch * plan_.workers : plan_.credits * batch;
  }

  void add_rank(int r) {
    NodeOptions options = node_options(spec_, plan_, r, &credits_);
    options.snapshot = [this, r](Iter k, Time when, std::int64_t samples, const Vec& x) {
      if (r < plan_.workers) curve_.report(r, k, when, samples, x.watch());
      if (board_ != nullptr) show(r, k);
    };
    if (dump_.holds("gradients") || dump_.holds("samples")) {
      options.computed = [this, r](Iter k, const Samples& samples, const Vec& values) {
        curve_.computed(r, simulation_.now(), {k, samples, dump_.holds("gradients") ? values.watch() : Payload()});
      };
    }
    options.crash = [this, r] {
      simulation_.kill(r, simulation_.now());
      simulation_.rank(r).await([] { return false; }, kNever, "its end");
    };
    options.kept_is_watched = spec_.evaluations > 0;
    if (spec_.instant_network) options.costs.vector_bytes_per_s = 0;
    nodes_.push_back(std::make_unique<Node>(simulation_.rank(r), *workload_, std::move(options)));
    simulation_.start(
        r,
        [this, r, node = nodes_.back().get()] {
          node->live([&] { plan_.protocol->body(*node, spec_.knobs); });
          if (!node->record().lost.empty()) curve_.lose(r, simulation_.now(), node->record().samples);
        },
        r < plan_.workers);
  }

  /// Prepares for the rank that is about to be killed. Throws if the protocol does not go on without it.
  void crash(int r) {
    Node& node = *nodes_[std::size_t(r)];
    if (!plan_.goes_on) {
      const std::string when =
          node.iteration() < 0 ? "before its first iteration" : "in iteration " + std::to_string(node.iteration());
      throw trial_error("rank " + std::to_string(r) + " was killed " + when + ", " + why_stopped(*plan_.protocol))
          .as(FailureKind::kScenario, r);
    }
    curve_.lose(r, simulation_.now(), node.record().samples);
    node.record() = crashed_record(r, plan_.host_of[std::size_t(r)], simulation_.now());
    if (seen_by_ != nullptr) seen_by_->on(crash_event(r, node.iteration(), simulation_.now()));
  }

  // Shows progress on the board, which has one slot since this process stands for all ranks.
  void show(int r, Iter k) {
    beat();
    if (r == 0) board_->slot(0).iteration.store(k, std::memory_order_relaxed);
  }

  void beat() {
    if (board_ != nullptr) board_->slot(0).beats.fetch_add(1, std::memory_order_relaxed);
  }

  const TrialSpec spec_;
  const Plan& plan_;
  const Dump& dump_;
  std::unique_ptr<Workload> workload_;
  Credits credits_;
  Watch watch_;
  Observer* const seen_by_;
  Simulation simulation_;
  std::vector<std::unique_ptr<Node>> nodes_;
  CurveRecorder curve_;
  Board* board_;
};

/// Returns the parts of the time that the table's number rests on. For a rate that time is its window, which ends with
/// the first worker's last iteration. For all else it lasts until the last worker ends.
std::map<std::string, Duration> recorded_path(const CriticalPath& path, const TrialRecord& record,
                                              const TrialSpec& spec, const Plan& plan) {
  const auto workers_end = record.ranks.begin() + plan.workers;
  const Time from{seconds_to_duration(record.window_start_s)}, until{seconds_to_duration(record.window_end_s)};
  const auto first = std::find_if(record.ranks.begin(), workers_end, [&](const RankRecord& rank) {
    return rank.lost.empty() && !rank.marks.empty() && rank.marks.back().end == until;
  });
  if (spec.what == MeasureKind::kRate && from > Time{} && first != workers_end)
    return path.to(first->rank, until, from);
  const auto last = std::max_element(record.ranks.begin(), workers_end, [](const RankRecord& a, const RankRecord& b) {
    return std::pair(a.lost.empty(), a.finished) < std::pair(b.lost.empty(), b.finished);
  });
  return path.to(last->rank, last->finished);
}

}  // namespace

TrialRecord simulate_trial(const TrialSpec& spec, Observer* observer, Board* board, const Dump& dump) {
  const Plan plan = make_plan(spec);
  CriticalPath path(plan.ranks(), [&](int rank) { return spec.workload.number_of(rank); });
  TrialRecord record =
      Trial(spec, plan, observer, board, path, dump).run();  // the simulation's memory is free from here on
  complete_record(record, spec, plan);
  if (spec.events != EventDetail::kNone) record.path = recorded_path(path, record, spec, plan);
  if (spec.shuffles > 0) mark_ties(record, spec, board);
  return record;
}

}  // namespace hopbench
