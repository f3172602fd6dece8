// A suite file (TOML, schema = 1) and the trials it stands for. See docs/suites.md for every key.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "suites/trial.h"

namespace hopbench {

/// One mistake in a suite: where it is and what to do. Line and column from 1; 0 where the text has no place for it.
struct Mistake {
  std::string file;
  int line = 0, column = 0;
  std::string message;       // "unknown key 'bacth' in [model]: did you mean 'batch'?"
  std::string text() const;  // "suites/a.toml:12:3: ..."
};

/// `--set key=VALUE` (VALUE is a TOML value; a bare word is taken as a string) and what else a command line changes.
struct SuiteOptions {
  std::vector<std::string> sets;
  std::string profile;  // "quick": 4 ranks, one repeat, short
  std::optional<std::uint64_t> seed;
  std::optional<int> repeats;
};

struct Suite {
  std::string file, name, summary;
  std::string reference;           // label of the variant that speed-ups refer to
  std::vector<TrialSpec> trials;   // in the order they are to run: interleaved across variants, seeded
  std::vector<std::string> notes;  // "untuned: learning rates were not tuned", "experimental: ..."
  std::string resolved;            // the suite with every default and override written out, as TOML
};

/// Reads, checks and expands. All mistakes are found at once: on any, throws SuiteError, whose what() has a line for
/// each.
Suite load_suite(const std::string& path, const SuiteOptions& options);  // "-": standard input
Suite parse_suite(const std::string& text, const std::string& file, const SuiteOptions& options);

class SuiteError : public Error {
 public:
  explicit SuiteError(std::vector<Mistake> mistakes);
  const std::vector<Mistake>& mistakes() const { return mistakes_; }

 private:
  std::vector<Mistake> mistakes_;
};

}  // namespace hopbench
