#include "suites/trial/event_log.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "backends/base/error.h"
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

void write_event_log(const std::string& path, const std::string& trial_id, std::vector<EventLine> lines) {
  std::stable_sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
  std::error_code none;
  const bool linked = std::filesystem::is_symlink(path, none) || std::filesystem::hard_link_count(path, none) > 1;
  if (linked && !none) std::filesystem::remove(path, none);  // other names of the same file keep its contents
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << event_log_head(trial_id);
  for (const EventLine& line : lines) file << line.text;
  file.close();
  if (!file)
    throw environment_error("cannot write the event log " + path + ": " + std::strerror(errno) +
                            ": is its folder there and the disk not full? --no-events goes without");
}

}  // namespace hopbench
