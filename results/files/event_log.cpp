// Events as JSON lines, written by hand: a trial has hundreds of thousands, and a tree for each costs more than the
// simulation of the event.
#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "backends/base/record/event.h"
#include "results/files/record_json.h"

namespace hopbench {
namespace {

class Line {
 public:
  explicit Line(std::string& text) : text_(text) { text_ += '{'; }
  void close() { text_ += "}\n"; }

  template <class T>
  void number(const char* name, T value) {
    key(name);
    append(value);
  }
  void string(const char* name, std::string_view value) {
    key(name);
    append(value);
  }
  template <class T>
  void list(const char* name, const std::vector<T>& values) {
    key(name);
    text_ += '[';
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) text_ += ',';
      append(values[i]);
    }
    text_ += ']';
  }

 private:
  void key(const char* name) {
    if (text_.back() != '{') text_ += ',';
    text_ += '"';
    text_ += name;
    text_ += "\":";
  }
  template <class T>
  void append(T value) {
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(value))
        return append(std::string_view(std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf"));
    }
    fmt::format_to(std::back_inserter(text_), "{}", value);
  }
  void append(std::string_view value) {
    text_ += '"';
    for (const char c : value) {
      if (c == '"' || c == '\\') text_ += '\\';
      if (static_cast<unsigned char>(c) < 0x20) {
        fmt::format_to(std::back_inserter(text_), "\\u{:04x}", static_cast<int>(c));
      } else {
        text_ += c;
      }
    }
    text_ += '"';
  }
  std::string& text_;
};

std::int64_t nanoseconds(Time t) { return t.time_since_epoch().count(); }

}  // namespace

const char* to_string(EventKind kind) {
  switch (kind) {
    case EventKind::kEnter:
      return "enter";
    case EventKind::kGradient:
      return "gradient";
    case EventKind::kOperated:
      return "operated";
    case EventKind::kReduced:
      return "reduced";
    case EventKind::kApplied:
      return "applied";
    case EventKind::kSend:
      return "send";
    case EventKind::kDeliver:
      return "deliver";
    case EventKind::kDrop:
      return "drop";
    case EventKind::kTake:
      return "take";
    case EventKind::kSpend:
      return "spend";
    case EventKind::kWait:
      return "wait";
    case EventKind::kLost:
      return "lost";
    case EventKind::kReport:
      return "report";
    case EventKind::kFinished:
      return "finished";
    case EventKind::kPeerDied:
      return "gone";
    case EventKind::kFault:
      return "fault";
  }
  return "unknown";
}

bool of_a_message(EventKind kind) {
  switch (kind) {
    case EventKind::kSend:
    case EventKind::kDeliver:
    case EventKind::kDrop:
    case EventKind::kTake:
    case EventKind::kSpend:
    case EventKind::kReport:
      return true;
    default:
      return false;
  }
}

std::string event_log_head(const std::string& trial_id) {
  std::string text;
  Line line(text);
  line.string("schema_version", kSchemaVersion);
  line.string("trial", trial_id);
  line.close();
  return text;
}

void append_event(std::string& lines, const Event& event) {
  Line line(lines);
  line.number("t", nanoseconds(event.time));
  line.number("rank", event.rank);
  line.string("what", to_string(event.what));
  line.number("iter", event.iter);
  if (event.peer >= 0) line.number("peer", event.peer);
  if (event.kind != 0) line.number("kind", event.kind);
  if (event.count != 0) line.number("count", event.count);
  if (event.first != 0) line.number("first", event.first);
  if (event.value != 0) line.number("value", event.value);
  if (event.since != Time{}) line.number("since", nanoseconds(event.since));
  if (event.delay != Duration{}) line.number("delay", event.delay.count());
  if (!event.senders.empty()) line.list("senders", event.senders);
  if (!event.tags.empty()) line.list("tags", event.tags);
  if (!event.weights.empty()) line.list("weights", event.weights);
  if (event.text != nullptr && *event.text != '\0') line.string("text", event.text);
  line.close();
}

}  // namespace hopbench
