// A value of a table that is written to a file: as text, and its number if it is one.
#pragma once

#include <optional>
#include <string>

namespace hopbench {

struct CsvValue {
  std::string text{};  // numbers in the shortest form that reads back the same; "": nothing is known
  std::optional<double> number{};
};

}  // namespace hopbench
