// Mistakes in a suite, collected so that all of them are reported at once.
#pragma once

#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "backends/base/error.h"

namespace hopbench {

/// A place in a text. Line and column count from 1; they are 0 if the text has no place for it (a command line).
struct SourceLocation {
  std::string file;
  int line = 0, column = 0;
};

/// One mistake in a suite: where it is and what to do.
struct Mistake {
  std::string file;
  int line = 0, column = 0;
  std::string message;       // "unknown key 'bacth' in [model]: did you mean 'batch'?"
  std::string text() const;  // "suites/a.toml:12:3: ..."
};

/// An error whose what() has a line for each mistake, up to a limit: the same message at most 5 times, at most 100
/// lines, and then the number of those left out.
class SuiteError : public Error {
 public:
  explicit SuiteError(std::vector<Mistake> mistakes);
  const std::vector<Mistake>& mistakes() const { return mistakes_; }

 private:
  std::vector<Mistake> mistakes_;
};

/// A collection of what the readers of a suite find. A mistake that many trials would meet is kept once.
class Mistakes {
 public:
  /// Escapes control characters in `message`, and shortens it in the middle if it is very long.
  void add(const SourceLocation& place, const std::string& message);
  /// Adds a message that fmt::format makes.
  template <class First, class... Rest>
  void add(const SourceLocation& place, fmt::format_string<First, Rest...> text, First&& first, Rest&&... rest) {
    add(place, fmt::format(text, std::forward<First>(first), std::forward<Rest>(rest)...));
  }
  bool empty() const { return list_.empty(); }
  /// Returns true if there are so many that no reader wants another. A suite is then not read further.
  bool enough() const { return list_.size() >= kEnough; }
  /// Throws SuiteError with all of them, in the order of the text.
  void throw_if_any() const;

  static constexpr std::size_t kEnough = 5000;

 private:
  using Key = std::tuple<std::string, int, int, std::string>;
  std::vector<Mistake> list_;
  std::set<Key> known_;
};

/// Returns "unknown WHAT 'x' WHERE: did you mean 'y'?", or lists the known ones if none is near.
std::string unknown(const std::string& what, const std::string& name, const std::vector<std::string>& known,
                    const std::string& where = "");

}  // namespace hopbench
