// Rules of a scenario that slow computing or change links: the keys that each kind needs and knows, and their traces.
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "backends/base/text.h"
#include "suites/language/draft.h"

namespace hopbench {
namespace {

struct RuleKind {
  const char* name;
  SlowdownKind what;                      // of a link: kTrace or kMarkov
  std::vector<std::string> needs, may{};  // keys of its own

  bool knows(const std::string& key) const {
    return std::find(needs.begin(), needs.end(), key) != needs.end() ||
           std::find(may.begin(), may.end(), key) != may.end();
  }
};

const RuleKind& kind_named(const std::vector<RuleKind>& kinds, const std::string& name) {
  const auto known = std::find_if(kinds.begin(), kinds.end(), [&](const RuleKind& kind) { return kind.name == name; });
  HB_ASSERT(known != kinds.end());
  return *known;
}

const RuleKind& kind_of(const Value& rule) {
  static const std::vector<RuleKind> kKinds = {
      {"constant", SlowdownKind::kConstant, {"factor"}},
      {"bernoulli", SlowdownKind::kBernoulli, {"factor", "probability"}},
      {"exponential", SlowdownKind::kExponential, {"scale"}},
      {"log_normal", SlowdownKind::kLogNormal, {"shape"}},
      {"pareto", SlowdownKind::kPareto, {"shape"}},
      {"trace", SlowdownKind::kTrace, {"file"}, {"map", "block", "slot", "end", "scale", "digest"}},
      {"markov", SlowdownKind::kMarkov, {"factor", "slow", "normal"}},
  };
  return kind_named(kKinds, rule.find("kind")->value.text);
}

/// Returns the kind of an item of scenario.links that has one.
const RuleKind& link_kind_of(const Value& link) {
  static const std::vector<RuleKind> kKinds = {
      {"trace", SlowdownKind::kTrace, {"file"}, {"map", "slot", "end", "digest"}},
      {"markov", SlowdownKind::kMarkov, {"slow", "normal"}, {"factor", "latency_factor"}},
  };
  return kind_named(kKinds, link.find("kind")->value.text);
}

bool is_by_time(const Value& rule) {
  const Entry* per = rule.find("per");
  return per != nullptr && per->value.text == "time";
}

std::string text_or(const Value& rule, const char* key, const char* fallback) {
  const Entry* entry = rule.find(key);
  return entry == nullptr ? fallback : entry->value.text;
}

/// `own`: keys that only some kinds know. `thing`: "rule" or "link".
void check_keys(const Value& rule, const RuleKind& kind, const char* thing, const std::vector<const char*>& own,
                Mistakes& mistakes) {
  for (const std::string& need : kind.needs) {
    if (rule.find(need) == nullptr) mistakes.add(rule.place, fmt::format("a {} {} needs '{}'", kind.name, thing, need));
  }
  std::vector<std::string> all = kind.needs;
  all.insert(all.end(), kind.may.begin(), kind.may.end());
  for (const char* key : own) {
    const Entry* entry = rule.find(key);
    if (entry != nullptr && !kind.knows(key))
      mistakes.add(entry->place,
                   fmt::format("'{}' means nothing to a {} {}: it has {}", key, kind.name, thing, join(all, " and ")));
  }
}

void check_moments(const Value& rule, const RuleKind& kind, Mistakes& mistakes) {
  const Entry *from = rule.find("from"), *until = rule.find("until"), *slot = rule.find("slot"), *of = rule.find("of");
  if (until != nullptr && duration_of(until->value) <= (from != nullptr ? duration_of(from->value) : 0))
    mistakes.add(until->value.place, "'until' must be later than 'from'");
  const bool has_memory = kind.what == SlowdownKind::kTrace || kind.what == SlowdownKind::kMarkov;
  if (const Entry* per = rule.find("per"); per != nullptr && has_memory && is_by_time(rule))
    mistakes.add(
        per->place,
        fmt::format("'per' means nothing to a {} rule: it draws nothing for each iteration or slot", kind.name));
  if (slot != nullptr && !is_by_time(rule) && !kind.knows("slot"))
    mistakes.add(slot->place, "'slot' means nothing without per = \"time\"");
  const bool by_iteration = kind.what != SlowdownKind::kConstant && !has_memory && !is_by_time(rule);
  if (of != nullptr && of->value.text == "all" && by_iteration)
    mistakes.add(of->value.place,
                 fmt::format("of = \"all\" needs a draw by time, since servers have no iterations: set per = \"time\" "
                             "in the {} rule",
                             kind.name));
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

bool is_fixed(const Value& rule) { return text_or(rule, "map", "fixed") == "fixed"; }

void check_trace_of_steps(const Value& rule, const Trace& trace, Mistakes& mistakes) {
  const Entry *block = rule.find("block"), *slot = rule.find("slot"), *of = rule.find("of"),
              *scale = rule.find("scale"), *from = rule.find("from"), *until = rule.find("until");
  const bool fixed = is_fixed(rule);
  if (scale != nullptr && scale->value.as_real() <= 0)
    mistakes.add(scale->value.place, "'scale' must be above 0: the seconds of the trace are multiplied by it");
  for (const Entry* time : {from, until}) {
    if (time == nullptr || (time == from && duration_of(from->value) == 0)) continue;
    mistakes.add(time->place, fmt::format("'{}' means nothing to a trace of seconds, which replaces the pace in the "
                                          "whole trial: take a trace of factors (rank,time,factor)",
                                          time->key));
  }
  if (slot != nullptr) mistakes.add(slot->place, "'slot' is of a trace of times: blocks of steps have 'block'");
  if (block != nullptr && fixed)
    mistakes.add(block->place, "'block' means nothing to map = \"fixed\", which draws no blocks");
  if (of != nullptr && of->value.text == "all")
    mistakes.add(of->value.place, "of = \"all\" needs a trace of times, since servers have no steps");
  if (block == nullptr || fixed || !trace.starts(block->value.integer).empty()) return;
  mistakes.add(block->value.place,
               fmt::format("the trace has no {} steps in a row: its longest run without a gap has {}",
                           block->value.integer, trace.longest_run()));
}

void check_blocks_of_time(const Value& rule, const Trace& trace, Mistakes& mistakes) {
  const Entry* slot = rule.find("slot");
  const bool fixed = is_fixed(rule);
  if (slot != nullptr && fixed)
    mistakes.add(slot->place, "'slot' means nothing to map = \"fixed\", which draws no blocks");
  if (slot == nullptr && !fixed) mistakes.add(rule.place, "blocks of a trace of times need 'slot', their length");
  if (slot == nullptr || fixed || Duration(duration_of(slot->value)) <= trace.length()) return;
  mistakes.add(slot->value.place,
               fmt::format("'slot' is longer than the trace, which ends at {}", duration_text(trace.length().count())));
}

void check_trace_of_times(const Value& rule, const Trace& trace, Mistakes& mistakes) {
  const Entry *block = rule.find("block"), *scale = rule.find("scale");
  if (block != nullptr) mistakes.add(block->place, "'block' is of a trace of steps: blocks of time have 'slot'");
  if (scale != nullptr) mistakes.add(scale->place, "'scale' is of a trace of seconds: this one has factors");
  check_blocks_of_time(rule, trace, mistakes);
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
                 fmt::format("the trace {} has changed: its digest is {}, but this suite was written for {}: put that "
                             "file back, or take out 'digest' for trials with the file as it is now",
                             file->value.text, trace->digest(), digest->value.text));
  } catch (const Error& error) {
    mistakes.add(file->value.place, error.what());
  }
  return nullptr;
}

void check_end(const Value& rule, Mistakes& mistakes) {
  const Entry* end = rule.find("end");
  if (end != nullptr && !is_fixed(rule))
    mistakes.add(end->place, "'end' is of map = \"fixed\": blocks are drawn without end");
}

void check_trace(const Value& rule, Mistakes& mistakes) {
  const Entry* correlated = rule.find("correlated");
  check_end(rule, mistakes);
  if (correlated != nullptr && correlated->value.text != "rank")
    mistakes.add(correlated->place, "'correlated' means nothing to a trace rule: its 'map' says who shares a draw");
  const std::shared_ptr<const Trace> trace = checked_trace(rule, mistakes);
  if (trace == nullptr) return;
  if (trace->kind() == Trace::Kind::kLink) {
    mistakes.add(rule.find("file")->value.place,
                 "this trace is of a link: one of workers has the columns rank,step,seconds or rank,time,factor");
    return;
  }
  (trace->kind() == Trace::Kind::kSteps ? check_trace_of_steps : check_trace_of_times)(rule, *trace, mistakes);
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

TraceReplay replay_of(const Value& rule) {
  TraceReplay replay;
  replay.trace = trace_at(rule.find("file")->value.text);
  const std::string map = text_or(rule, "map", "fixed"), end = text_or(rule, "end", "wrap");
  replay.map = map == "fixed"            ? TraceMap::kFixed
               : map == "resample_ranks" ? TraceMap::kResampleRanks
                                         : TraceMap::kBlockBootstrap;
  replay.end = end == "wrap" ? TraceEnd::kWrap : end == "hold" ? TraceEnd::kHold : TraceEnd::kError;
  if (const Entry* block = rule.find("block")) replay.block = block->value.integer;
  if (const Entry* slot = rule.find("slot")) replay.slot = Duration(duration_of(slot->value));
  replay.prepare();
  return replay;
}

}  // namespace

std::string trace_digest(const Value& rule) {
  const std::shared_ptr<const Trace> trace = readable_trace(rule);
  return trace == nullptr ? "" : trace->digest();
}

void check_rules(const std::vector<Value>& rules, Mistakes& mistakes) {
  static const std::vector<const char*> kOwn = {"factor", "probability", "scale", "shape", "file",  "digest",
                                                "map",    "block",       "end",   "slow",  "normal"};
  for (const Value& rule : rules) {
    const RuleKind& kind = kind_of(rule);
    check_keys(rule, kind, "rule", kOwn, mistakes);
    check_moments(rule, kind, mistakes);
    if (kind.what == SlowdownKind::kTrace) check_trace(rule, mistakes);
  }
  if (std::count_if(rules.begin(), rules.end(), is_trace_of_steps) > 1)
    mistakes.add(rules.back().place, "two traces of seconds: only one can say what a gradient takes");
}

namespace {

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
    mistakes.add(ranks->place,
                 "'ranks' means nothing to a trace of seconds, which replaces the pace of all workers: take a trace of "
                 "factors (rank,time,factor) to slow some of them");
    return;
  }
  const bool some = !named.empty() && std::ssize(named) < workers;
  const int needed = some ? int(*named.rbegin()) + 1 : workers;
  if (text_or(rule, "map", "fixed") == "resample_ranks" || trace->ranks() >= needed) return;
  const char* const how = "set map = \"resample_ranks\", which draws a rank for each worker";
  if (some) {
    mistakes.add(file->value.place, fmt::format("scenario '{}' names rank {}, but the trace has ranks 0 to {}: {}",
                                                scenario.name, needed - 1, trace->ranks() - 1, how));
  } else {
    const bool may_name = trace->kind() == Trace::Kind::kTimes && ranks == nullptr;
    mistakes.add(file->value.place, fmt::format("scenario '{}' replays {} ranks on {} workers: {}{}", scenario.name,
                                                trace->ranks(), needed, how, may_name ? ", or name 'ranks'" : ""));
  }
}

}  // namespace

void check_rules_with(const ScenarioDraft& scenario, int workers, Mistakes& mistakes) {
  for (const Value& rule : scenario.rules) {
    bool known_ranks = true;
    if (const Entry* ranks = rule.find("ranks"); ranks != nullptr && ranks->value.is(Value::Type::kArray)) {
      for (const Value& rank : ranks->value.items) {
        if (rank.integer < workers) continue;
        known_ranks = false;
        mistakes.add(rank.place, fmt::format("scenario '{}' names rank {}, but the workers are 0 to {}", scenario.name,
                                             rank.integer, workers - 1));
      }
    }
    const Entry* p = rule.find("probability");
    if (p != nullptr && probability_of(p->value, workers) > 1)
      mistakes.add(p->value.place, fmt::format("'probability' is {} with {} workers, out of range: it must be 0 to 1",
                                               probability_of(p->value, workers), workers));
    if (known_ranks) check_trace_with(scenario, rule, workers, mistakes);
  }
}

bool replays_seconds(const ScenarioDraft& scenario) {
  return std::any_of(scenario.rules.begin(), scenario.rules.end(), [](const Value& rule) {
    return is_trace_of_steps(rule) || (rule.find("file") != nullptr && readable_trace(rule) == nullptr);
  });
}

ComputeRule rule_of(const Value& table, int workers, int drawn_rank) {
  const auto value = [&](const char* name) { return table.find(name) ? &table.find(name)->value : nullptr; };
  const auto real = [&](const char* name) { return value(name) ? value(name)->as_real() : 0.0; };
  static const std::map<std::string, ComputeRule::Correlated> kCorrelated = {{"rank", ComputeRule::Correlated::kRank},
                                                                             {"host", ComputeRule::Correlated::kHost},
                                                                             {"all", ComputeRule::Correlated::kAll}};
  ComputeRule rule;
  rule.what = kind_of(table).what;
  if (const Value* ranks = value("ranks")) {
    if (ranks->is(Value::Type::kText)) rule.ranks = {drawn_rank};
    for (const Value& rank : ranks->items) rule.ranks.push_back(int(rank.integer));
  }
  if (value("factor") != nullptr) rule.factor = real("factor");
  if (const Value* p = value("probability")) rule.probability = probability_of(*p, workers);
  rule.scale = real("scale");
  rule.shape = real("shape");
  rule.per = is_by_time(table) ? ComputeRule::Per::kTime : ComputeRule::Per::kIteration;
  if (text_or(table, "of", "gradients") == "all") rule.of = ComputeRule::Of::kAll;
  const bool trace = rule.what == SlowdownKind::kTrace;
  if (const Value* slot = value("slot"); slot != nullptr && !trace) rule.slot = Duration(duration_of(*slot));
  rule.correlated = kCorrelated.at(text_or(table, "correlated", "rank"));
  if (const Value* from = value("from")) rule.from = Time(Duration(duration_of(*from)));
  if (const Value* until = value("until")) rule.until = Time(Duration(duration_of(*until)));
  if (const Value* slow = value("slow")) rule.slow = Duration(duration_of(*slow));
  if (const Value* normal = value("normal")) rule.normal = Duration(duration_of(*normal));
  if (!trace) return rule;
  rule.replay = replay_of(table);
  rule.digest = rule.replay.trace->digest();
  if (value("scale") == nullptr) rule.scale = 1;
  return rule;
}

// --- Links

namespace {

/// Returns true if the link's rule divides a bandwidth.
bool divides_bandwidth(const Value& link) {
  const Entry *kind = link.find("kind"), *factor = link.find("factor");
  if (kind == nullptr) return false;
  if (link_kind_of(link).what == SlowdownKind::kMarkov) return factor != nullptr && factor->value.as_real() > 1;
  const std::shared_ptr<const Trace> trace = readable_trace(link);
  return trace != nullptr && trace->has(Trace::Column::kFactor);
}

bool has_bandwidth(const Value& link) {
  const Entry* bandwidth = link.find("bandwidth");
  return bandwidth != nullptr && rate_of(bandwidth->value) > 0;
}

void check_link_trace(const Value& link, Mistakes& mistakes) {
  check_end(link, mistakes);
  const std::shared_ptr<const Trace> trace = checked_trace(link, mistakes);
  if (trace == nullptr) return;
  if (trace->kind() != Trace::Kind::kLink) {
    mistakes.add(link.find("file")->value.place,
                 "this trace is of workers: one of a link has the columns time and bandwidth, factor or latency, and "
                 "no rank");
    return;
  }
  check_blocks_of_time(link, *trace, mistakes);
  for (const auto& [key, column] :
       {std::pair("bandwidth", Trace::Column::kBandwidth), std::pair("latency", Trace::Column::kLatency)}) {
    const Entry* entry = link.find(key);
    if (entry == nullptr || !trace->has(column) || (column == Trace::Column::kBandwidth && !has_bandwidth(link)))
      continue;
    mistakes.add(entry->place, fmt::format("the trace has the link's {0}: leave out '{0}'", key));
  }
}

/// Checks what changes the link while it holds.
void check_link_rule(const Value& link, Mistakes& mistakes) {
  static const std::vector<const char*> kOwn = {"factor", "latency_factor", "slow", "normal", "file", "digest",
                                                "map",    "slot",           "end"};
  if (link.find("kind") == nullptr) {
    for (const char* key : kOwn) {
      if (const Entry* entry = link.find(key))
        mistakes.add(entry->place, fmt::format("'{}' means nothing to a link without 'kind'", key));
    }
    return;
  }
  const RuleKind& kind = link_kind_of(link);
  check_keys(link, kind, "link", kOwn, mistakes);
  if (kind.what == SlowdownKind::kTrace) {
    check_link_trace(link, mistakes);
  } else {
    const auto above_1 = [&](const char* key) {
      const Entry* factor = link.find(key);
      return factor != nullptr && factor->value.as_real() > 1;
    };
    if (!above_1("factor") && !above_1("latency_factor"))
      mistakes.add(link.place, "this link is never slow: give it a 'factor' or a 'latency_factor' above 1");
  }
  const Entry* b = link.find("b");
  if (b != nullptr && b->value.integer >= 0 && divides_bandwidth(link) && !has_bandwidth(link))
    mistakes.add(link.place, "this link has no bandwidth to divide: give it the 'bandwidth' at its usual speed");
}

}  // namespace

void check_links(const std::vector<Value>& links, Mistakes& mistakes) {
  for (const Value& table : links) {
    const NetworkSpec::Link link = link_of(table);
    if (link.a == link.b)
      mistakes.add(table.find("b")->value.place, "'a' and 'b' are one host: leave out 'b' to mean its NIC");
    if (table.find("kind") == nullptr && link.bandwidth <= 0 && link.latency < Duration{})
      mistakes.add(table.place, "this link is as it was: give it a 'bandwidth' or a 'latency'");
    if (link.until <= link.from) mistakes.add(table.find("until")->value.place, "'until' must be later than 'from'");
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
      mistakes.add(link.place, fmt::format("scenario '{}' divides the bandwidth of host {}'s NIC, which is unlimited "
                                           "in measure '{}': give this link the 'bandwidth' at its usual speed",
                                           scenario.name, link.find("a")->value.integer, c.name));
    if (end != nullptr && end->value.text == "error" && !simulated)
      mistakes.add(end->value.place, fmt::format("end = \"error\" is of virtual time, but measure '{}' has real "
                                                 "processes: take \"wrap\" or \"hold\"",
                                                 c.name));
  }
}

NetworkSpec::Link changing_link_of(const Value& table) {
  NetworkSpec::Link link = link_of(table);
  if (table.find("kind") == nullptr) return link;
  LinkRule& rule = link.rule;
  rule.what = link_kind_of(table).what == SlowdownKind::kTrace ? LinkRuleKind::kTrace : LinkRuleKind::kMarkov;
  if (const Entry* factor = table.find("factor")) rule.factor = factor->value.as_real();
  if (const Entry* factor = table.find("latency_factor")) rule.latency_factor = factor->value.as_real();
  if (const Entry* slow = table.find("slow")) rule.slow = Duration(duration_of(slow->value));
  if (const Entry* normal = table.find("normal")) rule.normal = Duration(duration_of(normal->value));
  if (rule.what != LinkRuleKind::kTrace) return link;
  rule.replay = replay_of(table);
  rule.digest = rule.replay.trace->digest();
  return link;
}

}  // namespace hopbench
