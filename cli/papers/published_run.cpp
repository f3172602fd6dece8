// Runs a command of figures.toml as a process, and finds out what the machine has.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>

#include "backends/base/process/cores.h"
#include "backends/base/text.h"
#include "cli/papers/published.h"
#include "cli/signals.h"
#include "models/dataset.h"
#include "models/datasets/dataset_path.h"
#include "results/files/files.h"
#include "results/files/machine.h"

namespace hopbench {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_of(const timeval& time) { return double(time.tv_sec) + 1e-6 * double(time.tv_usec); }

/// Returns the running program. Throws Error(kEnvironment) if its file was replaced since it began: figures of two
/// programs would be published as those of one.
std::string this_program() {
  std::string path = fs::read_symlink("/proc/self/exe").string();
  if (!fs::exists(path))
    throw environment_error("hopbench was rebuilt while it measured: start it again. What was measured is written");
  return path;
}

std::vector<std::string> words_of(const PublishedRun& run, const std::string& file) {
  std::vector<std::string> words = run.command;
  for (const std::string& word : run.json) words.push_back(replaced(word, "{file}", file));
  if (words[0] == "hopbench") words[0] = this_program();
  return words;
}

bool writes_file(const PublishedRun& run) {
  return std::any_of(run.json.begin(), run.json.end(),
                     [](const std::string& word) { return word.find("{file}") != std::string::npos; });
}

[[noreturn]] void become(const std::vector<std::string>& words, const std::string& program, const std::string& root,
                         const std::string& out, const std::string& err) {
  setpgid(0, 0);  // so that it is ended with all that it started
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  setenv("HOPBENCH", program.c_str(), 1);
  setenv("HOPBENCH_ROOT", root.c_str(), 1);
  unsetenv("CI");  // with it gates are strict
  const int none = open("/dev/null", O_RDONLY), to = open(out.c_str(), O_WRONLY | O_CREAT, 0600),
            says = open(err.c_str(), O_WRONLY | O_CREAT, 0600);
  if (chdir(root.c_str()) != 0 || dup2(none, 0) < 0 || dup2(to, 1) < 0 || dup2(says, 2) < 0) _exit(126);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  _exit(127);
}

/// Ends a process group by SIGTERM, and after five seconds by SIGKILL.
void end_group(pid_t child) {
  kill(-child, SIGTERM);
  for (int i = 0; i < 100 && waitpid(child, nullptr, WNOHANG) == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  kill(-child, SIGKILL);
}

/// Ends and awaits the daemons that the command left behind, so that their CPU time counts as the command's.
void end_orphans() {
  const std::string list = fmt::format("/proc/self/task/{}/children", getpid());
  for (int turn = 0; turn < 100; ++turn) {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    std::istringstream children(read_file(list).value_or(""));
    pid_t orphan = 0;
    if (!(children >> orphan)) return;
    for (kill(orphan, SIGKILL); children >> orphan;) kill(orphan, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

/// Waits for the child. Returns false if it was ended because it took too long.
bool wait_for(pid_t child, double limit_s, int& status) {
  const auto begin = Clock::now();
  while (waitpid(child, &status, WNOHANG) == 0) {
    const bool interrupted = count_interrupts().load() > 0;
    if (interrupted || std::chrono::duration<double>(Clock::now() - begin).count() > limit_s) {
      end_group(child);
      if (interrupted) end_orphans();
      if (interrupted) throw Error(ExitCode::kInterrupted, "interrupted: what was measured before is written");
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  kill(-child, SIGKILL);  // what it left behind
  return true;
}

/// Returns the CPU seconds of all processes that this one has awaited.
double seconds_of_children() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

std::string last_line(const std::string& text) {
  std::string last;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) last = line;
  return last;
}

/// Returns user, nice, system, idle, iowait, irq, softirq and steal of all cores, in ticks.
std::vector<double> ticks_of(const std::string& stat) {
  std::istringstream words(stat);
  std::string name;
  words >> name;
  std::vector<double> ticks;
  for (double value = 0; name == "cpu" && ticks.size() < 8 && words >> value;) ticks.push_back(value);
  return ticks;
}

bool program_is_here(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');)
    if (access((folder + "/" + name).c_str(), X_OK) == 0) return true;
  return false;
}

bool package_is_here(const std::string& name) {
  std::error_code none;
  for (fs::directory_iterator at("/var/lib/dpkg/info", none), end; at != end; at.increment(none)) {
    const std::string file = at->path().filename().string();
    if (file == name + ".list" || (file.starts_with(name + ":") && file.ends_with(".list"))) return true;
  }
  return false;
}

std::string missing_one(const std::string& need) {
  const std::string argument = need.substr(std::min(need.find(':') + 1, need.size()));
  if (need == "root") return geteuid() == 0 ? "" : "needs root";
  if (need == "gpu") return gpu_driver("") == "unavailable" ? "needs an NVIDIA GPU" : "";
  if (need.starts_with("cores:") && usable_cores() < std::atoi(argument.c_str()))
    return fmt::format("needs {} cores, {} may be used", argument, usable_cores());
  if (need.starts_with("package:") && !package_is_here(argument))
    return fmt::format("needs the package {}: apt-get install {}", argument, argument);
  if (need.starts_with("program:") && !program_is_here(argument))
    return fmt::format("needs the program {}, which is not in $PATH", argument);
  if (need.starts_with("data:") && !data_is_here(argument))
    return fmt::format("needs the data set {}: {}", argument, callable(find_dataset(argument).get));
  return "";
}

}  // namespace

RanCommand run_published(const PublishedRun& run, const std::string& root) {
  count_interrupts();
  const TemporaryFolder folder;
  const std::string out = folder / "out", err = folder / "err", file = folder / "file.json";
  const std::string program = this_program();
  const std::vector<std::string> words = words_of(run, file);
  const std::string whole = fs::absolute(root).lexically_normal().string();
  const std::string before = read_file("/proc/stat").value_or("");
  const double own_before = seconds_of_children();
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // adopts the command's daemons
  const pid_t child = fork();
  if (child < 0) throw environment_error("cannot measure: no process can be made");
  if (child == 0) become(words, program, whole, out, err);
  RanCommand ran;
  int status = 0;
  ran.too_long = !wait_for(child, std::max(600.0, 600 * run.minutes), status);
  end_orphans();
  ran.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  ran.others = share_of_others(before, read_file("/proc/stat").value_or(""), seconds_of_children() - own_before,
                               double(sysconf(_SC_CLK_TCK)));
  ran.json = read_file(writes_file(run) ? file : out).value_or("");
  ran.said = last_line(read_file(err).value_or(""));
  return ran;
}

std::optional<double> share_of_others(const std::string& before, const std::string& after, double own_s,
                                      double ticks_per_s) {
  const std::vector<double> first = ticks_of(before), last = ticks_of(after);
  if (first.size() < 8 || last.size() < 8) return std::nullopt;
  double all = 0, busy = 0;
  for (const std::size_t i : {0, 1, 2, 3, 4, 5, 6, 7}) {
    const double passed = last[i] - first[i];
    all += passed;
    const bool counts = i <= 2 || i == 7;  // user, nice, system; steal
    busy += counts ? passed : 0;
  }
  if (!(all > 0)) return std::nullopt;
  return std::clamp((busy - own_s * ticks_per_s) / all, 0.0, 1.0);
}

std::string missing_need(const std::vector<std::string>& needs) {
  for (const std::string& need : needs) {
    if (std::string why = missing_one(need); !why.empty()) return why;
  }
  return "";
}

}  // namespace hopbench
