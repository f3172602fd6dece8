// Rules of a scenario that slow computing or change links: the keys that each kind needs and knows, and their traces.
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "backends/base/text.h"
#include "suites/language/only_with.h"
#include "suites/language/to_trial.h"

namespace hopbench {
namespace {

// In the order of SlowdownKind.
const std::vector<ItemKind> kRules = {
    {"constant", {"factor"}},
    {"bernoulli", {"factor", "probability"}},
    {"exponential", {"scale"}},
    {"log_normal", {"shape"}},
    {"pareto", {"shape"}},
    {"trace", {"file"}, {"map", "block", "end", "scale", "digest"}},
    {"markov", {"factor", "slow", "normal"}},
};
// In the order of LinkRuleKind, without kFixed.
const std::vector<ItemKind> kLinks = {
    {"markov", {"slow", "normal"}, {"factor", "latency_factor"}},
    {"trace", {"file"}, {"map", "slot", "end", "digest"}},
};

SlowdownKind kind_of(const Value& rule) { return SlowdownKind(kind_among(kRules, rule) - kRules.data()); }
/// Returns kFixed for a link without a kind.
LinkRuleKind link_kind_of(const Value& link) {
  const ItemKind* kind = kind_among(kLinks, link);
  return kind == nullptr ? LinkRuleKind::kFixed : LinkRuleKind(1 + (kind - kLinks.data()));
}

bool is_fixed(const Value& rule) {
  const Entry* map = rule.find("map");
  return map == nullptr || map->value.text == "fixed";
}

/// Reads a trace. While its file stays as it is, it is read once.
std::shared_ptr<const Trace> trace_at(const std::string& path) {
  struct Known {
    std::filesystem::file_time_type written;
    std::uintmax_t bytes;
    std::shared_ptr<const Trace> trace;
  };
  static std::map<std::string, Known> known;
  std::error_code none;
  const auto written = std::filesystem::last_write_time(path, none);
  const std::uintmax_t bytes = none ? 0 : std::filesystem::file_size(path, none);
  const auto found = known.find(path);
  const bool same = !none && found != known.end() && found->second.written == written && found->second.bytes == bytes;
  if (same) return found->second.trace;
  std::shared_ptr<const Trace> trace = Trace::read(path);
  known[path] = {written, bytes, trace};
  return trace;
}

void check_trace_of_steps(const Value& rule, const Trace& trace, Mistakes& mistakes) {
  const Entry *block = rule.find("block"), *scale = rule.find("scale");
  if (scale != nullptr && scale->value.as_real() <= 0)
    mistakes.add(scale->value.place, "'scale' must be above 0: the seconds of the trace are multiplied by it");
  if (block == nullptr || is_fixed(rule) || !trace.starts(block->value.integer).empty()) return;
  mistakes.add(block->value.place, "the trace has no {} steps in a row: its longest run without a gap has {}",
               block->value.integer, trace.longest_run());
}

void check_blocks_of_time(const Value& rule, const Trace& trace, Mistakes& mistakes) {
  const Entry* slot = rule.find("slot");
  if (is_fixed(rule)) return;
  if (slot == nullptr) {
    mistakes.add(rule.place, "blocks of time need 'slot', their length");
  } else if (Duration(duration_of(slot->value)) > trace.length()) {
    mistakes.add(slot->value.place, "'slot' is longer than the trace, which ends at {}",
                 duration_text(trace.length().count()));
  }
}

// Return where a trace that is named by a relative path may be.
std::string beside_suite(const Entry& file) {
  std::error_code none;
  const std::filesystem::path folder = std::filesystem::path(file.place.file).parent_path();
  return std::filesystem::absolute(folder / file.value.text, none).lexically_normal().string();
}
std::string in_current_folder(const Entry& file) {
  std::error_code none;
  return std::filesystem::absolute(file.value.text, none).lexically_normal().string();
}

/// Reads the trace of a rule or link. If that is not possible, or it is not the one whose digest the suite has, adds a
/// mistake and returns nullptr.
std::shared_ptr<const Trace> checked_trace(const Value& rule, Mistakes& mistakes) {
  const Entry *file = rule.find("file"), *digest = rule.find("digest");
  if (file == nullptr) return nullptr;
  if (const std::string& path = file->value.text; !std::filesystem::path(path).is_absolute()) {
    const std::string beside = beside_suite(*file), here = in_current_folder(*file);
    mistakes.add(file->value.place,
                 path.empty()     ? "'file' is empty: name a trace"
                 : beside == here ? fmt::format("the trace '{}' is not there: there is no {}", path, here)
                                  : fmt::format("the trace '{}' is neither beside the suite ({}) nor in the current "
                                                "folder ({})",
                                                path, beside, here));
    return nullptr;
  }
  try {
    std::shared_ptr<const Trace> trace = trace_at(file->value.text);
    if (digest == nullptr || trace->digest() == digest->value.text) return trace;
    mistakes.add(digest->value.place,
                 "the trace {} has changed: its digest is {}, but this suite was written for {}: put that "
                 "file back, or take out 'digest' for trials with the file as it is now",
                 file->value.text, trace->digest(), digest->value.text);
  } catch (const Error& error) {
    mistakes.add(file->value.place, error.what());
  }
  return nullptr;
}

/// Returns the trace of a rule or link if it is one of a link, or of workers, as it must be.
std::shared_ptr<const Trace> fitting_trace(const Value& rule, bool of_link, Mistakes& mistakes) {
  std::shared_ptr<const Trace> trace = checked_trace(rule, mistakes);
  if (trace == nullptr || (trace->kind() == Trace::Kind::kLink) == of_link) return trace;
  mistakes.add(rule.find("file")->value.place,
               of_link ? "this trace is of workers: one of a link has the columns time and bandwidth, factor or "
                         "latency, and no rank"
                       : "this trace is of a link: one of workers has the columns rank,step,seconds or "
                         "rank,time,factor");
  return nullptr;
}

void check_until(const Value& rule, Mistakes& mistakes) {
  const Entry *from = rule.find("from"), *until = rule.find("until");
  if (until != nullptr && duration_of(until->value) <= (from != nullptr ? duration_of(from->value) : 0))
    mistakes.add(until->value.place, "'until' must be later than 'from'");
}

void check_rule(const Value& rule, Mistakes& mistakes) {
  Circumstances here{.item = &rule, .rule = kind_of(rule)};
  check_kind(rule, kRules, " rule", mistakes);
  check_until(rule, mistakes);
  const std::shared_ptr<const Trace> trace =
      here.rule == SlowdownKind::kTrace ? fitting_trace(rule, false, mistakes) : nullptr;
  here.trace = trace.get();
  check_allowed("scenario.compute.", here, mistakes);
  if (trace != nullptr)
    (trace->kind() == Trace::Kind::kSteps ? check_trace_of_steps : check_blocks_of_time)(rule, *trace, mistakes);
}

/// Returns the trace of a rule, or nullptr if it has none that can be read, which checked_trace reports.
std::shared_ptr<const Trace> readable_trace(const Value& rule) {
  const Entry* file = rule.find("file");
  try {
    return file == nullptr ? nullptr : trace_at(file->value.text);
  } catch (const Error&) {
    return nullptr;
  }
}

bool is_trace_of_steps(const Value& rule) {
  const std::shared_ptr<const Trace> trace = readable_trace(rule);
  return trace != nullptr && trace->kind() == Trace::Kind::kSteps;
}

/// Opens the trace of a rule or link, and returns its digest.
std::string open_trace(const Value& rule, TraceReplay& replay) {
  replay.trace = trace_at(rule.find("file")->value.text);
  replay.prepare();
  return replay.trace->digest();
}

/// Checks that a trace has the ranks that the rule replays on workers, and is of all of them if it is of seconds.
void check_trace_with(const ScenarioDraft& scenario, const Value& rule, int workers, Mistakes& mistakes) {
  const std::shared_ptr<const Trace> trace = readable_trace(rule);
  if (trace == nullptr || trace->kind() == Trace::Kind::kLink) return;
  const Entry *ranks = rule.find("ranks"), *file = rule.find("file");
  std::set<std::int64_t> named;
  if (ranks != nullptr) {
    for (const Value& rank : ranks->value.items) named.insert(rank.integer);
  }
  if (trace->kind() == Trace::Kind::kSteps && ranks != nullptr && std::ssize(named) < workers) {
    mistakes.add(
        ranks->place,
        "'ranks' is only allowed with a trace of factors (rank,time,factor): one of seconds replaces the pace of "
        "all workers");
    return;
  }
  const bool some = !named.empty() && std::ssize(named) < workers;
  const int needed = some ? int(*named.rbegin()) + 1 : workers;
  const Entry* map = rule.find("map");
  if ((map != nullptr && map->value.text == "resample_ranks") || trace->ranks() >= needed) return;
  const char* const how = "set map = \"resample_ranks\", which draws a rank for each worker";
  if (some) {
    mistakes.add(file->value.place, "scenario '{}' names rank {}, but the trace has ranks 0 to {}: {}", scenario.name,
                 needed - 1, trace->ranks() - 1, how);
  } else {
    const bool may_name = trace->kind() == Trace::Kind::kTimes && ranks == nullptr;
    mistakes.add(file->value.place, "scenario '{}' replays {} ranks on {} workers: {}{}", scenario.name, trace->ranks(),
                 needed, how, may_name ? ", or name 'ranks'" : "");
  }
}

/// Returns true if the link's rule divides a bandwidth.
bool divides_bandwidth(const Value& link) {
  const Entry* factor = link.find("factor");
  if (link_kind_of(link) == LinkRuleKind::kMarkov) return factor != nullptr && factor->value.as_real() > 1;
  const std::shared_ptr<const Trace> trace = readable_trace(link);
  return trace != nullptr && trace->has(Trace::Column::kFactor);
}

bool has_bandwidth(const Value& link) {
  const Entry* bandwidth = link.find("bandwidth");
  return bandwidth != nullptr && rate_of(bandwidth->value) > 0;
}

void check_link_trace(const Value& link, Mistakes& mistakes) {
  const std::shared_ptr<const Trace> trace = fitting_trace(link, true, mistakes);
  check_allowed("scenario.links.", {.item = &link, .trace = trace.get()}, mistakes);
  if (trace == nullptr) return;
  check_blocks_of_time(link, *trace, mistakes);
  for (const auto& [key, column] :
       {std::pair("bandwidth", Trace::Column::kBandwidth), std::pair("latency", Trace::Column::kLatency)}) {
    const Entry* entry = link.find(key);
    if (entry == nullptr || !trace->has(column) || (column == Trace::Column::kBandwidth && !has_bandwidth(link)))
      continue;
    mistakes.add(entry->place, "the trace has the link's {0}: leave out '{0}'", key);
  }
}

/// Checks what changes the link while it holds.
void check_link_rule(const Value& link, Mistakes& mistakes) {
  const auto above_1 = [&](const char* key) {
    const Entry* factor = link.find(key);
    return factor != nullptr && factor->value.as_real() > 1;
  };
  check_kind(link, kLinks, " link", mistakes);
  const LinkRuleKind kind = link_kind_of(link);
  if (kind == LinkRuleKind::kTrace) check_link_trace(link, mistakes);
  if (kind == LinkRuleKind::kMarkov && !above_1("factor") && !above_1("latency_factor"))
    mistakes.add(link.place, "this link is never slow: give it a 'factor' or a 'latency_factor' above 1");
  const Entry* b = link.find("b");
  if (b != nullptr && b->value.integer >= 0 && divides_bandwidth(link) && !has_bandwidth(link))
    mistakes.add(link.place, "this link has no bandwidth to divide: give it the 'bandwidth' at its usual speed");
}

}  // namespace

std::string trace_digest(const Value& rule) {
  const std::shared_ptr<const Trace> trace = readable_trace(rule);
  return trace == nullptr ? "" : trace->digest();
}

void check_rules(const std::vector<Value>& rules, Mistakes& mistakes) {
  for (const Value& rule : rules) check_rule(rule, mistakes);
  if (std::count_if(rules.begin(), rules.end(), is_trace_of_steps) > 1)
    mistakes.add(rules.back().place, "two traces of seconds: only one can say what a gradient takes");
}

void check_rules_with(const ScenarioDraft& scenario, int workers, Mistakes& mistakes) {
  for (const Value& rule : scenario.rules) {
    bool known_ranks = true;
    if (const Entry* ranks = rule.find("ranks"); ranks != nullptr && ranks->value.is(Value::Type::kArray)) {
      for (const Value& rank : ranks->value.items) {
        if (rank.integer < workers) continue;
        known_ranks = false;
        mistakes.add(rank.place, "scenario '{}' names rank {}, but the workers are 0 to {}", scenario.name,
                     rank.integer, workers - 1);
      }
    }
    const Entry* p = rule.find("probability");
    if (p != nullptr && probability_of(p->value, workers) > 1)
      mistakes.add(p->value.place, "'probability' is {} with {} workers, out of range: it must be 0 to 1",
                   probability_of(p->value, workers), workers);
    if (known_ranks) check_trace_with(scenario, rule, workers, mistakes);
  }
}

bool replays_seconds(const ScenarioDraft& scenario) {
  return std::any_of(scenario.rules.begin(), scenario.rules.end(), [](const Value& rule) {
    return is_trace_of_steps(rule) || (rule.find("file") != nullptr && readable_trace(rule) == nullptr);
  });
}

ComputeRule rule_of(const Value& table, int workers, int drawn_rank) {
  ComputeRule rule = record_of<ComputeRule>(table, "scenario.compute", workers);
  rule.what = kind_of(table);
  if (const Entry* ranks = table.find("ranks"); ranks != nullptr && ranks->value.is(Value::Type::kText))
    rule.ranks = {drawn_rank};
  if (rule.what != SlowdownKind::kTrace) return rule;
  if (table.find("slot") != nullptr) rule.replay.slot = std::exchange(rule.slot, ComputeRule{}.slot);
  if (table.find("scale") == nullptr) rule.scale = 1;
  rule.digest = open_trace(table, rule.replay);
  return rule;
}

void check_links(const std::vector<Value>& links, Mistakes& mistakes) {
  for (const Value& table : links) {
    const auto link = record_of<NetworkSpec::Link>(table, "scenario.links");
    if (link.a == link.b)
      mistakes.add(table.find("b")->value.place, "'a' and 'b' are one host: leave out 'b' to mean its NIC");
    if (table.find("kind") == nullptr && link.bandwidth <= 0 && link.latency < Duration{})
      mistakes.add(table.place, "this link is as it was: give it a 'bandwidth' or a 'latency'");
    check_until(table, mistakes);
    check_link_rule(table, mistakes);
  }
}

void check_links_with(const ScenarioDraft& scenario, const Configuration& c, Mistakes& mistakes) {
  const bool unlimited = rate_of(c.at("network.bandwidth")) <= 0, simulated = c.at("transport.name").text == "sim";
  const bool obeyed = simulated ? !c.at("network.instant").flag : c.at("network.emulate").flag;
  if (!obeyed) return;  // a mistake of its own
  for (const Value& link : scenario.links) {
    const Entry *b = link.find("b"), *end = link.find("end");
    const bool nic = b == nullptr || b->value.integer < 0;
    if (nic && unlimited && divides_bandwidth(link) && !has_bandwidth(link))
      mistakes.add(link.place,
                   "scenario '{}' divides the bandwidth of host {}'s NIC, which is unlimited "
                   "in measure '{}': give this link the 'bandwidth' at its usual speed",
                   scenario.name, link.find("a")->value.integer, c.name);
    if (end != nullptr && end->value.text == "error" && !simulated)
      mistakes.add(
          end->value.place,
          "end = \"error\" is only allowed in virtual time, and measure '{}' has real processes: take \"wrap\" or "
          "\"hold\"",
          c.name);
  }
}

NetworkSpec::Link link_of(const Value& table) {
  auto link = record_of<NetworkSpec::Link>(table, "scenario.links");
  link.rule.what = link_kind_of(table);
  if (!is_fixed(table)) link.rule.replay.map = TraceMap::kBlockBootstrap;
  if (link.rule.what == LinkRuleKind::kTrace) link.rule.digest = open_trace(table, link.rule.replay);
  return link;
}

}  // namespace hopbench
