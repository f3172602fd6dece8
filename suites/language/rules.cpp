// Rules of a scenario that slow computing: the keys that each kind needs and knows, and the files of traces.
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "backends/base/text.h"
#include "suites/language/draft.h"

namespace hopbench {
namespace {

struct RuleKind {
  const char* name;
  SlowdownKind what;
  std::vector<std::string> needs, may{};  // keys of its own

  bool knows(const std::string& key) const {
    return std::find(needs.begin(), needs.end(), key) != needs.end() ||
           std::find(may.begin(), may.end(), key) != may.end();
  }
};

const RuleKind& kind_of(const Value& rule) {
  static const std::vector<RuleKind> kKinds = {
      {"constant", SlowdownKind::kConstant, {"factor"}},
      {"bernoulli", SlowdownKind::kBernoulli, {"factor", "probability"}},
      {"exponential", SlowdownKind::kExponential, {"scale"}},
      {"log_normal", SlowdownKind::kLogNormal, {"shape"}},
      {"pareto", SlowdownKind::kPareto, {"shape"}},
      {"trace", SlowdownKind::kTrace, {"file"}, {"map", "block", "slot", "end", "scale"}},
      {"markov", SlowdownKind::kMarkov, {"factor", "slow", "normal"}},
  };
  const std::string& name = rule.find("kind")->value.text;
  const auto known =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const RuleKind& kind) { return kind.name == name; });
  HB_ASSERT(known != kKinds.end());
  return *known;
}

bool is_by_time(const Value& rule) {
  const Entry* per = rule.find("per");
  return per != nullptr && per->value.text == "time";
}

std::string text_or(const Value& rule, const char* key, const char* fallback) {
  const Entry* entry = rule.find(key);
  return entry == nullptr ? fallback : entry->value.text;
}

void check_keys(const Value& rule, const RuleKind& kind, Mistakes& mistakes) {
  for (const std::string& need : kind.needs) {
    if (rule.find(need) == nullptr) mistakes.add(rule.place, fmt::format("a {} rule needs '{}'", kind.name, need));
  }
  std::vector<std::string> all = kind.needs;
  all.insert(all.end(), kind.may.begin(), kind.may.end());
  for (const char* own : {"factor", "probability", "scale", "shape", "file", "map", "block", "end", "slow", "normal"}) {
    const Entry* entry = rule.find(own);
    if (entry != nullptr && !kind.knows(own))
      mistakes.add(entry->place,
                   fmt::format("'{}' means nothing to a {} rule: it has {}", own, kind.name, join(all, " and ")));
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
    std::shared_ptr<const Trace> trace;
  };
  static std::map<std::string, Known> known;
  std::error_code none;
  const auto written = std::filesystem::last_write_time(path, none);
  const auto found = known.find(path);
  if (!none && found != known.end() && found->second.written == written) return found->second.trace;
  std::shared_ptr<const Trace> trace = Trace::read(path);
  known[path] = {written, trace};
  return trace;
}

void check_trace_of_steps(const Value& rule, const Trace& trace, Mistakes& mistakes) {
  const Entry *block = rule.find("block"), *slot = rule.find("slot"), *of = rule.find("of");
  const bool fixed = text_or(rule, "map", "fixed") == "fixed";
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

void check_trace_of_times(const Value& rule, const Trace& trace, Mistakes& mistakes) {
  const Entry *block = rule.find("block"), *slot = rule.find("slot"), *scale = rule.find("scale");
  const bool fixed = text_or(rule, "map", "fixed") == "fixed";
  if (block != nullptr) mistakes.add(block->place, "'block' is of a trace of steps: blocks of time have 'slot'");
  if (scale != nullptr) mistakes.add(scale->place, "'scale' is of a trace of seconds: this one has factors");
  if (slot != nullptr && fixed)
    mistakes.add(slot->place, "'slot' means nothing to map = \"fixed\", which draws no blocks");
  if (slot == nullptr && !fixed) mistakes.add(rule.place, "blocks of a trace of times need 'slot', their length");
  if (slot == nullptr || fixed || Duration(duration_of(slot->value)) <= trace.length()) return;
  mistakes.add(slot->value.place,
               fmt::format("'slot' is longer than the trace, which ends at {}", duration_text(trace.length().count())));
}

void check_trace(const Value& rule, Mistakes& mistakes) {
  const Entry *file = rule.find("file"), *end = rule.find("end"), *correlated = rule.find("correlated");
  if (file == nullptr) return;
  if (end != nullptr && text_or(rule, "map", "fixed") != "fixed")
    mistakes.add(end->place, "'end' is of map = \"fixed\": blocks are drawn without end");
  if (correlated != nullptr && correlated->value.text != "rank")
    mistakes.add(correlated->place, "'correlated' means nothing to a trace rule: its 'map' says who shares a draw");
  try {
    const std::shared_ptr<const Trace> trace = trace_at(file->value.text);
    (trace->kind() == Trace::Kind::kSteps ? check_trace_of_steps : check_trace_of_times)(rule, *trace, mistakes);
  } catch (const Error& error) {
    mistakes.add(file->value.place, error.what());
  }
}

/// Returns the trace of a rule, or nullptr if it has none that can be read, which check_trace reports.
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

void locate_traces(std::vector<Value>& rules) {
  namespace fs = std::filesystem;
  for (Value& rule : rules) {
    for (Entry& entry : rule.entries) {
      if (entry.key != "file" || entry.value.text.empty()) continue;
      std::error_code none;
      const fs::path beside = fs::path(entry.place.file).parent_path() / entry.value.text;
      const fs::path found = fs::exists(beside, none) ? beside : fs::path(entry.value.text);
      entry.value.text = fs::absolute(found, none).lexically_normal().string();
    }
  }
}

void check_rules(const std::vector<Value>& rules, Mistakes& mistakes) {
  for (const Value& rule : rules) {
    const RuleKind& kind = kind_of(rule);
    check_keys(rule, kind, mistakes);
    check_moments(rule, kind, mistakes);
    if (kind.what == SlowdownKind::kTrace) check_trace(rule, mistakes);
  }
  if (std::count_if(rules.begin(), rules.end(), is_trace_of_steps) > 1)
    mistakes.add(rules.back().place, "two traces of seconds: only one can say what a gradient takes");
}

void check_rules_with(const ScenarioDraft& scenario, int workers, Mistakes& mistakes) {
  for (const Value& rule : scenario.rules) {
    int needed = workers;  // ranks of a trace
    if (const Entry* ranks = rule.find("ranks"); ranks != nullptr && ranks->value.is(Value::Type::kArray)) {
      needed = 0;
      for (const Value& rank : ranks->value.items) {
        needed = std::max(needed, int(rank.integer) + 1);
        if (rank.integer >= workers)
          mistakes.add(rank.place, fmt::format("scenario '{}' names rank {}, but the workers are 0 to {}",
                                               scenario.name, rank.integer, workers - 1));
      }
    }
    const Entry *p = rule.find("probability"), *file = rule.find("file");
    if (p != nullptr && probability_of(p->value, workers) > 1)
      mistakes.add(p->value.place, fmt::format("'probability' is {} with {} workers, out of range: it must be 0 to 1",
                                               probability_of(p->value, workers), workers));
    const std::shared_ptr<const Trace> trace = readable_trace(rule);
    if (trace == nullptr || text_or(rule, "map", "fixed") == "resample_ranks") continue;
    const int recorded = trace->ranks();
    if (recorded < needed)
      mistakes.add(
          file->value.place,
          fmt::format("scenario '{}' replays {} ranks on {} workers: set map = \"resample_ranks\", which draws "
                      "a rank for each worker, or name 'ranks'",
                      scenario.name, recorded, needed));
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

}  // namespace hopbench
