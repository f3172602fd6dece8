// Reading and writing of CSV as text (RFC 4180).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backends/base/error.h"
#include "results/files/csv.h"

namespace hopbench {

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::vector<std::vector<std::string>> read_csv(std::string_view text, const std::string& name) {
  std::vector<std::vector<std::string>> lines;
  std::size_t at = 0;
  while (at < text.size()) {
    std::vector<std::string>& fields = lines.emplace_back();
    for (bool more = true; more;) {
      std::string& field = fields.emplace_back();
      if (at < text.size() && text[at] == '"') {
        while (true) {
          const std::size_t quote = text.find('"', at + 1);
          if (quote == std::string_view::npos) {
            throw usage_error(fmt::format("{}: row {}: a quote never ends: is the file cut off?", name, lines.size()));
          }
          field += text.substr(at + 1, quote - at - 1);
          at = quote + 1;
          if (at == text.size() || text[at] != '"') break;
          field += '"';
        }
      }
      const std::size_t end = std::min(text.find_first_of(",\n", at), text.size());
      std::string_view rest = text.substr(at, end - at);
      more = end < text.size() && text[end] == ',';
      if (!more && rest.ends_with('\r')) rest.remove_suffix(1);  // of the line break; one in quotes is content
      field += rest;
      at = end + 1;
    }
  }
  return lines;
}

std::string csv_number(double value) {
  if (std::isnan(value)) return "";
  return fmt::format("{}", value == 0 ? 0.0 : value);  // no "-0"
}

}  // namespace hopbench
