// A suite file (TOML, schema = 1) and the trials it stands for. See docs/suites.md for every key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "suites/language/mistake.h"
#include "suites/trial/trial.h"

namespace hopbench {

/// `--set key=VALUE` (VALUE is a TOML value; a bare word is taken as a string) and what else a command line changes.
struct SuiteOptions {
  std::vector<std::string> sets;
  std::string profile;  // "quick": 4 ranks, one repeat, short
  std::optional<std::uint64_t> seed;
  std::optional<int> repeats;
};

struct Suite {
  std::string file, name, summary;
  std::vector<std::string> files;          // all that it names, without those of data sets
  std::string reference;                   // label of the variant that speed-ups refer to
  std::vector<TrialSpec> trials;           // in the order they are to run: interleaved across variants, seeded
  std::vector<std::string> notes;          // for people
  std::vector<std::string> long_warm_ups;  // those of the notes that a run prints before it starts
  std::string tuning_note;  // how it was tuned, or why it counts as untuned; one of the notes if something converges
  bool tuned = false;       // by `hopbench tune`, and set as it was then: its record [tuning] tells
  std::vector<std::string> at_the_edge;  // labels of variants whose learning rate was the first or last tried
  std::string resolved;                  // the suite with every default and override written out, as TOML
};

/// Reads, checks and expands. All mistakes are found at once: on any, throws SuiteError, whose what() has a line for
/// each. Only where the text is no TOML, its first mistake is all that can be told.
/// The text itself. Error(kUsage) if it cannot be read.
std::string read_suite_file(const std::string& path);
Suite load_suite(const std::string& path, const SuiteOptions& options);  // "-": standard input
Suite parse_suite(const std::string& text, const std::string& file, const SuiteOptions& options);

}  // namespace hopbench
