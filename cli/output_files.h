// The files that a command is asked to write. They are checked before it measures anything, and written at its end.
#pragma once

#include <optional>
#include <span>
#include <string>

namespace hopbench {

/// Writes `text` to standard output ("-") or into a file; does nothing without `where`. Error(kEnvironment) if it
/// cannot be written.
void put(const std::optional<std::string>& where, const std::string& text);

/// An output that the command line asks for.
struct OutputFile {
  std::string flag;                  // as it is typed, "--json"; empty: the file has its name by default
  std::optional<std::string> where;  // absent, "-" (standard output), or a file
};

/// Checks that each output can be written. Call this before anything is measured: a command that runs for an hour must
/// not find out at its end. Error(kUsage) names the flag and the file if
///   - two outputs want standard output, or the same file;
///   - the file is one of `inputs`, which are the files that this command reads or writes by itself;
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
