#include "suites/campaign/shard.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "backends/base/error.h"
#include "backends/base/json_value.h"
#include "backends/base/printable.h"
#include "backends/base/text.h"
#include "suites/campaign/calibrations.h"

namespace hopbench {
namespace {

constexpr int kMostShards = 1'000'000;

/// Reads digits up to the end. Returns -1 if there is anything else, or too many of them.
int number_in(std::string_view text) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value <= kMostShards ? value : -1;
}

void read_numbers(const std::string& text, RunShard& shard) {
  const std::size_t slash = text.find('/');
  shard.number = number_in(std::string_view(text).substr(0, slash));
  shard.of = slash == std::string::npos ? -1 : number_in(std::string_view(text).substr(slash + 1));
  if (shard.number < 0 || shard.of < 1) {
    throw usage_error(fmt::format(
        "--shard is a number and a count, such as 2/3 for the second of three shards, not '{}'", quotable(text)));
  }
  if (shard.number < 1) {
    throw usage_error(fmt::format(
        "--shard {}: shards are numbered from 1: where a queue counts from 0, add 1 (--shard $((INDEX + 1))/{})", text,
        shard.of));
  }
  if (shard.number > shard.of)
    throw usage_error(fmt::format("--shard {}: the number must not exceed the count: there are 1/{} to {}/{}", text,
                                  shard.of, shard.of, shard.of));
}

std::string as_flag(const char* name, const std::string& value) {
  return value.empty() ? fmt::format("no {}", name) : fmt::format("{} {}", name, shell_word(value));
}

/// Lists the settings as flags; an empty value is a flag that is not given.
std::vector<std::pair<const char*, std::string>> flags_of(const RunShard& shard) {
  return {{"--filter", shard.filter},
          {"--exclude", shard.exclude},
          {"--events", shard.events == CampaignOptions().events ? "" : shard.events},
          {"--shuffle", shard.shuffle == 0 ? "" : std::to_string(shard.shuffle)},
          {"--dump", join(shard.dump, ",")}};
}

RunShard of_options(const CampaignOptions& options) {
  return {1, 1, options.filter, options.exclude, options.events, options.shuffle, options.dump};
}

/// Throws if trials of different machines would not be comparable.
void check_comparable(const std::vector<TrialSpec>& trials) {
  for (const TrialSpec& spec : trials) {
    if (spec.transport == "sim") continue;
    const char* const why = needs_calibration(spec)
                                ? "pace = \"auto\" is what this machine measures, and the other shards' would differ"
                            : !spec.pace ? "with pace = \"off\" each machine's own speed decides"
                                         : nullptr;
    if (why == nullptr) continue;
    throw usage_error(
        fmt::format("--shard: {} runs in real processes, and {}: give compute.pace a time for all machines (hopbench "
                    "calibrate prints one), or --set 'transport.name=\"sim\"'",
                    spec.id(), why));
  }
}

}  // namespace

std::optional<RunShard> shard_of(const CampaignOptions& options) {
  if (options.shard.empty()) return std::nullopt;
  RunShard shard = of_options(options);
  read_numbers(options.shard, shard);
  return shard;
}

std::optional<RunShard> shard_in(const std::string& context_json, const std::string& path) {
  const nlohmann::json context = nlohmann::json::parse(context_json, nullptr, false);
  if (!context.is_object() || !context.contains("shard")) return std::nullopt;
  const auto damaged = [&](const std::string& why) {
    return usage_error(
        fmt::format("{}/context.json is damaged: 'shard': {}: put the run's own file there", printable(path), why));
  };
  RunShard shard;
  try {
    const nlohmann::json& json = context.at("shard");
    shard = {integer_of<int>(field_of(json, "number")),
             integer_of<int>(field_of(json, "of")),
             field_of(json, "filter").get<std::string>(),
             field_of(json, "exclude").get<std::string>(),
             field_of(json, "events").get<std::string>(),
             integer_of<std::uint64_t>(field_of(json, "shuffle")),
             field_of(json, "dump").get<std::vector<std::string>>()};
  } catch (const nlohmann::json::exception& error) {
    throw damaged(json_mistake(error));
  } catch (const Error& error) {
    throw damaged(error.what());
  }
  if (shard.number < 1 || shard.number > shard.of || shard.of > kMostShards)
    throw damaged(fmt::format("there is no shard {}", shard.name()));
  return shard;
}

std::string to_json(const RunShard& shard) {
  return nlohmann::ordered_json{{"number", shard.number},   {"of", shard.of},         {"filter", shard.filter},
                                {"exclude", shard.exclude}, {"events", shard.events}, {"shuffle", shard.shuffle},
                                {"dump", shard.dump}}
      .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void check_goes_on(const RunShard& shard, const CampaignOptions& options) {
  if (const auto asked = shard_of(options); asked && asked->name() != shard.name()) {
    throw usage_error(
        fmt::format("{} holds shard {}: leave --shard {} out", printable(options.resume), shard.name(), options.shard));
  }
  RunShard now = of_options(options);
  now.of = shard.of;
  now.filter = shard.filter, now.exclude = shard.exclude;  // these may choose some of what is left
  if (difference(shard, now).empty()) return;
  const auto then = flags_of(shard), given = flags_of(now);
  for (std::size_t i = 0; i < then.size(); ++i) {
    if (then[i].second == given[i].second) continue;
    throw usage_error(fmt::format("{} holds a shard that was begun with {}: resume it in the same way",
                                  printable(options.resume), as_flag(then[i].first, then[i].second)));
  }
}

std::string difference(const RunShard& a, const RunShard& b) {
  if (a.of != b.of) return fmt::format("--shard N/{}; --shard N/{}", a.of, b.of);
  const auto one = flags_of(a), other = flags_of(b);
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (one[i].second != other[i].second)
      return as_flag(one[i].first, one[i].second) + "; " + as_flag(other[i].first, other[i].second);
  }
  return "";
}

int shard_of_place(std::size_t place, int of) {
  const auto base = static_cast<std::size_t>(of);
  if (base == 1) return 1;
  std::size_t sum = 0;
  for (; place > 0; place /= base) sum += place % base;
  return static_cast<int>(sum % base) + 1;
}

void keep_shard(const RunShard& shard, std::vector<TrialSpec>& trials) {
  if (trials.empty()) return;  // reported as a filter that leaves none
  if (trials.size() < static_cast<std::size_t>(shard.of)) {
    throw usage_error(fmt::format("--shard {}: the run has {} trial{} only, fewer than shards: use at most {} shards",
                                  shard.name(), trials.size(), trials.size() == 1 ? "" : "s", trials.size()));
  }
  check_comparable(trials);
  std::vector<TrialSpec> kept;
  for (std::size_t place = 0; place < trials.size(); ++place) {
    if (shard_of_place(place, shard.of) == shard.number) kept.push_back(std::move(trials[place]));
  }
  trials = std::move(kept);
}

std::string setting_flags(const RunShard& shard) {
  std::string text;
  for (const auto& [name, value] : flags_of(shard)) {
    if (!value.empty()) text += fmt::format(" {} {}", name, shell_word(value));
  }
  return text;
}

std::string shard_flags(const RunShard& shard) { return " --shard " + shard.name() + setting_flags(shard); }

std::string called_program() {
  const char* const called = std::getenv("HOPBENCH_COMMAND");
  return called != nullptr ? called : "hopbench";
}

}  // namespace hopbench
