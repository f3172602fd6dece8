#include "cli/output_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "backends/base/error.h"
#include "backends/base/printable.h"
#include "models/workload.h"
#include "results/files/files.h"
#include "results/files/run_folder.h"
#include "suites/campaign/install_paths.h"

namespace hopbench {
namespace {

namespace fs = std::filesystem;

/// Returns "--json=x.json", "-o x.toml" or "x.csv".
std::string as_typed(const OutputFile& output) {
  std::string name = printable(output.where.value_or(""));
  if (output.flag.empty()) return name;
  return output.flag + (output.flag.starts_with("--") ? "=" : " ") + name;
}

bool same_file(const fs::path& a, const fs::path& b) {
  std::error_code ignored;  // a path that is too long, for example, does not open either
  if (fs::equivalent(a, b, ignored)) return true;
  const auto whole = [&](const fs::path& path) { return fs::weakly_canonical(fs::absolute(path, ignored), ignored); };
  return whole(a) == whole(b);
}

bool has_other_names(const fs::path& path) {
  std::error_code none;
  return fs::is_regular_file(path, none) && fs::hard_link_count(path, none) > 1 && !none;
}

/// Returns 0, or the errno of opening the file for writing.
int open_error(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return EISDIR;
  const bool there = fs::exists(path, ignored);
  // Opening a FIFO waits for its reader, and a file behind a dangling link could not be removed again.
  if (there ? !fs::is_regular_file(path, ignored) : fs::is_symlink(path, ignored)) {
    return !there || access(path.c_str(), W_OK) == 0 ? 0 : errno;
  }
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return errno;
  ::close(fd);
  if (!there) ::unlink(path.c_str());
  return 0;
}

void check_file(const OutputFile& output, std::span<const std::string> inputs) {
  const auto refuse = [&](const std::string& why) { return usage_error(as_typed(output) + ": " + why); };
  const fs::path path(*output.where), folder = path.has_parent_path() ? path.parent_path() : ".";
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    throw refuse(fmt::format("there is no folder {}: make it first", printable(folder.string())));
  if (std::any_of(inputs.begin(), inputs.end(), [&](const std::string& input) { return same_file(path, input); }))
    throw refuse("this command itself reads or writes that file: name another");
  if (is_part_of_run(path.string())) throw refuse("that file is part of a run: name another");
  if (fs::is_symlink(path, ignored) && holds_run(folder.string()))
    throw refuse("a symbolic link in a run's folder is not written through: remove it, or name another file");
  if (has_other_names(path) && holds_run(folder.string()))
    throw refuse(
        "a file in a run's folder that has other names (hard links) is not written: remove it, or name another");
  if (const int error = open_error(path); error != 0)
    throw refuse(fmt::format("cannot be written: {}: name another file", std::strerror(error)));
}

/// Adds the files of a folder.
void add_files(const std::string& folder, std::vector<std::string>& files) {
  std::error_code none;
  for (fs::directory_iterator at(folder, none), end; !none && at != end; at.increment(none))
    files.push_back(at->path().string());
}

std::string github_summary() {
  const char* path = std::getenv("GITHUB_STEP_SUMMARY");
  if (path == nullptr || *path == '\0') {
    throw usage_error("--github-summary: $GITHUB_STEP_SUMMARY is not set: it is where GitHub Actions reads summaries");
  }
  return path;
}

Error unwritable_summary(const std::string& path) {
  return environment_error("cannot write " + path + ": $GITHUB_STEP_SUMMARY names it");
}

}  // namespace

std::vector<std::string> inputs_of(const Suite& suite) {
  std::vector<std::string> files{suite.file};
  files.insert(files.end(), suite.files.begin(), suite.files.end());
  std::set<std::string> folders;
  for (const TrialSpec& spec : suite.trials) {
    const WorkloadSpec& work = spec.workload;
    const std::string data = work.dataset.empty() ? find_model(work.model).default_dataset : work.dataset;
    if (!data.empty()) folders.insert(work.dataset_path.empty() ? find_dataset(data).default_path : work.dataset_path);
  }
  for (const std::string& folder : folders) add_files(folder, files);
  return files;
}

std::vector<std::string> inputs_of(std::span<const std::string> names, const SuiteOptions& options) {
  std::vector<std::string> files;
  std::error_code none;
  for (const std::string& name : names) {
    if (name.empty() || name == "-") continue;
    const bool run = holds_run(name), folder = fs::is_directory(name, none);
    const std::string file = run ? name + "/suite.toml" : folder ? name : find_suite(name);
    if (!run) files.push_back(file);  // the files of a run are refused as such
    if (folder && !run) add_files(name, files);
    if (!file.ends_with(".toml")) continue;
    try {
      for (std::string& input : inputs_of(load_suite(file, options)))
        if (input != file) files.push_back(std::move(input));
    } catch (const Error&) {
    }
  }
  return files;
}

void put(const std::optional<std::string>& where, const std::string& text) {
  if (!where) return;
  if (*where == "-") {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
      throw environment_error("cannot write to standard output: is it closed, or the disk full?");
    }
    return;
  }
  write_file(behind_links(*where), text);
}

std::string behind_links(std::string path) {
  std::error_code none;
  for (int links = 0; links < 40 && fs::is_symlink(path, none); ++links) {
    if (path.starts_with("/dev/") || path.starts_with("/proc/")) break;  // /dev/stdout
    path = (fs::path(path).parent_path() / fs::read_symlink(path, none)).string();
  }
  return path;
}

void check_output_files(std::span<const OutputFile> outputs, std::span<const std::string> inputs) {
  const OutputFile* on_stdout = nullptr;
  std::vector<const OutputFile*> files;
  for (const OutputFile& output : outputs) {
    if (!output.where) continue;
    if (*output.where == "-") {
      if (on_stdout != nullptr) {
        throw usage_error(
            fmt::format("{0} and {1} cannot both go to standard output: give one of them a file, {1}=FILE",
                        on_stdout->flag, output.flag));
      }
      on_stdout = &output;
      continue;
    }
    check_file(output, inputs);
    for (const OutputFile* earlier : files) {
      if (same_file(*earlier->where, *output.where))
        throw usage_error(fmt::format("{} and {} are the same file: name two", as_typed(*earlier), as_typed(output)));
    }
    files.push_back(&output);
  }
}

void append_github_summary(const std::string& text) {
  const std::string path = github_summary();
  std::ofstream file(path, std::ios::app | std::ios::binary);
  file << text;
  file.close();
  if (!file) throw unwritable_summary(path);
}

void check_github_summary(std::span<const std::string> inputs) {
  const std::string path = github_summary();
  if (open_error(path) != 0) throw unwritable_summary(path);
  const OutputFile summary{"--github-summary, $GITHUB_STEP_SUMMARY", path};
  check_file(summary, inputs);
}

}  // namespace hopbench
