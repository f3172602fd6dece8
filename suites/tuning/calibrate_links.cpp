#include "suites/tuning/calibrate_links.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "backends/base/error.h"
#include "backends/runtime/links/emulated_wire.h"
#include "backends/runtime/process/run_delay.h"
#include "backends/transport/wire.h"
#include "results/arithmetic/statistics.h"
#include "results/files/machine.h"
#include "suites/trial/child_task.h"
#include "suites/trial/rank_assignment.h"
#include "suites/tuning/calibrate.h"

namespace hopbench {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr int kRoundTrips = 30, kLarge = 3;
constexpr std::size_t kFewestFloats = 1 << 14, kMostFloats = 1 << 20;  // 64 KiB to 4 MiB, each four times the last
constexpr double kLongest = 0.05;                                      // seconds: a body that takes longer is the last
constexpr Duration kPairLimit = std::chrono::seconds(30);
constexpr double kTaken = 0.02;  // share of the time taken by others, above which it is contended

// Rank 0 lets one rank after the other measure. The ranks that are not measuring answer.
class LinkMeter {
 public:
  LinkMeter(ChildChannel& channel, Wire& wire)
      : rank_(channel.rank()), size_(channel.size()), wire_(wire), slot_(channel.board().slot(channel.rank())) {}

  json lead() {
    json pairs = json::array();
    for (int from = 0; from < size_; ++from) {
      for (int to = 0; to < size_; ++to) {
        if (from == to) continue;
        if (from == 0) {
          pairs.push_back(measure(to));
          continue;
        }
        send(from, kGo, {}, {to});
        pairs.push_back(json::parse(text_of(await(kDone))));
      }
    }
    for (int rank = 1; rank < size_; ++rank) send(rank, kEnd);
    return pairs;
  }

  void follow() {
    while (true) {
      const Message message = next();
      if (message.kind == kEnd) return;
      if (message.kind == kGo) send_text(0, kDone, measure(int(message.words[0])).dump());
    }
  }

 private:
  static constexpr Kind kPing{1}, kPong{2}, kGo{3}, kDone{4}, kEnd{5}, kBack{6}, kBody{7};

  json measure(int peer) {
    const Duration waited = process_run_delay();
    const auto begin = Clock::now();
    std::vector<double> small;
    for (int i = 0; i < kRoundTrips; ++i) small.push_back(exchange(peer, {}));
    json bodies = json::array();
    std::size_t floats = kFewestFloats;
    for (double seconds = 0; bodies.size() < 2 || (seconds < kLongest && floats <= kMostFloats); floats *= 4) {
      seconds = median_of(kLarge, [&, body = Vec(floats).share()] { return exchange(peer, body); });
      bodies.push_back({{"bytes", double(floats * sizeof(float))}, {"seconds", seconds}});
    }
    const double both = median_of(kLarge, [&, body = Vec(floats / 4).share()] { return exchange_both(peer, body); });
    const double took = seconds_since(begin);
    return {{"from", rank_},
            {"to", peer},
            {"round_trip", median(small)},
            {"bodies", bodies},
            {"both_ways", both},
            {"contended", to_seconds(process_run_delay() - waited) > kTaken * took}};
  }

  static double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  /// Returns the median of `times` calls. A first call, which makes connections and memory ready, does not count.
  template <class F>
  static double median_of(int times, const F& seconds) {
    seconds();
    std::vector<double> all;
    for (int i = 0; i < times; ++i) all.push_back(seconds());
    return median(all);
  }

  double exchange(int peer, const Payload& body) {
    const auto begin = Clock::now();
    send(peer, kPing, body);
    await(kPong);
    return seconds_since(begin);
  }

  /// Asks for a body of the same size and sends its own meanwhile. Ends when both are there.
  double exchange_both(int peer, const Payload& body) {
    const auto begin = Clock::now();
    send(peer, kBack, {}, {std::int64_t(body.size())});
    send(peer, kPing, body);
    bool came = false, answered = false;
    while (!came || !answered) {
      const Message message = next();
      came = came || message.kind == kBody;
      answered = answered || message.kind == kPong;
    }
    return seconds_since(begin);
  }

  void send(int to, Kind kind, const Payload& body = {}, const Words& words = {}) {
    const Message message{.from = rank_,
                          .kind = kind,
                          .iter = 0,
                          .words = words,
                          .body = body,
                          .bytes = kHeaderBytes + std::int64_t(body.stored() * sizeof(float))};
    while (!wire_.try_send(to, message)) wire_.wait(std::chrono::milliseconds(10));
  }
  // Sends a short text as a body, with a float for each character.
  void send_text(int to, Kind kind, const std::string& text) {
    const std::vector<float> characters(text.begin(), text.end());
    send(to, kind, Vec::from_host(characters).share());
  }
  static std::string text_of(const Message& message) {
    const std::vector<float> characters = Vec::copy_of(message.body).to_host();
    return {characters.begin(), characters.end()};
  }

  /// Waits for a message of that kind, and answers others meanwhile.
  Message await(Kind kind) {
    while (true) {
      Message message = next();
      if (message.kind == kind) return message;
    }
  }
  Message next() {
    while (true) {
      std::optional<Message> got = wire_.poll();
      if (!got) {
        wire_.wait(std::chrono::milliseconds(100));
        continue;
      }
      slot_.beats.fetch_add(1, std::memory_order_relaxed);
      if (got->kind == kGone) throw trial_error("rank " + std::to_string(got->from) + " died during calibration");
      if (got->kind == kBack) {
        send(got->from, kBody, Vec(std::size_t(got->words[0])).share());
      } else if (got->kind == kPing) {
        send(got->from, kPong);
      } else {
        return std::move(*got);
      }
    }
  }

  const int rank_, size_;
  Wire& wire_;
  RankSlot& slot_;
};

PairFigures pair_from(const json& j) {
  PairFigures pair{.from = j.at("from"), .to = j.at("to"), .round_trip_s = j.at("round_trip")};
  for (const json& sent : j.at("bodies")) pair.bodies.push_back({sent.at("bytes"), sent.at("seconds")});
  pair.both_ways_s = j.at("both_ways");
  pair.contended = j.at("contended");
  return pair;
}

/// Returns the numbers of the ranks' machines, in the order of their first ranks.
std::vector<int> machines_of(const LaunchOptions& launch, const Fleet& fleet) {
  std::map<int, int> numbers;
  std::vector<int> all;
  for (const int process : launch.placement.crew_of) {
    const int host = fleet.members()[std::size_t(process)].host;
    all.push_back(numbers.try_emplace(host, int(numbers.size())).first->second);
  }
  return all;
}

}  // namespace

std::string calibrate_links_rank(ChildChannel& channel, const ChildTask& job) {
  const TrialSpec& spec = job.spec;
  const Transport& transport = find_transport(spec.transport);
  if (transport.prepare != nullptr) transport.prepare();
  std::vector<int> peers;
  for (int peer = 0; peer < channel.size(); ++peer) {
    if (peer != channel.rank()) peers.push_back(peer);
  }
  std::unique_ptr<Wire> wire =
      transport.connect(wire_options(spec, channel, peers, kMostFloats * sizeof(float)), channel);
  if (spec.emulate) wire = std::make_unique<EmulatedWire>(std::move(wire), peers, kLinksFd);
  channel.ready();
  channel.board().slot(channel.rank()).phase = Phase::kRunning;
  LinkMeter meter(channel, *wire);
  json pairs = json::array();
  if (channel.rank() == 0) {
    pairs = meter.lead();
  } else {
    meter.follow();
  }
  wire->close(std::chrono::seconds(10));
  return json{{"pairs", pairs}, {"congestion_control", tcp_congestion_control("")}, {"packets", largest_packets("")}}
      .dump();
}

LinkFigures calibrate_links(const TrialSpec& spec, const std::atomic<int>* interrupts, Fleet* fleet) {
  LaunchOptions options = launch_options(ChildTask{"calibrate_links", spec}, spec.workers(), interrupts);
  options.trial_timeout = std::max(spec.trial_timeout, options.ranks * (options.ranks - 1) * kPairLimit);
  std::optional<LinkEmulator> links;
  if (spec.emulate) links.emplace(network_of(spec, make_plan(spec)), options.ranks, spec.seed, spec.repeat);
  options.links = links ? &*links : nullptr;
  place(options, spec, make_plan(spec), fleet);
  const LaunchResult launched = launch_or_throw(options, "calibration of links");
  LinkFigures figures;
  for (std::size_t rank = 0; rank < launched.ranks.size(); ++rank) {
    const json said = json::parse(launched.ranks[rank].result);
    figures.ends.push_back(
        {machine_of(options, static_cast<int>(rank), fleet), said.at("congestion_control"), said.at("packets")});
    for (const json& pair : said.at("pairs")) figures.pairs.push_back(pair_from(pair));
  }
  if (fleet != nullptr) figures.machine_of = machines_of(options, *fleet);
  return figures;
}

}  // namespace hopbench
