#include "suites/advice/variations.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "backends/base/error.h"
#include "backends/base/printable.h"
#include "backends/base/text.h"
#include "protocols/node/protocol.h"
#include "results/arithmetic/statistics.h"

namespace hopbench {
namespace {

constexpr int kNoWorker = -1;  // a rule of nobody: it keeps its place, by which the draws of later rules are keyed

void halve_rates(NetworkSpec& network) {
  for (double* rate : {&network.bandwidth, &network.uplink, &network.local_bandwidth}) *rate /= 2;
  for (NetworkSpec::Link& link : network.links) link.bandwidth /= 2;
}

void double_latency(NetworkSpec& network) {
  network.latency *= 2;
  for (NetworkSpec::Link& link : network.links) {
    if (link.latency > Duration{}) link.latency *= 2;
  }
}

bool replays_seconds(const ComputeRule& rule) {
  return rule.what == SlowdownKind::kTrace && rule.replay.trace->kind() == Trace::Kind::kSteps;
}

double median_seconds(const Trace& trace) {
  std::vector<double> all;
  for (int rank = 0; rank < trace.ranks(); ++rank) {
    for (std::int64_t step = 0; step < trace.steps(); ++step) all.push_back(trace.seconds(rank, step));
  }
  return median(all);
}

/// Sets the cost of a gradient to an ideal worker's. Traces of seconds still say the same seconds.
void set_ideal_cost(TrialSpec& spec) {
  for (ComputeRule& rule : spec.scenario.compute) {
    if (!replays_seconds(rule)) continue;
    const double before = to_seconds(spec.costs.gradient);
    const double seconds = median_seconds(*rule.replay.trace) * rule.scale * before;
    spec.costs.gradient = std::max(seconds_to_duration(seconds), Duration{1});
    rule.scale *= before / to_seconds(spec.costs.gradient);
  }
}

std::vector<int> all_workers(const TrialSpec& spec) {
  std::vector<int> all(std::size_t(spec.workload.everybody()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

void limit_to(ComputeRule& rule, const std::vector<int>& ranks) {
  std::vector<int> left;
  for (const int rank : ranks) {
    const bool named = rule.ranks.empty() || std::find(rule.ranks.begin(), rule.ranks.end(), rank) != rule.ranks.end();
    if (named) left.push_back(rank);
  }
  if (left.empty()) left.push_back(kNoWorker);
  rule.ranks = std::move(left);
}

bool parse_host(std::string_view text, int& host) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), host);
  return error == std::errc() && end == text.data() + text.size() && host >= 0;
}

}  // namespace

std::vector<Variation> variations_of(const TrialSpec& spec) {
  std::vector<Variation> all;
  if (spec.instant_network) return all;
  if (spec.network.bandwidth > 0 || !spec.network.links.empty())
    all.push_back({"network at half the rate", [](TrialSpec& changed) { halve_rates(changed.network); }});
  all.push_back({"latency doubled", [](TrialSpec& changed) { double_latency(changed.network); }});
  if (spec.costs.vector_bytes_per_s > 0)
    all.push_back(
        {"vector operations at half the rate", [](TrialSpec& changed) { changed.costs.vector_bytes_per_s /= 2; }});
  const bool apart = spec.network.servers_apart;
  all.push_back({apart ? "servers beside worker 0" : "servers on machines of their own",
                 [apart](TrialSpec& changed) { changed.network.servers_apart = !apart; }, true});
  return all;
}

TrialSpec only_as_recorded(const TrialSpec& spec, const std::vector<int>& ranks) {
  TrialSpec changed = spec;
  set_ideal_cost(changed);
  for (ComputeRule& rule : changed.scenario.compute) limit_to(rule, ranks);
  return changed;
}

TrialSpec with_speed(const TrialSpec& spec, int rank, double factor) {
  std::vector<int> others = all_workers(spec);
  std::erase(others, rank);
  TrialSpec changed = only_as_recorded(spec, others);
  changed.scenario.compute.push_back({.what = SlowdownKind::kConstant, .ranks = {rank}, .factor = factor});
  return changed;
}

TrialSpec without_worker(const TrialSpec& spec, int rank) {
  TrialSpec changed = spec;
  changed.workload.without = {rank};
  changed.workload.workers = spec.workload.everybody() - 1;
  return changed;
}

LinkChange parse_link_change(const std::string& text) {
  const std::size_t equals = text.find('='), dash = text.find('-');
  LinkChange change;
  const bool has_unit = text.find_first_of("bB", equals == std::string::npos ? 0 : equals) != std::string::npos;
  bool right = equals != std::string::npos && has_unit &&
               parse_rate(std::string_view(text).substr(equals + 1), change.bandwidth) && change.bandwidth > 0;
  if (right && dash < equals) {
    right = parse_host(std::string_view(text).substr(0, dash), change.a) &&
            parse_host(std::string_view(text).substr(dash + 1, equals - dash - 1), change.b) && change.a != change.b;
  } else if (right) {
    right = parse_host(std::string_view(text).substr(0, equals), change.a);
  }
  if (!right)
    throw usage_error(
        fmt::format("--link {}: write HOST-HOST=RATE or HOST=RATE, such as 0-1=10Gbit/s", printable(text)));
  return change;
}

TrialSpec with_link(const TrialSpec& spec, const LinkChange& change) {
  TrialSpec changed = spec;
  NetworkSpec& network = changed.network;
  std::erase_if(network.links, [&](const NetworkSpec::Link& link) {
    return (link.a == change.a && link.b == change.b) || (change.b >= 0 && link.a == change.b && link.b == change.a);
  });
  network.links.push_back({.a = change.a, .b = change.b, .bandwidth = change.bandwidth});
  return changed;
}

}  // namespace hopbench
