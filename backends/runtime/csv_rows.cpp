#include "backends/runtime/csv_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "backends/base/printable.h"

namespace hopbench {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::vector<std::string_view> cells_in(std::string_view line) {
  std::vector<std::string_view> cells;
  for (std::size_t begin = 0;;) {
    const std::size_t end = line.find(',', begin);
    cells.push_back(trimmed(line.substr(begin, end - begin)));
    if (end == std::string_view::npos) return cells;
    begin = end + 1;
  }
}

}  // namespace

Error csv_error(const std::string& path, int line, const std::string& why) {
  return usage_error(printable(fmt::format("{}:{}: {}", path, line, why)));
}

int read_csv_rows(const std::string& path, const char* what, const CsvRow& row) {
  const auto unreadable = [&](const char* why) {
    return usage_error(fmt::format("the {} {} cannot be read: {}", what, printable(path), why));
  };
  std::error_code none;
  if (std::filesystem::exists(path, none) && !std::filesystem::is_regular_file(path, none))
    throw unreadable("it is not a file");
  std::ifstream file(path);
  if (!file) throw unreadable(std::strerror(errno));
  constexpr std::string_view kMark = "\xEF\xBB\xBF";  // of UTF-8, which spreadsheets write
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (number == 1 && line.starts_with(kMark)) line.erase(0, kMark.size());
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line.starts_with('#')) continue;
    if (const std::string why = row(line, cells_in(line)); !why.empty()) throw csv_error(path, number, why);
  }
  return std::max(number, 1);
}

}  // namespace hopbench
