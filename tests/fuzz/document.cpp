// TOML as plain values: printed and read again they are the same. And the keys and values of a command line.
#include "suites/language/document.h"

#include <algorithm>

#include "tests/fuzz/fuzz.h"

using namespace hopbench;

namespace {

bool printable(const Value& value) {
  return !value.is(Value::Type::kOther) && std::all_of(value.items.begin(), value.items.end(), printable) &&
         std::all_of(value.entries.begin(), value.entries.end(), [](const Entry& e) { return printable(e.value); });
}

void check_print(const Value& value) {
  if (!printable(value)) return;
  const std::string text = to_toml(value);
  Mistakes mistakes;
  const auto again = parse_value(text, {}, mistakes);
  HB_ASSERT_MSG(again.has_value(), text);
  HB_ASSERT_MSG(to_toml(*again) == text, text + "\nread and written again is\n" + to_toml(*again));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  Mistakes mistakes;
  const std::optional<Value> root = parse_document(text, "fuzz.toml", mistakes);
  HB_ASSERT(root.has_value() == mistakes.empty());
  if (!root) fuzz::accepts([&] { mistakes.throw_if_any(); }, "fuzz.toml");
  // Each by itself: written as one value, the whole document would stand a level deeper than it does.
  if (root)
    for (const Entry& entry : root->entries) check_print(entry.value);
  Mistakes of_value;
  const auto value = parse_value(text, {"--set x", 0, 0}, of_value);
  HB_ASSERT(value.has_value() == of_value.empty());
  if (value) check_print(*value);
  if (const auto key = split_key(text)) HB_ASSERT(!key->empty());
  return 0;
}
