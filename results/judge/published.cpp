#include "results/judge/published.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "backends/base/error.h"
#include "backends/base/json_value.h"
#include "backends/base/text.h"
#include "results/files/record_json.h"

namespace hopbench {
namespace {

using OrderedJson = nlohmann::ordered_json;

Error damaged(const std::string& name, const std::string& why) {
  return usage_error(
      fmt::format("{} is damaged: {}. Restore it from git; only `hopbench reproduce hopbench` writes it", name, why));
}

std::string bound_text(double bound) { return fmt::format("{:.6g}", bound); }

/// Returns true if the range of a claim accepts values that the recorded range did not.
bool wider(const PublishedClaim& claim, const LastValue& last) {
  const bool below = last.at_least && (!claim.at_least || *claim.at_least < *last.at_least);
  const bool above = last.at_most && (!claim.at_most || *claim.at_most > *last.at_most);
  return below || above;
}

void check_limit(const PublishedClaim& claim, std::vector<std::string>& messages) {
  if (claim.kind != PublishedClaim::Kind::kLimit || !claim.expected) return;
  const bool low = claim.at_most && *claim.at_most < 2 * *claim.expected;
  const bool high = claim.at_least && *claim.at_least > *claim.expected / 2;
  if (!low && !high) return;
  messages.push_back(fmt::format(
      "claim '{}' accepts {}, less than a factor of 2 from the expected {}: an absolute limit must leave room "
      "for other machines",
      claim.id, Published::range_text(claim), bound_text(*claim.expected)));
}

OrderedJson value_json(const LastValue& last) {
  OrderedJson j = OrderedJson::object();
  if (last.rows.empty())
    j["text"] = last.text;
  else
    j["heads"] = last.heads, j["rows"] = last.rows;
  if (last.value) j["value"] = *last.value;
  if (last.at_least) j["at_least"] = *last.at_least;
  if (last.at_most) j["at_most"] = *last.at_most;
  if (!last.widened.empty()) j["widened"] = last.widened;
  j["measured"] = last.measured;
  if (!last.commit.empty()) j["commit"] = last.commit;
  j["machine"] = last.machine;
  j["commands"] = last.commands;
  return j;
}

LastValue value_of(const nlohmann::json& j) {
  LastValue last;
  last.text = j.value("text", "");
  if (j.contains("rows")) j.at("heads").get_to(last.heads), j.at("rows").get_to(last.rows);
  if (j.contains("value")) last.value = j.at("value").get<double>();
  if (j.contains("at_least")) last.at_least = j.at("at_least").get<double>();
  if (j.contains("at_most")) last.at_most = j.at("at_most").get<double>();
  last.widened = j.value("widened", "");
  j.at("measured").get_to(last.measured);
  last.commit = j.value("commit", "");
  j.at("machine").get_to(last.machine);
  j.at("commands").get_to(last.commands);
  return last;
}

}  // namespace

std::string PublishedRun::text() const {
  std::vector<std::string> words;
  for (const std::string& word : command) words.push_back(shell_word(word));
  return join(words, " ");
}

bool PublishedRun::needs_quiet() const { return std::find(needs.begin(), needs.end(), "quiet") != needs.end(); }

const PublishedRun& Published::run(const std::string& id) const {
  const auto found = std::find_if(runs.begin(), runs.end(), [&](const PublishedRun& run) { return run.id == id; });
  HB_ASSERT_MSG(found != runs.end(), id);
  return *found;
}

std::vector<std::string> PublishedTable::parts() const {
  std::vector<std::string> names;
  for (const std::string& run : runs) names.push_back(part(run));
  return names;
}

std::vector<std::string> PublishedTable::heads() const {
  std::vector<std::string> heads;
  for (const Column& column : columns) heads.push_back(column.head);
  return heads;
}

std::string Published::range_text(const PublishedClaim& claim) {
  if (claim.at_least && claim.at_most) {
    if (*claim.at_least == *claim.at_most) return bound_text(*claim.at_least);
    return fmt::format("{} to {}", bound_text(*claim.at_least), bound_text(*claim.at_most));
  }
  if (claim.at_least) return "at least " + bound_text(*claim.at_least);
  return claim.at_most ? "at most " + bound_text(*claim.at_most) : "";
}

const char* to_string(PublishedVerdict verdict) {
  switch (verdict) {
    case PublishedVerdict::kHolds:
      return "holds";
    case PublishedVerdict::kRecorded:
      return "recorded";
    case PublishedVerdict::kFalse:
      return "false";
    case PublishedVerdict::kBusy:
      return "undecided: busy";
    case PublishedVerdict::kNotRun:
      return "not run";
    case PublishedVerdict::kFailed:
      break;
  }
  return "failed";
}

const char* to_string(PublishedClaim::Kind kind) {
  constexpr const char* kNames[] = {"ratio", "count", "bytes", "limit", "recorded"};
  return kNames[int(kind)];
}

PublishedVerdict judge(const PublishedClaim& claim, double value, bool disturbed) {
  using Kind = PublishedClaim::Kind;
  // Comparisons are written so that NaN is outside of every range.
  const bool inside = (!claim.at_least || value >= *claim.at_least) && (!claim.at_most || value <= *claim.at_most);
  const PublishedVerdict verdict = inside ? PublishedVerdict::kHolds : PublishedVerdict::kFalse;
  if (claim.kind == Kind::kCount || claim.kind == Kind::kBytes) return verdict;
  if (disturbed) {
    return claim.kind == Kind::kLimit && inside ? PublishedVerdict::kHolds : PublishedVerdict::kBusy;
  }
  return claim.kind == Kind::kRecorded ? PublishedVerdict::kRecorded : verdict;
}

LastValues last_values_from_json(const std::string& text, const std::string& name) {
  LastValues values;
  std::string at;
  try {
    if (too_deep(text)) throw usage_error("its lists stand too deep in each other");
    const nlohmann::json document = nlohmann::json::parse(text);
    for (const auto& [id, value] : field_of(document, "values").items()) {
      at = fmt::format("the value '{}': ", id);
      values[id] = value_of(value);
    }
  } catch (const nlohmann::json::exception& error) {
    throw damaged(name, at + json_mistake(error));
  } catch (const Error& error) {
    throw damaged(name, at + error.what());
  }
  return values;
}

std::string to_json(const LastValues& values) {
  OrderedJson all = OrderedJson::object();
  for (const auto& [id, last] : values) all[id] = value_json(last);
  return OrderedJson{{"schema_version", kSchemaVersion}, {"values", std::move(all)}}.dump(1) + "\n";
}

std::vector<std::string> check_ranges(const Published& published, const LastValues& values) {
  std::vector<std::string> messages;
  for (const PublishedClaim& claim : published.claims) {
    check_limit(claim, messages);
    const auto last = values.find(claim.id);
    if (last == values.end() || !wider(claim, last->second)) continue;
    if (!claim.widened.empty() && claim.widened != last->second.widened) continue;
    PublishedClaim before;
    before.at_least = last->second.at_least;
    before.at_most = last->second.at_most;
    messages.push_back(
        fmt::format("claim '{}' accepts {}, wider than the last range ({}): give the reason in 'widened'", claim.id,
                    Published::range_text(claim).empty() ? "anything" : Published::range_text(claim),
                    Published::range_text(before)));
  }
  return messages;
}

}  // namespace hopbench
