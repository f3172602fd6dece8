#include "results/judge/junit.h"

#include <fmt/format.h>

namespace hopbench {
namespace {

std::string xml_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\n') {
      out += "&#10;";
    } else {
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;  // XML has no other control characters
    }
  }
  return out;
}

}  // namespace

std::string junit_xml(const std::string& name, std::span<const TestCase> cases) {
  std::string text;
  int failures = 0, skipped = 0;
  for (const TestCase& each : cases) {
    text += fmt::format("  <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\">", xml_text(each.of),
                        xml_text(each.name), each.seconds);
    if (each.end == TestCase::End::kFailed) {
      ++failures;
      text += fmt::format("<failure message=\"{}\">{}</failure>", xml_text(each.message), xml_text(each.text));
    } else if (each.end == TestCase::End::kSkipped) {
      ++skipped;
      text += fmt::format("<skipped message=\"{}\"/>", xml_text(each.message + ": " + each.text));
    }
    text += "</testcase>\n";
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" "
      "skipped=\"{}\">\n{}</testsuite>\n",
      xml_text(name), cases.size(), failures, skipped, text);
}

}  // namespace hopbench
