// --filter and --exclude: a regular expression in the first line, what it is to find in the rest.
#include "suites/campaign/filter.h"

#include "tests/fuzz/fuzz.h"

using namespace hopbench;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  const std::size_t end = text.find('\n');
  const std::string wanted = text.substr(0, end), id = end == std::string::npos ? "" : text.substr(end + 1, 200);
  fuzz::accepts(
      [&] {
        const std::regex expression = regular_expression(wanted, "--filter");
        std::regex_search(id, expression);
        std::regex_search("smoke/rate/homogeneous/hop backup=1/1/0", expression);
      },
      "--filter");
  return 0;
}
