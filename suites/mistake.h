// Mistakes in a suite, collected so that all of them are told at once.
#pragma once

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "backends/base/error.h"

namespace hopbench {

/// Where something stands in a text. Line and column from 1; 0 where the text has no place for it (a command line).
struct Place {
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

/// what() has a line for each mistake, up to a limit: the same message at most 5 times, at most 100 lines, and then the
/// number of those left out.
class SuiteError : public Error {
 public:
  explicit SuiteError(std::vector<Mistake> mistakes);
  const std::vector<Mistake>& mistakes() const { return mistakes_; }

 private:
  std::vector<Mistake> mistakes_;
};

/// Collects what the readers of a suite find. A mistake that many trials would meet is kept once.
class Mistakes {
 public:
  /// Escapes control characters in `message` and shortens it in the middle where it is very long.
  void add(const Place& place, const std::string& message);
  bool empty() const { return list_.empty(); }
  /// SuiteError with all of them, in the order of the text.
  void throw_if_any() const;

 private:
  using Key = std::tuple<std::string, int, int, std::string>;
  std::vector<Mistake> list_;
  std::set<Key> known_;
};

/// "unknown WHAT 'x' WHERE: did you mean 'y'?", or the known ones where none is near.
std::string unknown(const std::string& what, const std::string& name, const std::vector<std::string>& known,
                    const std::string& where = "");

}  // namespace hopbench
