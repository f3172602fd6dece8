// JUnit XML, as CI systems read it.
#pragma once

#include <span>
#include <string>

namespace hopbench {

struct TestCase {
  enum class End { kPassed, kFailed, kSkipped } end = End::kPassed;
  std::string of, name;            // "hopbench.gate.exact", "smoke/rate/homogeneous/hop/1/0"
  std::string message, text = {};  // of a failure or a skip: a word, and the details
  double seconds = 0;
};

std::string junit_xml(const std::string& name, std::span<const TestCase> cases);

}  // namespace hopbench
