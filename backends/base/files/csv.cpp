#include "backends/base/files/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "backends/base/printable.h"

namespace hopbench {
void split_row(std::string_view line, char separator, std::vector<std::string_view>& cells) {
  constexpr std::string_view kBlanks = " \t";
  cells.clear();
  for (std::size_t begin = 0;;) {
    std::size_t from = begin;
    if (begin < line.size() && line[begin] == '"') {
      from = begin + 1;
      while ((from = line.find('"', from)) != std::string_view::npos && from + 1 < line.size() && line[from + 1] == '"')
        from += 2;
      if (from == std::string_view::npos) from = line.size();
    }
    const std::size_t end = std::min(line.find(separator, from), line.size());
    std::string_view cell = line.substr(begin, end - begin);
    cell.remove_prefix(std::min(cell.find_first_not_of(kBlanks), cell.size()));
    cell = cell.substr(0, cell.find_last_not_of(kBlanks) + 1);
    if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"') cell = cell.substr(1, cell.size() - 2);
    cells.push_back(cell);
    if (end >= line.size()) return;
    begin = end + 1;
  }
}

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
  std::vector<std::string_view> cells;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (number == 1 && line.starts_with(kMark)) line.erase(0, kMark.size());
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line.starts_with('#')) continue;
    split_row(line, ',', cells);
    if (const std::string why = row(line, cells); !why.empty()) throw csv_error(path, number, why);
  }
  return std::max(number, 1);
}

}  // namespace hopbench
