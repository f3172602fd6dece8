#include "suites/trial/child_task.h"

#include <charconv>
#include <cstring>
#include <string_view>

#include "backends/base/error.h"
#include "results/files/record_json.h"
#include "suites/trial/trial_json.h"

namespace hopbench {
namespace {

/// Reports a malformed text as the failure of the process that wrote it, which runs this same binary.
[[noreturn]] void refuse(const char* what, const std::string& why) {
  throw trial_error(std::string(what) + " cannot be read: " + why + ": run the trial again");
}

template <class Read>
auto reading(const char* what, const Read& read) {
  try {
    return read();
  } catch (const OrderedJson::exception& error) {
    refuse(what, json_mistake(error));
  } catch (const Error& error) {
    if (error.code() != ExitCode::kUsage) throw;
    refuse(what, error.what());
  }
}

constexpr const char* kJob = "a rank's job";
constexpr const char* kResult = "a rank's result";

/// Returns "<length of the head>\n<head>".
std::string with_length(const std::string& head) { return std::to_string(head.size()) + "\n" + head; }

/// Takes such a head off the front of a text. Throws if the text is cut off.
std::string_view take_head(std::string_view& text, const char* what) {
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  const std::size_t begin = static_cast<std::size_t>(end - text.data()) + 1;
  if (error != std::errc() || begin > text.size() || *end != '\n' || length > text.size() - begin)
    refuse(what, "it is cut off");
  const std::string_view head = text.substr(begin, length);
  text.remove_prefix(begin + length);
  return head;
}

std::vector<EventLine> events_of(const std::vector<Time>& times, std::string_view lines) {
  std::vector<EventLine> events;
  for (const Time time : times) {
    const std::size_t end = lines.find('\n');
    if (end == std::string_view::npos) refuse(kResult, "its events do not fit together");
    events.push_back({time, std::string(lines.substr(0, end + 1))});
    lines.remove_prefix(end + 1);
  }
  if (!lines.empty()) refuse(kResult, "its events do not fit together");
  return events;
}

}  // namespace

std::string to_text(const ChildTask& job) {
  return OrderedJson{{"role", job.role},   {"spec", encode(job.spec)}, {"event_log", job.event_log},
                     {"bench", job.bench}, {"dump", job.dump.what},    {"dump_folder", job.dump.folder}}
      .dump();
}

ChildTask task_from_text(const std::string& text) {
  return reading(kJob, [&] {
    const OrderedJson j = OrderedJson::parse(text);
    ChildTask job;
    job.role = j.at("role");
    decode(j.at("spec"), job.spec);
    job.event_log = j.at("event_log");
    job.bench = j.at("bench");
    job.dump = {j.at("dump").get<std::vector<std::string>>(), j.at("dump_folder")};
    return job;
  });
}

// After the JSON come the events' lines and the parameters: float32 in this machine's order. Both ends are this same
// binary.
std::string to_text(const RankResult& result) {
  std::vector<Time> times;
  std::string lines;
  for (const EventLine& event : result.events) {
    times.push_back(event.time);
    lines += event.text;
  }
  const std::string head =
      OrderedJson{{"record", encode(result.record)}, {"times", encode(times)}, {"bytes_of_lines", lines.size()}}.dump();
  std::string text = with_length(head) + lines;
  const std::size_t begin = text.size(), bytes = result.parameters.size() * sizeof(float);
  text.resize(begin + bytes);
  if (bytes > 0) std::memcpy(text.data() + begin, result.parameters.data(), bytes);
  return text;
}

RankResult rank_result_from_text(const std::string& text) {
  std::string_view rest = text;
  const std::string_view head = take_head(rest, kResult);
  RankResult result;
  reading(kResult, [&] {
    const OrderedJson j = OrderedJson::parse(head);
    std::vector<Time> times;
    std::size_t lines = 0;
    decode(j.at("record"), result.record);
    decode(j.at("times"), times);
    decode(j.at("bytes_of_lines"), lines);
    if (lines > rest.size()) refuse(kResult, "it is cut off");
    result.events = events_of(times, rest.substr(0, lines));
    rest.remove_prefix(lines);
  });
  result.parameters.resize(rest.size() / sizeof(float));
  if (!result.parameters.empty())
    std::memcpy(result.parameters.data(), rest.data(), result.parameters.size() * sizeof(float));
  return result;
}

std::string to_text(const SimulationResult& result) { return with_length(result.record) + result.event_log; }

SimulationResult simulation_result_from_text(const std::string& text) {
  std::string_view log = text;
  const std::string_view record = take_head(log, "a trial's result");
  return {std::string(record), std::string(log)};
}

}  // namespace hopbench
