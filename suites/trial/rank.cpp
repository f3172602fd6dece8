#include "suites/trial/rank.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "backends/base/ran_out.h"
#include "backends/base/space.h"
#include "backends/runtime/links/emulated_wire.h"
#include "backends/runtime/process/process.h"
#include "backends/transport/body.h"
#include "backends/transport/wire.h"
#include "protocols/node/node.h"
#include "results/arithmetic/statistics.h"
#include "results/files/machine.h"
#include "results/files/record_json.h"
#include "suites/trial/event_log.h"
#include "suites/trial/execute.h"
#include "suites/trial/preparation.h"
#include "suites/trial/rank_assignment.h"

namespace hopbench {
namespace {

void add_host_figures(RankRecord& record, Duration contended) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) { return double(t.tv_sec) + 1e-6 * double(t.tv_usec); };
  record.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  record.max_rss_bytes = std::int64_t{usage.ru_maxrss} * 1024;
  record.contended_s = to_seconds(contended);
}

void add_lateness(RankRecord& record, const std::vector<Duration>& lateness) {
  std::vector<double> late_s;
  for (const Duration each : lateness) late_s.push_back(to_seconds(each));
  if (late_s.empty()) return;
  record.link_late_median_s = quantile(late_s, 0.5);
  record.link_late_p99_s = quantile(late_s, 0.99);
}

/// Returns the numbers of a model; none if it is empty or only timed.
std::vector<float> numbers_of(const Payload& x) {
  return x.empty() || x.data() == nullptr ? std::vector<float>{} : Vec::copy_of(x).to_host();
}

/// Kills this process, as its scenario says, with a last word on the board only.
[[noreturn]] void crash(RankSlot& slot, Time now) {
  slot.crashed_ns = now.time_since_epoch().count();
  kill(getpid(), SIGKILL);
  while (true) pause();
}

/// Does that at times of the trial's clock, whatever the rank is doing then; until it is gone.
class CrashTimer {
 public:
  CrashTimer(const std::vector<Fault>& faults, RankSlot& slot, Time now) {
    Time when = kNever;
    for (const Fault& fault : faults) {
      if (fault.what == FaultKind::kCrash) when = std::min(when, fault.at);
    }
    if (when == kNever) return;
    const auto until = std::chrono::steady_clock::now() + (when - now);
    thread_ = std::jthread([&slot, when, until](const std::stop_token& done) {
      std::mutex mutex;
      std::condition_variable_any never;
      std::unique_lock lock(mutex);
      never.wait_until(lock, done, until, [] { return false; });
      if (!done.stop_requested()) crash(slot, when);
    });
  }

 private:
  std::jthread thread_;
};

/// While the scenario keeps this rank from its work (before it joins, or while its host's link is cut) this thread
/// counts for what the rank would do: quiet that was asked for is no stall. A hang does so itself (process_occupy.cpp).
class SignsOfLife {
 public:
  SignsOfLife(const Scenario& scenario, int rank, int host, RankSlot& slot, Time now) {
    for (const Fault& fault : scenario.faults) {
      if (fault.what == FaultKind::kJoin && fault.is_of(rank)) quiet_.push_back({Time{}, fault.at});
      if (fault.returns() && fault.is_of(rank) && fault.at != kNever)
        quiet_.push_back({fault.at, fault.at + fault.lasts});
      if (fault.what == FaultKind::kCut && (fault.a == host || fault.b == host))
        quiet_.push_back({fault.at, fault.at + fault.lasts});
    }
    if (quiet_.empty()) return;
    const auto start = std::chrono::steady_clock::now() - now.time_since_epoch();
    thread_ = std::jthread([this, &slot, start](const std::stop_token& done) { watch(slot, start, done); });
  }

 private:
  struct Span {
    Time from, until;
  };

  void watch(RankSlot& slot, std::chrono::steady_clock::time_point start, const std::stop_token& done) const {
    constexpr auto kBeat = std::chrono::milliseconds(100);
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    while (!done.stop_requested()) {
      const Time now{std::chrono::steady_clock::now() - start};
      Time next = kNever;  // when it is quiet
      for (const Span& span : quiet_) {
        if (now < span.until) next = std::min(next, std::max(now, span.from));
      }
      if (next == kNever) return;
      if (next == now) slot.beats.fetch_add(1, std::memory_order_relaxed);
      never.wait_until(lock, done, start + (std::max(next, now + kBeat)).time_since_epoch(), [] { return false; });
    }
  }

  std::vector<Span> quiet_;
  std::jthread thread_;
};

/// "0-2 5": ascending numbers, neighbours as a range.
std::string ranges_text(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t first = 0, last = 0; first < numbers.size(); first = ++last) {
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += (text.empty() ? "" : " ") + std::to_string(numbers[first]);
    if (last > first) text += (last == first + 1 ? " " : "-") + std::to_string(numbers[last]);
  }
  return text;
}

std::string carriers_text(const std::map<std::string, std::vector<int>>& peers_of) {
  std::string text;
  for (const auto& [transport, peers] : peers_of)
    text += (text.empty() ? "" : "; ") + transport + ": " + ranges_text(peers);
  return text;
}

void add_device_use(RankRecord& record, const DeviceSpace& device, const Prepared& prepared) {
  DeviceSpace::Use use = device.use();
  record.gpu = std::move(use.device);
  record.gpu_shared_well = use.shared_well;
  record.gpu_fallbacks = use.fallbacks;
  record.gpu_remarks = std::move(use.remarks);
  if (prepared.sizes > 1) {
    record.gpu_remarks += (record.gpu_remarks.empty() ? "" : "; ") + std::string("batch sizes compiled beforehand: ") +
                          std::to_string(prepared.computed) + " of " + std::to_string(prepared.sizes);
  }
  record.staged_bodies = staged_bodies();
}

/// Runs the trial of the job. `events` gets its log, if one is wanted.
TrialRecord simulate(ChildChannel& channel, const ChildTask& job, const Dump& dump, EventLog& events) {
  channel.ready();
  channel.board().slot(0).phase = Phase::kRunning;
  TrialSpec spec = job.spec;
  spec.workload.local = channel.local();
  return simulate_trial(spec, job.event_log.empty() ? nullptr : &events, &channel.board(), dump);
}

std::string with_host_figures(TrialRecord record) {
  RankRecord host;
  add_host_figures(host, Duration{});
  record.cpu_s = host.cpu_s;
  record.max_rss_bytes = host.max_rss_bytes;
  return to_json(record);
}

std::string run(std::span<const Role> roles, ChildChannel& channel, const ChildTask& job) {
  const auto role = std::find_if(roles.begin(), roles.end(), [&](const Role& each) { return each.name == job.role; });
  const bool known = role != roles.end();
  if (channel.lent() && !(known && role->for_others))
    throw trial_error("a launcher on another machine wants more than a rank: it is none of this program");
  if (!known) throw trial_error("a rank's job names role '" + job.role + "', which this program does not have");
  return role->run(channel, job);
}

/// Returns what the node has recorded, and what else its process and its connections know.
RankRecord record_of(Node& node, ProcessRuntime& runtime, Wire& wire, const TrialSpec& spec) {
  RankRecord record = node.record();
  record.state_vectors = node.state_vectors();
  add_host_figures(record, runtime.contended());
  record.awaited_bodies = wire.awaited_bodies();
  const auto carriers = wire.carriers();
  record.carriers = carriers_text(carriers);
  if (carriers.contains("gloo")) record.congestion_control = tcp_congestion_control("");
  record.cpu_wait_s = to_seconds(runtime.waited_for_cores());
  if (spec.emulate) add_lateness(record, static_cast<const EmulatedWire&>(wire).lateness());
  return record;
}

}  // namespace

std::string run_rank(ChildChannel& channel, const ChildTask& job) {
  const TrialSpec& spec = job.spec;
  const int rank = channel.rank();
  const Plan plan = make_plan(spec);
  const bool server = rank >= plan.workers;
  RankSlot& slot = channel.board().slot(rank);
  const Transport& transport = find_transport(spec.transport);
  if (transport.prepare != nullptr) transport.prepare();
  const std::unique_ptr<Workload> workload = make_workload(spec.workload.on(rank, channel.local()));
  const Prepared prepared = server ? Prepared() : prepare(*workload, rank, plan.batches, spec.rendezvous_timeout / 3);

  slot.phase = Phase::kConnecting;
  const std::vector<int>& peers = plan.peers[std::size_t(rank)];
  std::unique_ptr<Wire> wire =
      transport.connect(wire_options(spec, channel, peers, workload->size() * sizeof(float)), channel);
  if (spec.emulate) wire = std::make_unique<EmulatedWire>(std::move(wire), peers, kLinksFd);

  EventLog events(spec.events);
  RankResult result;
  const ProcessOptions process_options{.rank = rank,
                                       .size = plan.ranks(),
                                       .peers = peers,
                                       .pace = spec.pace,
                                       .start_monotonic_ns = channel.ready(),
                                       .slot = &slot,
                                       .observer = spec.events == EventDetail::kNone ? nullptr : &events};
  ProcessRuntime runtime(process_options, *wire);
  NodeOptions options = node_options(spec, plan, rank, &channel.board().credits());
  Payload last;
  options.snapshot = [&](Iter k, Time, std::int64_t, const Vec&) {
    slot.iteration.store(k, std::memory_order_relaxed);
  };
  options.final_model = [&](const Payload& x) { last = x; };
  options.crash = [&] { crash(slot, runtime.now()); };
  Node node(runtime, *workload, std::move(options));
  const SignsOfLife alive(spec.scenario, rank, plan.host_of[std::size_t(rank)], slot, runtime.now());
  try {
    runtime.run(
        [&] {
          const CrashTimer timer(spec.scenario.faults_of(rank), slot, runtime.now());
          node.live([&] { plan.protocol->body(node, spec.knobs); });
        },
        !server);
  } catch (const std::exception& error) {
    channel.fail(failure_of(error));  // before the wire is gone: then the peers complain, of this rank
    throw;
  }
  result.record = record_of(node, runtime, *wire, spec);
  if (&workload->space() == device_space()) add_device_use(result.record, *device_space(), prepared);
  result.events = std::move(events.lines());
  if (last.empty()) last = server ? node.kept() : workload->initial().share();
  result.parameters = numbers_of(last);
  return to_text(result);
}

std::string run_simulation(ChildChannel& channel, const ChildTask& job) {
  EventLog events(job.spec.events);
  TrialRecord record = simulate(channel, job, job.dump, events);
  if (!job.event_log.empty()) write_event_log(job.event_log, job.spec.id(), std::move(events.lines()));
  return with_host_figures(std::move(record));
}

std::string run_simulation_elsewhere(ChildChannel& channel, const ChildTask& job) {
  EventLog events(job.spec.events);
  SimulationResult result;
  TrialRecord record = simulate(channel, job, {}, events);
  if (!job.event_log.empty()) result.event_log = event_log_text(job.spec.id(), std::move(events.lines()));
  result.record = with_host_figures(std::move(record));
  return to_text(result);
}

int rank_main(std::span<const Role> roles) {
  std::unique_ptr<ChildChannel> channel;
  try {
    channel = ChildChannel::open();
    const ChildTask job = task_from_text(channel->job());
    describe_process("rank " + std::to_string(channel->rank()) + " of " + job.spec.id() + ", seed " +
                     std::to_string(job.spec.seed));
    channel->finish(run(roles, *channel, job));
    return 0;
  } catch (const std::exception& error) {
    if (channel != nullptr) {
      channel->fail(failure_of(error));
    } else {
      std::fprintf(stderr, "hopbench: %s\n", failure_of(error).text.c_str());
    }
    return static_cast<int>(ExitCode::kTrialsFailed);
  }
}

}  // namespace hopbench
