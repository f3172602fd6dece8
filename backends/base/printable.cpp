#include "backends/base/printable.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

namespace hopbench {
namespace {

constexpr std::size_t kQuoted = 120;  // bytes of a value in a message

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 0;  // 0: the text does not begin with a valid UTF-8 character
};

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

CodePoint first_of(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 && lead < 0xF5 ? 4 : lead >= 0xE0 && lead < 0xF0 ? 3 : lead >= 0xC2 ? 2 : 0;
  if (bytes == 0 || lead >= 0xF5 || text.size() < bytes) return {};
  std::uint32_t value = lead & (0xFFu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if (!continues_character(text[i])) return {};
    value = value << 6 | (static_cast<unsigned char>(text[i]) & 0x3Fu);
  }
  const std::uint32_t least = bytes == 2 ? 0x80 : bytes == 3 ? 0x800 : 0x10000;
  const bool surrogate = value >= 0xD800 && value < 0xE000;
  return value < least || value > 0x10FFFF || surrogate ? CodePoint{} : CodePoint{value, bytes};
}

bool harmless(std::uint32_t c) {
  const bool control = c < 0x20 || (c >= 0x7F && c < 0xA0);
  const bool direction =
      c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
  const bool separator = c == 0x2028 || c == 0x2029;
  return !control && !direction && !separator;
}

std::string escape(std::uint32_t c) {
  if (c == '\n') return "\\n";
  if (c == '\r') return "\\r";
  if (c == '\t') return "\\t";
  return fmt::format("\\u{:04x}", c);
}

std::string escaped(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const CodePoint c = first_of(text);
    const std::size_t bytes = c.bytes == 0 ? 1 : c.bytes;
    if (c.bytes == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else if (harmless(c.value) || kept.find(text[0]) != std::string_view::npos) {
      out += text.substr(0, bytes);
    } else {
      out += escape(c.value);
    }
    text.remove_prefix(bytes);
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) { return escaped(text, ""); }
std::string printable_lines(std::string_view text) { return escaped(text, "\n\t"); }

std::string printable_line(std::string_view text) {
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return printable(line);
}

bool is_printable(std::string_view text) {
  while (!text.empty()) {
    const CodePoint c = first_of(text);
    if (c.bytes == 0 || !harmless(c.value)) return false;
    text.remove_prefix(c.bytes);
  }
  return true;
}

std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  std::size_t head = most * 2 / 3, tail = text.size() - most / 3;
  while (head > 0 && continues_character(text[head])) --head;
  while (tail < text.size() && continues_character(text[tail])) ++tail;
  return fmt::format("{} ... ({} bytes left out) ... {}", text.substr(0, head), tail - head, text.substr(tail));
}

std::string quotable(std::string_view text) { return printable(shortened(text, kQuoted)); }

std::string listed(std::span<const std::string> names, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < most; ++i) text += (i > 0 ? ", " : "") + quotable(names[i]);
  return names.size() <= most ? text : text + fmt::format(" and {} more", names.size() - most);
}

}  // namespace hopbench
