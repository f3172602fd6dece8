#include "suites/trial/event_log.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "backends/base/error.h"
#include "backends/base/record/event.h"
#include "protocols/node/node.h"
#include "results/files/record_json.h"

namespace hopbench {

void EventLog::on(const Event& event) {
  if (detail_ == EventDetail::kNone || (detail_ == EventDetail::kBrief && of_a_message(event.what))) return;
  lines_.push_back({event.time, {}});
  const char* kind = kind_name(event.kind);
  if (kind == nullptr || *event.text != '\0') return append_event(lines_.back().text, event);
  Event named = event;
  named.text = kind;
  append_event(lines_.back().text, named);
}

namespace {

void sort_by_time(std::vector<EventLine>& lines) {
  std::stable_sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
}

template <class Write>
void write_log(const std::string& path, const Write& write) {
  std::error_code none;
  const bool linked = std::filesystem::is_symlink(path, none) || std::filesystem::hard_link_count(path, none) > 1;
  if (linked && !none) std::filesystem::remove(path, none);  // other names of the same file keep its contents
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  write(file);
  file.close();
  if (!file)
    throw environment_error("cannot write the event log " + path + ": " + std::strerror(errno) +
                            ": is its folder there and the disk not full? --no-events goes without");
}

}  // namespace

void write_event_log(const std::string& path, const std::string& trial_id, std::vector<EventLine> lines) {
  sort_by_time(lines);
  write_log(path, [&](std::ofstream& file) {
    file << event_log_head(trial_id);
    for (const EventLine& line : lines) file << line.text;
  });
}

std::string event_log_text(const std::string& trial_id, std::vector<EventLine> lines) {
  sort_by_time(lines);
  std::string text = event_log_head(trial_id);
  for (const EventLine& line : lines) text += line.text;
  return text;
}

void write_event_log_text(const std::string& path, const std::string& text) {
  write_log(path, [&](std::ofstream& file) { file << text; });
}

}  // namespace hopbench
