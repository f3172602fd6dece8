#include "suites/import/trace_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <span>

#include "backends/base/error.h"
#include "backends/base/files/csv.h"
#include "backends/base/printable.h"
#include "suites/import/input.h"

namespace hopbench {
namespace {

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  a ^= b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2);
  return a * 0xbf58476d1ce4e5b9u;
}

/// JSON that other programs wrote, value by value. It is lenient where files of profilers have mistakes that do not
/// matter: control characters, bytes that are not UTF-8, backslashes that escape nothing, bare words for numbers, a
/// comma after the last element, an array without its end. Escapes of characters (\u0041) stay as they are.
class JsonReader {
 public:
  explicit JsonReader(const std::string& path) : path_(path), input_(path) {}

  /// Returns the first character of the next value, which stays to be read; 0 at the end of the file.
  char peek() {
    input_.begin_token();
    for (;; input_.sbumpc(), ++bytes_) {
      const int c = input_.sgetc();
      if (c == std::char_traits<char>::eof()) return 0;
      if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return char(c);
    }
  }
  /// Reads an array. Calls `on_element` for each, which must read it.
  template <class OnElement>
  void array(const OnElement& on_element) {
    expect('[');
    for (bool first = true; !is_over(']', first); first = false) on_element();
  }
  /// Reads an object. Calls `on_value(key)` for each value, which must read it.
  template <class OnValue>
  void object(const OnValue& on_value) {
    expect('{');
    for (bool first = true; !is_over('}', first); first = false) {
      read_text();
      const std::string key = token_;
      expect(':');
      on_value(key);
    }
  }
  /// Reads a value. It is then token(), which is empty for objects and arrays.
  void read() {
    const char first = peek();
    is_text_ = first == '"';
    if (is_text_) return read_text();
    if (first == '{' || first == '[') return skip_nested();
    token_.clear();
    for (int c = first; c != std::char_traits<char>::eof(); c = input_.sgetc()) {
      if (std::isalnum(c) == 0 && (c == 0 || std::strchr("+-._#()", c) == nullptr)) break;
      token_ += next();
    }
    if (!token_.empty()) return;
    next();
    throw damaged("it is not valid JSON: a value is missing");
  }
  bool is_text() const { return is_text_; }
  const std::string& token() const { return token_; }
  std::optional<double> number() const {
    const auto number = is_text_ ? std::nullopt : number_in<double>(token_);
    return number && std::isfinite(*number) ? number : std::nullopt;
  }
  bool is_cut() const { return cut_; }  // the file ended within an array
  Error damaged(const std::string& why) const {
    return usage_error(fmt::format("{}: damaged at byte {}: {}", printable(path_), bytes_, why));
  }

 private:
  char next() {
    const int c = input_.sbumpc();
    if (c == std::char_traits<char>::eof())
      throw damaged("the file ends within a value: it was cut: copy it again, or record again with enough space");
    ++bytes_;
    return char(c);
  }
  void expect(char what) {
    const char found = peek();
    if (found != 0 && found != what)
      throw damaged(fmt::format("it is not valid JSON: {} stands where {} belongs", quotable({&found, 1}), what));
    next();
  }
  bool is_over(char close, bool first) {
    if (!first && peek() != close && peek() != 0) expect(',');
    if (peek() == 0 && (close == ']' || cut_)) return cut_ = true;
    if (peek() != close) return false;
    next();
    return true;
  }
  void read_text() {
    expect('"');
    token_.clear();
    for (char c = next(); c != '"'; c = next()) {
      if (c == '\\') {
        const char escaped = next();
        if (std::strchr("\"\\/", escaped) == nullptr) token_ += c;
        c = escaped;
      }
      token_ += c;
    }
  }
  void skip_nested() {
    std::size_t open = 0;
    do {
      const char c = peek();
      if (c == '"') {
        read_text();
        continue;
      }
      next();
      if (c == '{' || c == '[') ++open;
      if (c == '}' || c == ']') --open;
    } while (open > 0);
    token_.clear();
  }

  std::string path_;
  Input input_;
  std::int64_t bytes_ = 0;  // that were read
  bool cut_ = false, is_text_ = false;
  std::string token_;
};

/// The document's structure.
class TraceDocument {
 public:
  TraceDocument(const std::string& path, const std::function<void(const TraceEvent&)>& on_event)
      : in_(path), on_event_(on_event) {}

  TraceHead read(const std::string& path) {
    if (in_.peek() == '[') {
      in_.array([&] { read_event(); });
    } else if (in_.peek() != '{') {
      throw usage_error(printable(path) +
                        " is not JSON: export the trace as Chrome JSON (a binary Perfetto trace: traceconv json)");
    } else {
      in_.object([&](const std::string& key) { read_member(key); });
      head_.cut = in_.is_cut();
    }
    if (in_.peek() != 0) throw in_.damaged("it is not valid JSON: something follows the end of the document");
    return head_;
  }

 private:
  void read_member(const std::string& key) {
    if (key == "traceEvents" && in_.peek() == '[') return in_.array([&] { read_event(); });
    if (key == "distributedInfo" && in_.peek() == '{')
      return in_.object([&](const std::string& name) {
        in_.read();
        if (name == "rank") head_.rank = integer_in(in_.token());
      });
    in_.read();
    if (key == "baseTimeNanoseconds") head_.base_ns = integer_in(in_.token()).value_or(0);
  }

  void read_event() {
    if (in_.peek() != '{') return in_.read();
    event_.name.clear();
    event_.category.clear();
    event_.pid = event_.step = event_.correlation = std::nullopt;
    std::string phase;
    std::optional<double> begin, duration;
    std::uint64_t pid = 0, tid = 0;
    in_.object([&](const std::string& key) {
      if (key == "args" && in_.peek() == '{') return read_args();
      in_.read();
      if (in_.is_text()) {
        if (key == "ph") phase = in_.token();
        if (key == "name") event_.name = in_.token();
        if (key == "cat") event_.category = in_.token();
      }
      if (key == "ts") begin = in_.number();
      if (key == "dur") duration = in_.number();
      if (key == "pid") event_.pid = integer_in(in_.token()), pid = hash_of_token();
      if (key == "tid") tid = hash_of_token();
    });
    event_.thread = mixed(pid, tid);
    if (phase == "B" || phase == "E") ++head_.open;
    if (phase == "X") end_event(begin, duration);
  }

  std::uint64_t hash_of_token() const {
    if (const auto number = integer_in(in_.token())) return mixed(1, std::uint64_t(*number));
    return mixed(2, std::hash<std::string>{}(in_.token()));
  }

  void read_args() {
    in_.object([&](const std::string& key) {
      in_.read();
      if (key == "step") event_.step = integer_in(in_.token());
      if (key == "correlation") event_.correlation = integer_in(in_.token());
    });
  }

  void end_event(std::optional<double> begin, std::optional<double> duration) {
    constexpr double kMostMicroseconds = 1e17, kLongestMicroseconds = 1e11;  // 3000 years, 28 hours
    const auto within = [](std::optional<double> time, double least, double most) {
      return time && *time >= least && *time <= most ? *time : std::nan("");
    };
    event_.begin = within(begin, -kMostMicroseconds, kMostMicroseconds);
    event_.end = event_.begin + within(duration, 0, kLongestMicroseconds);
    ++(event_.is_damaged() ? head_.damaged : head_.events);
    on_event_(event_);
  }

  JsonReader in_;
  const std::function<void(const TraceEvent&)>& on_event_;
  TraceHead head_;
  TraceEvent event_;
};

bool are_too_many(std::size_t wrong, std::size_t all) { return wrong > std::max<std::size_t>(2, all / 10); }

/// Returns the places of times that are to be left out, so that as many as possible rise or fall by at most
/// kClockError, unless they are too many.
std::vector<std::size_t> out_of_order(std::size_t number, const std::function<double(std::size_t)>& time) {
  std::vector<std::uint32_t> ends;  // of rising times, by their number
  std::vector<std::uint32_t> before(number, std::uint32_t(number));
  for (std::uint32_t i = 0; i < number; ++i) {
    const auto at =
        std::upper_bound(ends.begin(), ends.end(), time(i), [&](double t, std::uint32_t end) { return t < time(end); });
    if (at != ends.begin()) before[i] = *std::prev(at);
    at == ends.end() ? ends.push_back(i) : void(*at = i);
  }
  std::vector<std::size_t> wrong;
  double later = std::numeric_limits<double>::infinity();
  for (std::size_t i = number, right = ends.empty() ? number : ends.back(); i-- > 0;) {
    if (i == right)
      later = time(i), right = before[i];
    else if (time(i) > later + kClockError || (right < number && time(i) < time(right) - kClockError))
      wrong.push_back(i);
  }
  if (are_too_many(wrong.size(), number)) wrong.clear();
  return wrong;
}

}  // namespace

TraceHead read_trace_events(const std::string& path, const std::function<void(const TraceEvent&)>& on_event) {
  std::error_code none;
  const auto type = std::filesystem::status(path, none).type();
  if (type == std::filesystem::file_type::fifo || type == std::filesystem::file_type::character)
    throw usage_error(printable(path) + " cannot be read twice, as an import must: save it as a file");
  return TraceDocument(path, on_event).read(path);
}

std::vector<Ordered> take_misplaced(std::vector<Ordered>& events, const std::function<bool(const Ordered&)>& is_wrong) {
  auto first = std::partition(events.begin(), events.end(), is_wrong);
  if (are_too_many(std::size_t(first - events.begin()), events.size())) first = events.begin();
  std::vector<Ordered> taken(events.begin(), first);
  std::sort(first, events.end());
  for (auto last = first; first != events.end(); first = last) {
    last = std::find_if(first, events.end(), [&](const Ordered& event) { return event.thread != first->thread; });
    const std::span thread(first, last);
    for (const std::size_t i : out_of_order(thread.size(), [&](std::size_t k) { return thread[k].time; }))
      taken.push_back(thread[i]);
  }
  std::sort(taken.begin(), taken.end());
  std::erase_if(events, [&](const Ordered& event) { return std::binary_search(taken.begin(), taken.end(), event); });
  return taken;
}

void report_head(const TraceHead& head, const std::string& path, Remarks& remarks) {
  const std::string name = printable(path);
  if (head.damaged > 0 && head.events == 0)
    remarks.cause(fmt::format("{}: none of its {} events has numbers for ts and dur: times as texts are not read", name,
                              head.damaged));
  else if (head.damaged > 0)
    remarks.add(fmt::format("{}: {} events without a usable time or duration are left out", name, head.damaged));
  if (head.open > 0)
    remarks.add(fmt::format("{}: {} events of phase B or E are left out: only whole events (phase X) are read", name,
                            head.open));
  if (head.cut) remarks.cause(name + " has no end: it may have been cut, and lack its last events");
}

}  // namespace hopbench
