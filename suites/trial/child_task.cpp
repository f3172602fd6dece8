#include "suites/trial/child_task.h"

#include <charconv>
#include <cstring>

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

// The text is "<length of the JSON>\n<JSON><the events' lines><float32 parameters, this machine's order>". Both ends
// are this same binary.
std::string to_text(const RankResult& result) {
  std::vector<Time> times;
  std::string lines;
  for (const EventLine& event : result.events) {
    times.push_back(event.time);
    lines += event.text;
  }
  const std::string head =
      OrderedJson{{"record", encode(result.record)}, {"times", encode(times)}, {"bytes_of_lines", lines.size()}}.dump();
  std::string text = std::to_string(head.size()) + "\n" + head + lines;
  const std::size_t begin = text.size(), bytes = result.parameters.size() * sizeof(float);
  text.resize(begin + bytes);
  if (bytes > 0) std::memcpy(text.data() + begin, result.parameters.data(), bytes);
  return text;
}

namespace {

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

RankResult rank_result_from_text(const std::string& text) {
  std::size_t head = 0, lines = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), head);
  const std::size_t begin = static_cast<std::size_t>(end - text.data()) + 1;  // of the JSON
  if (error != std::errc() || begin > text.size() || *end != '\n' || head > text.size() - begin)
    refuse(kResult, "it is cut off");
  RankResult result;
  reading(kResult, [&] {
    const OrderedJson j = OrderedJson::parse(text.substr(begin, head));
    std::vector<Time> times;
    decode(j.at("record"), result.record);
    decode(j.at("times"), times);
    decode(j.at("bytes_of_lines"), lines);
    if (lines > text.size() - begin - head) refuse(kResult, "it is cut off");
    result.events = events_of(times, std::string_view(text).substr(begin + head, lines));
  });
  const std::size_t numbers = begin + head + lines;
  result.parameters.resize((text.size() - numbers) / sizeof(float));
  if (!result.parameters.empty())
    std::memcpy(result.parameters.data(), text.data() + numbers, result.parameters.size() * sizeof(float));
  return result;
}

// The text is "<length of the record>\n<record><event log>".
std::string to_text(const SimulationResult& result) {
  return std::to_string(result.record.size()) + "\n" + result.record + result.event_log;
}

SimulationResult simulation_result_from_text(const std::string& text) {
  std::size_t record = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), record);
  const std::size_t begin = static_cast<std::size_t>(end - text.data()) + 1;
  if (error != std::errc() || begin > text.size() || *end != '\n' || record > text.size() - begin)
    refuse("a trial's result", "it is cut off");
  return {text.substr(begin, record), text.substr(begin + record)};
}

}  // namespace hopbench
