// The files that a command is asked to write. They are checked before it measures anything, and written at its end.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "suites/language/suite.h"

namespace hopbench {

/// Returns every file that trials of the suite read: the suite's own, those that it names, and those of its data sets.
std::vector<std::string> inputs_of(const Suite& suite);
/// Returns every file that a command reads by these names. A name may be a suite, a run's folder (whose suite counts),
/// another folder (whose files count), or any other file. A suite that cannot be read, which the command reports,
/// names none.
std::vector<std::string> inputs_of(std::span<const std::string> names, const SuiteOptions& options = {});

/// Writes `text` to standard output ("-") or into a file, which gets its name once it is whole; does nothing without
/// `where`. Error(kEnvironment) if it cannot be written.
void put(const std::optional<std::string>& where, const std::string& text);

/// Returns the file that a user's own symbolic link stands for, so that a new file takes its place and not the link's.
std::string behind_links(std::string path);

/// An output that the command line asks for.
struct OutputFile {
  std::string flag;                  // as it is typed, "--json"; empty: the file has its name by default
  std::optional<std::string> where;  // absent, "-" (standard output), or a file
};

/// Checks that each output can be written. Call this before anything is measured: a command that runs for an hour must
/// not find out at its end. Error(kUsage) names the flag and the file if
///   - two outputs want standard output, or the same file;
///   - the file, by whatever name, is one of `inputs`: the files that this command reads (inputs_of) or writes by
///   itself;
///   - the file is part of a run's folder;
///   - the file is a symbolic link in a run's folder, which may have come from elsewhere;
///   - the file cannot be opened for writing.
/// Existing files keep their content, and no new file is left behind.
void check_output_files(std::span<const OutputFile> outputs, std::span<const std::string> inputs = {});

/// Appends to the file that $GITHUB_STEP_SUMMARY names. Throws as check_github_summary() does.
void append_github_summary(const std::string& text);

/// Throws Error(kUsage) if $GITHUB_STEP_SUMMARY is not set, is one of `inputs` or is part of a run's folder. Throws
/// Error(kEnvironment) if the file that it names cannot be written.
void check_github_summary(std::span<const std::string> inputs = {});

}  // namespace hopbench
