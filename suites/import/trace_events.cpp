#include "suites/import/trace_events.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <filesystem>

#include "backends/base/error.h"
#include "backends/base/printable.h"
#include "suites/import/json_reader.h"

namespace hopbench {
namespace {

/// Returns the integer that a text or a number is.
std::optional<std::int64_t> integer_in(const JsonScalar& value) {
  if (value.text == nullptr) return value.integer;
  std::int64_t number = 0;
  const char* end = value.text->data() + value.text->size();
  const auto [last, error] = std::from_chars(value.text->data(), end, number);
  return error == std::errc() && last == end ? std::optional(number) : std::nullopt;
}

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  a ^= b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2);
  return a * 0xbf58476d1ce4e5b9u;
}

std::uint64_t hash_in(const JsonScalar& value) {
  if (const auto number = integer_in(value)) return mixed(1, std::uint64_t(*number));
  return value.text == nullptr ? 0 : mixed(2, std::hash<std::string>{}(*value.text));
}

/// The document's structure.
class TraceDocument {
 public:
  TraceDocument(const std::string& path, const std::function<void(const TraceEvent&)>& on_event)
      : path_(path), in_(path), on_event_(on_event) {}

  TraceHead read() {
    if (in_.peek() == '[') {
      in_.array([&] { read_event(); }, true);
    } else if (in_.peek() != '{') {
      throw usage_error(
          fmt::format("{} is not JSON: export the trace as Chrome JSON (a binary Perfetto trace: traceconv "
                      "json)",
                      printable(path_)));
    } else {
      in_.object([&](const std::string& key) { read_member(key); });
      head_.cut = in_.is_cut();
    }
    if (in_.peek() != 0) throw in_.damaged("it is not valid JSON: something follows the end of the document");
    return head_;
  }

 private:
  void read_member(const std::string& key) {
    if (key == "traceEvents" && in_.peek() == '[') {
      in_.array([&] { read_event(); }, true);
    } else if (key == "distributedInfo" && in_.peek() == '{') {
      in_.object([&](const std::string& name) {
        const JsonScalar value = in_.scalar();
        if (name == "rank") head_.rank = integer_in(value);
      });
    } else {
      const JsonScalar value = in_.scalar();
      if (key == "baseTimeNanoseconds") head_.base_ns = integer_in(value).value_or(0);
    }
  }

  void read_event() {
    if (in_.peek() != '{') return in_.skip();
    event_.name.clear(), event_.category.clear();
    event_.pid.reset(), event_.step.reset(), event_.correlation.reset();
    std::string phase;
    std::optional<double> begin, duration;
    std::uint64_t pid = 0, tid = 0;
    in_.object([&](const std::string& key) {
      if (key == "args" && in_.peek() == '{') return read_args();
      const JsonScalar value = in_.scalar();
      if (value.text != nullptr) {
        if (key == "ph") phase = *value.text;
        if (key == "name") event_.name = *value.text;
        if (key == "cat") event_.category = *value.text;
      }
      if (key == "ts") begin = value.real;
      if (key == "dur") duration = value.real;
      if (key == "pid") event_.pid = integer_in(value), pid = hash_in(value);
      if (key == "tid") tid = hash_in(value);
    });
    event_.thread = mixed(pid, tid);
    if (phase == "B" || phase == "E") ++head_.open;
    if (phase == "X") end_event(begin, duration);
  }

  void read_args() {
    in_.object([&](const std::string& key) {
      const JsonScalar value = in_.scalar();
      if (key == "step") event_.step = integer_in(value);
      if (key == "correlation") event_.correlation = integer_in(value);
    });
  }

  void end_event(std::optional<double> begin, std::optional<double> duration) {
    constexpr double kMostMicroseconds = 1e17, kLongestMicroseconds = 1e11;  // 3000 years, 28 hours
    if (!begin || !duration || std::abs(*begin) > kMostMicroseconds || !(*duration >= 0) ||
        *duration > kLongestMicroseconds) {
      ++head_.damaged;
      return;
    }
    ++head_.events;
    event_.begin = *begin;
    event_.end = *begin + *duration;
    on_event_(event_);
  }

  const std::string path_;
  JsonReader in_;
  const std::function<void(const TraceEvent&)>& on_event_;
  TraceHead head_;
  TraceEvent event_;
};

}  // namespace

TraceHead read_trace_events(const std::string& path, const std::function<void(const TraceEvent&)>& on_event) {
  return TraceDocument(path, on_event).read();
}

void require_file_to_reread(const std::string& path) {
  std::error_code none;
  const auto type = std::filesystem::status(path, none).type();
  if (type == std::filesystem::file_type::fifo || type == std::filesystem::file_type::character)
    throw usage_error(printable(path) + " cannot be read twice, as an import must: save it as a file");
}

void report_head(const TraceHead& head, const std::string& path, Remarks& remarks) {
  if (head.damaged > 0 && head.events == 0)
    remarks.cause(fmt::format("{}: none of its {} events has numbers for ts and dur: times as texts are not read",
                              printable(path), head.damaged));
  else if (head.damaged > 0)
    remarks.add(
        fmt::format("{}: {} events without a usable time or duration are left out", printable(path), head.damaged));
  if (head.open > 0)
    remarks.add(fmt::format("{}: {} events of phase B or E are left out: only whole events (phase X) are read",
                            printable(path), head.open));
  if (head.cut) remarks.cause(printable(path) + " has no end: it may have been cut, and lack its last events");
}

}  // namespace hopbench
