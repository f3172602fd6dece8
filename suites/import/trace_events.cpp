#include "suites/import/trace_events.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <istream>
#include <nlohmann/json.hpp>

#include "backends/base/error.h"
#include "backends/base/json_value.h"
#include "backends/base/printable.h"
#include "suites/import/input.h"

namespace hopbench {
namespace {

using Json = nlohmann::json;

/// A number or a text of the document.
struct Scalar {
  std::optional<double> real;
  std::optional<std::int64_t> integer;
  const std::string* text = nullptr;
};

/// Returns the integer that a text or a number is.
std::optional<std::int64_t> integer_in(const Scalar& value) {
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

std::uint64_t hash_in(const Scalar& value) {
  if (const auto number = integer_in(value)) return mixed(1, std::uint64_t(*number));
  return value.text == nullptr ? 0 : mixed(2, std::hash<std::string>{}(*value.text));
}

/// Follows the document and keeps the event that is open. Depths count open arrays and objects.
class EventHandler : public nlohmann::json_sax<Json> {
 public:
  EventHandler(const std::string& path, Input& input, const std::function<void(const TraceEvent&)>& on_event)
      : path_(path), input_(input), on_event_(on_event) {}
  const TraceHead& head() const { return head_; }

  bool null() override { return next(); }
  bool boolean(bool) override { return next(); }
  bool number_integer(number_integer_t number) override { return value({double(number), number, nullptr}); }
  bool number_unsigned(number_unsigned_t number) override {
    const bool fits = std::in_range<std::int64_t>(number);
    return value({double(number), fits ? std::optional(std::int64_t(number)) : std::nullopt, nullptr});
  }
  bool number_float(number_float_t number, const string_t&) override { return value({number, std::nullopt, nullptr}); }
  bool string(string_t& text) override { return value({std::nullopt, std::nullopt, &text}); }
  bool binary(binary_t&) override { return next(); }
  bool key(string_t& name) override {
    if (depth_ <= 2 || is_in_event() || is_in_args()) key_.assign(name, 0, kLongestKey);
    return next();
  }

  bool start_object(std::size_t) override {
    ++depth_;
    if (depth_ == 1) root_is_object_ = true;
    if (depth_ == 2 && events_ == 0) in_info_ = root_is_object_ && key_ == "distributedInfo";
    if (events_ > 0 && depth_ == events_ + 1) begin_event();
    if (in_event_ && depth_ == events_ + 2) in_args_ = key_ == "args";
    return next();
  }
  bool end_object() override {
    if (is_in_event()) end_event();
    if (is_in_args()) in_args_ = false;
    if (depth_ == 2) in_info_ = false;
    --depth_;
    return next();
  }
  bool start_array(std::size_t) override {
    ++depth_;
    if (depth_ == 1 || (depth_ == 2 && root_is_object_ && key_ == "traceEvents")) events_ = depth_;
    return next();
  }
  bool end_array() override {
    if (depth_ == events_) events_ = 0;
    --depth_;
    return next();
  }
  bool parse_error(std::size_t byte, const std::string&, const nlohmann::detail::exception& error) override {
    throw usage_error(
        fmt::format("{}: damaged at byte {}: {}: export the trace again", printable(path_), byte, json_mistake(error)));
  }

 private:
  static constexpr std::size_t kLongestKey = 32;  // longer than any key that is asked for

  bool next() {
    input_.begin_token();
    return true;
  }
  bool is_in_event() const { return in_event_ && depth_ == events_ + 1; }
  bool is_in_args() const { return in_event_ && in_args_ && depth_ == events_ + 2; }

  bool value(const Scalar& value) {
    if (is_in_event()) {
      set_field(value);
    } else if (is_in_args()) {
      if (key_ == "step") event_.step = integer_in(value);
    } else if (in_info_ && depth_ == 2) {
      if (key_ == "rank") head_.rank = integer_in(value);
    } else if (root_is_object_ && depth_ == 1 && key_ == "baseTimeNanoseconds") {
      head_.base_ns = integer_in(value).value_or(0);
    }
    return next();
  }

  void set_field(const Scalar& value) {
    if (value.text != nullptr) {
      if (key_ == "ph") phase_ = value.text->size() == 1 ? value.text->front() : ' ';
      if (key_ == "name") event_.name = *value.text;
      if (key_ == "cat") event_.category = *value.text;
    } else {
      if (key_ == "ts") begin_ = value.real;
      if (key_ == "dur") duration_ = value.real;
    }
    if (key_ == "pid") event_.pid = integer_in(value), pid_hash_ = hash_in(value);
    if (key_ == "tid") tid_hash_ = hash_in(value);
  }

  void begin_event() {
    event_.name.clear(), event_.category.clear();
    event_.pid.reset(), event_.step.reset(), begin_.reset(), duration_.reset();
    pid_hash_ = tid_hash_ = 0;
    phase_ = ' ';
    in_event_ = true, in_args_ = false;
  }

  void end_event() {
    constexpr double kMostMicroseconds = 1e17;  // 3000 years
    in_event_ = false;
    if (phase_ == 'B' || phase_ == 'E') ++head_.open;
    if (phase_ != 'X') return;
    const bool usable = begin_ && duration_ && std::abs(*begin_) <= kMostMicroseconds && *duration_ >= 0 &&
                        *duration_ <= kMostMicroseconds;
    if (!usable) {
      ++head_.damaged;
      return;
    }
    ++head_.events;
    event_.begin = *begin_;
    event_.end = *begin_ + *duration_;
    event_.thread = mixed(pid_hash_, tid_hash_);
    on_event_(event_);
  }

  const std::string& path_;
  Input& input_;
  const std::function<void(const TraceEvent&)>& on_event_;
  TraceHead head_;
  std::int64_t depth_ = 0, events_ = 0;  // events_: depth of the open array of events; 0: none
  bool root_is_object_ = false, in_info_ = false, in_event_ = false, in_args_ = false;
  std::string key_;
  TraceEvent event_;
  char phase_ = ' ';
  std::optional<double> begin_, duration_;
  std::uint64_t pid_hash_ = 0, tid_hash_ = 0;
};

}  // namespace

TraceHead read_trace_events(const std::string& path, const std::function<void(const TraceEvent&)>& on_event) {
  Input input(path);
  const int first = input.sgetc();
  if (first != 0xef && first != '{' && first != '[' && first != ' ' && first != '\n' && first != '\r' && first != '\t')
    throw usage_error(fmt::format(
        "{} is not JSON: export the trace as Chrome JSON (a binary Perfetto trace: traceconv json)", printable(path)));
  std::istream in(&input);
  EventHandler handler(path, input, on_event);
  Json::sax_parse(in, &handler);
  return handler.head();
}

}  // namespace hopbench
