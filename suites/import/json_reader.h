// JSON that other programs wrote, value by value, in little memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "backends/base/error.h"
#include "suites/import/input.h"

namespace hopbench {

/// A value other than an object or array. All members are empty if it is true, false, null or no JSON (inf, nan, 01).
struct JsonScalar {
  std::optional<double> real;           // finite
  std::optional<std::int64_t> integer;  // also of 3.0
  const std::string* text = nullptr;    // valid until the next call
};

/// Reads a document from begin to end. It is lenient where files of profilers have mistakes that do not matter: control
/// characters, bytes that are not UTF-8, backslashes that escape nothing, bare words for numbers, a comma after the
/// last element. Escapes of characters (\u0041) stay as they are. Error(kUsage) names the file and the byte.
class JsonReader {
 public:
  explicit JsonReader(const std::string& path) : path_(path), input_(path) {}

  /// Returns the first character of the next value, which stays to be read; 0 at the end of the file.
  char peek();
  /// Reads an object. Calls `on_value(key)` for each value, which must read it.
  template <class OnValue>
  void object(const OnValue& on_value) {
    expect('{');
    for (bool first = true; !is_over('}', first); first = false) {
      std::string key = text();
      expect(':');
      on_value(key);
    }
  }
  /// Reads an array. Calls `on_element` for each, which must read it. `may_lack_end`: the file may end after an
  /// element.
  template <class OnElement>
  void array(const OnElement& on_element, bool may_lack_end = false) {
    expect('[');
    for (bool first = true; !is_over(']', first, may_lack_end); first = false) on_element();
  }
  JsonScalar scalar();  // skips an object or array, and returns an empty one for it
  void skip() { scalar(); }

  /// Returns true if the file ended within an array that may lack its end.
  bool is_cut() const { return cut_; }
  Error damaged(const std::string& why) const;

 private:
  char next();
  void expect(char what);
  bool is_over(char close, bool first, bool may_lack_end = false);
  const std::string& text();
  void skip_nested();

  std::string path_;
  Input input_;
  std::int64_t bytes_ = 0;  // that were read
  bool cut_ = false;
  std::string token_;
};

}  // namespace hopbench
