#include "suites/import/json_reader.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>

#include "backends/base/printable.h"

namespace hopbench {

Error JsonReader::damaged(const std::string& why) const {
  return usage_error(fmt::format("{}: damaged at byte {}: {}", printable(path_), bytes_, why));
}

char JsonReader::next() {
  const int c = input_.sbumpc();
  if (c == std::char_traits<char>::eof())
    throw damaged("the file ends within a value: it was cut: copy it again, or record again with enough space");
  ++bytes_;
  return char(c);
}

char JsonReader::peek() {
  input_.begin_token();
  for (;; input_.sbumpc(), ++bytes_) {
    const int c = input_.sgetc();
    if (c == std::char_traits<char>::eof()) return 0;
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return char(c);
  }
}

void JsonReader::expect(char what) {
  const char found = peek();
  if (found != 0 && found != what)
    throw damaged(fmt::format("it is not valid JSON: {} stands where {} belongs", quotable({&found, 1}), what));
  next();
}

bool JsonReader::is_over(char close, bool first, bool may_lack_end) {
  if (peek() == 0 && (may_lack_end || cut_)) return cut_ = true;
  if (peek() != close && !first) expect(',');
  if (peek() == 0 && may_lack_end) return cut_ = true;
  if (peek() != close) return false;
  next();
  return true;
}

const std::string& JsonReader::text() {
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
  return token_;
}

void JsonReader::skip_nested() {
  constexpr std::size_t kDeepest = 100'000;
  std::string open;
  do {
    const char c = peek();
    if (c == '"') {
      text();
      continue;
    }
    next();
    if (c == '{' || c == '[') open += c;
    if (open.size() > kDeepest) throw damaged(fmt::format("it is nested deeper than {}", kDeepest));
    if (c != '}' && c != ']') continue;
    if (open.back() != (c == '}' ? '{' : '[')) throw damaged("it is not valid JSON: its brackets do not match");
    open.pop_back();
  } while (!open.empty());
}

JsonScalar JsonReader::scalar() {
  const char first = peek();
  if (first == '"') return {std::nullopt, std::nullopt, &text()};
  if (first == '{' || first == '[') {
    skip_nested();
    return {};
  }
  token_.clear();
  for (int c = first; c != std::char_traits<char>::eof(); c = input_.sgetc()) {
    if (std::isalnum(c) == 0 && (c == 0 || std::strchr("+-._#()", c) == nullptr)) break;
    token_ += next();
  }
  if (token_.empty()) {
    next();
    throw damaged("it is not valid JSON: a value is missing");
  }
  JsonScalar found;
  const char *begin = token_.data(), *end = begin + token_.size();
  double real = 0;
  const auto [stop, error] = std::from_chars(begin, end, real);
  if (error != std::errc() || stop != end || !std::isfinite(real)) return found;
  found.real = real;
  constexpr double kMostExact = 9007199254740992.0;  // 2^53
  std::int64_t integer = 0;
  const auto [last, wrong] = std::from_chars(begin, end, integer);
  if (wrong == std::errc() && last == end) found.integer = integer;
  if (last != end && std::abs(real) <= kMostExact && real == std::floor(real)) found.integer = std::int64_t(real);
  return found;
}

}  // namespace hopbench
