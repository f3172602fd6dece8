#include "tests/tidy/tidy.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace hopbench::tidy {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

std::string at(const Source& source, int line, const std::string& what) {
  return source.path + ":" + std::to_string(line) + ": " + what;
}

namespace {

// The end of the literal or comment that starts at i; i if none does.
std::size_t end_of_quiet(const std::string& text, std::size_t i) {
  const auto past = [&](std::size_t found, std::size_t length) {
    return found == std::string::npos ? text.size() : found + length;
  };
  if (text.compare(i, 2, "//") == 0) return std::min(text.find('\n', i), text.size());
  if (text.compare(i, 2, "/*") == 0) return past(text.find("*/", i + 2), 2);
  if (text.compare(i, 2, "R\"") == 0) {
    const std::size_t open = text.find('(', i);
    if (open == std::string::npos) return i;
    std::string close(1, ')');
    close.append(text, i + 2, open - i - 2).push_back('"');
    return past(text.find(close, open), close.size());
  }
  const bool digits = i > 0 && std::isalnum(static_cast<unsigned char>(text[i - 1])) != 0;  // 1'000'000
  if (text[i] != '"' && (text[i] != '\'' || digits)) return i;
  for (std::size_t k = i + 1; k < text.size(); ++k) {
    if (text[k] == '\\') {
      ++k;
    } else if (text[k] == text[i] || text[k] == '\n') {
      return k + 1;
    }
  }
  return text.size();
}

std::string blanked(const std::string& text, bool literals) {
  std::string out = text;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = end_of_quiet(text, i);
    for (std::size_t k = i; k < end && (literals || text[i] == '/'); ++k) {
      if (out[k] != '\n') out[k] = ' ';
    }
    i = std::max(end, i + 1);
  }
  return out;
}

}  // namespace

std::string code_only(const std::string& text) { return blanked(text, true); }
std::string without_comments(const std::string& text) { return blanked(text, false); }

std::vector<Include> includes(const std::string& text) {
  static const std::regex kInclude("^\\s*#\\s*include\\s*([<\"])([^>\"]+)[>\"]");
  std::vector<Include> found;
  int line = 0;
  for (const std::string& content : lines_of(text)) {
    ++line;
    std::smatch match;
    if (std::regex_search(content, match, kInclude)) found.push_back({line, match[1] == "<", match[2]});
  }
  return found;
}

// --- The rules -------------------------------------------------------------------------------------------------------

namespace {

bool starts(const std::string& text, const std::string& with) { return text.rfind(with, 0) == 0; }
bool is_header(const Source& source) { return source.path.size() > 2 && source.path.ends_with(".h"); }
bool is_cpp(const Source& source) { return source.path.ends_with(".cpp") || is_header(source); }

struct Arrow {
  std::string from;               // a folder, or a file
  std::vector<std::string> into;  // folders, or files
};

std::vector<std::string> seen_by_commands() {
  return {"cli/commands.h", "cli/output_files.h", "cli/outputs.h", "cli/run.h", "cli/suite_differences.h",
          "suites/",        "protocols/",         "models/",       "backends/", "results/"};
}

// The first entry that fits decides. Everybody may see backends/base, and its own folder.
const std::vector<Arrow>& arrows() {
  static const std::vector<Arrow> kArrows = {
      {"backends/base/", {}},
      {"backends/compute/", {"backends/cuda/backend.h"}},
      {"backends/cuda/", {"backends/compute/backend.h", "backends/compute/host.h"}},
      // Runtime and transport see only the seam of each other: what travels, and what carries it.
      // Virtual time and real processes do not see each other.
      {"backends/runtime/virtual/",
       {"backends/runtime/runtime.h", "backends/runtime/network_spec.h", "backends/runtime/message_event.h"}},
      {"backends/runtime/process/",
       {"backends/runtime/runtime.h", "backends/runtime/message_event.h", "backends/runtime/budget.h",
        "backends/runtime/links/", "backends/transport/wire.h"}},
      {"backends/runtime/links/",
       {"backends/runtime/message.h", "backends/runtime/virtual/network.h", "backends/transport/wire.h"}},
      {"backends/runtime/", {}},
      {"backends/transport/", {"backends/runtime/message.h"}},
      {"backends/fleet/", {"backends/runtime/"}},
      {"ci/", {"backends/transport/exchange.h"}},
      // Each room of the results sees only those before it; judgements and reports do not see each other.
      {"results/arithmetic/", {}},
      {"results/files/", {"results/arithmetic/"}},
      {"results/tables/", {"results/files/", "results/arithmetic/"}},
      {"results/judge/", {"results/files/", "results/arithmetic/", "results/tables/"}},
      {"results/report/", {"results/files/", "results/arithmetic/", "results/tables/"}},
      {"models/", {"backends/compute/backend.h"}},
      {"protocols/node/",
       {"models/", "backends/runtime/budget.h", "backends/runtime/runtime.h", "backends/runtime/message_event.h",
        "backends/runtime/scenario.h"}},
      {"protocols/", {}},
      // From a trial to an answer, each sees those before it. A trial's runner sees the record of results and what is
      // computed from it, but no folders, files or tables.
      {"suites/trial/",
       {"protocols/", "models/", "backends/", "results/files/record_json.h", "results/files/machine.h",
        "results/arithmetic/steady.h", "results/arithmetic/statistics.h", "results/arithmetic/critical_path.h"}},
      {"suites/language/", {"suites/trial/", "protocols/", "models/", "backends/"}},
      {"suites/import/", {"suites/language/", "backends/", "results/arithmetic/statistics.h"}},
      {"suites/tuning/",
       {"suites/language/", "suites/trial/", "protocols/", "models/", "backends/", "results/files/machine.h",
        "results/arithmetic/statistics.h"}},
      {"suites/campaign/",
       {"suites/tuning/", "suites/language/", "suites/trial/", "protocols/", "models/", "backends/", "results/files/",
        "results/arithmetic/", "results/report/chart.h"}},
      {"suites/claims/", {"suites/campaign/", "suites/language/", "protocols/", "models/", "results/"}},
      {"suites/advice/",
       {"suites/campaign/", "suites/tuning/", "suites/import/", "suites/language/", "suites/trial/", "protocols/",
        "models/", "backends/", "results/"}},
      // The folders of commands see the headers beside them, but not each other.
      {"cli/advise/", seen_by_commands()},
      {"cli/bench/", seen_by_commands()},
      {"cli/commands/", seen_by_commands()},
      {"cli/gate/", seen_by_commands()},
      {"cli/", seen_by_commands()},
      {"tests/checkers/", {}},
      {"tests/", {"cli/", "suites/", "protocols/", "models/", "backends/", "results/"}},
  };
  return kArrows;
}

// Written into the build folder when configuring or building.
bool generated(const std::string& name) {
  static const std::set<std::string> kAll = {"build.h", "commit.h", "example_protocol.h", "no_cuda.h",
                                             "report_files.h"};
  return kAll.count(name) > 0;
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

struct Ban {
  const char* word;  // a regular expression
  const char* what;
};

const std::vector<Ban>& bans() {
  static const std::vector<Ban> kBans = {
      {"std::(j)?thread\\b|<thread>|<stop_token>|pthread_|std::async|<future>", "a thread"},
      {"std::(\\w*_)?mutex\\b|<(shared_)?mutex>|std::lock_guard|std::scoped_lock|std::unique_lock", "a mutex"},
      {"condition_variable|<semaphore>|<barrier>|<latch>", "a synchronisation between threads"},
      {"(system|steady|high_resolution)_clock|clock_gettime|gettimeofday|<ctime>|<time\\.h>|std::time\\b", "a clock"},
      {"\\bs?rand\\s*\\(|std::rand\\b|\\bdrand48\\b", "rand"},
      {"random_device|<random>|mt19937", "random numbers that are not keyed"},
      {"unordered_(multi)?(map|set)", "a container without an order"},
  };
  return kBans;
}

// A file that may break a ban, and why.
struct Exception {
  const char* path;
  const char* what;
  const char* why;
};

const std::vector<Exception>& exceptions() {
  static const std::vector<Exception> kExceptions = {
      {"models/workload.cpp", "a mutex",
       "gradients of several ranks are computed at once, each on a learner of its own"},
      {"models/datasets/svmlight.cpp", "a thread", "gigabytes of text are read on all cores, before anything runs"},
  };
  return kExceptions;
}

bool excepted(const Source& source, const char* what) {
  return std::any_of(exceptions().begin(), exceptions().end(),
                     [&](const Exception& e) { return source.path == e.path && std::string(what) == e.what; });
}

}  // namespace

std::vector<std::string> check_arrows(const Source& source) {
  std::vector<std::string> complaints;
  if (!is_cpp(source)) return complaints;
  const auto rule =
      std::find_if(arrows().begin(), arrows().end(), [&](const Arrow& a) { return starts(source.path, a.from); });
  if (rule == arrows().end()) return {at(source, 1, "lies in a folder the plan does not know")};
  for (const Include& include : includes(source.text)) {
    if (include.angled || generated(include.name)) continue;
    if (include.name.find('/') == std::string::npos) {
      complaints.push_back(at(source, include.line, "\"" + include.name + "\" is not written from the root"));
      continue;
    }
    const std::string home = folder_of(rule->from).empty() ? rule->from : folder_of(rule->from);
    bool allowed = starts(include.name, home) || starts(include.name, "backends/base/");
    for (const std::string& into : rule->into) allowed = allowed || starts(include.name, into);
    if (!allowed) {
      complaints.push_back(at(source, include.line, "may not include \"" + include.name + "\": wrong direction"));
    }
  }
  return complaints;
}

std::vector<std::string> check_third_party(const Source& source) {
  std::vector<std::string> complaints;
  if (!is_header(source)) return complaints;
  for (const Include& include : includes(source.text)) {
    // Headers of the language have no suffix and no folder; those of the test framework may be in tests.
    static const std::regex kSystem("sys/\\w+\\.h|(unistd|dirent|fcntl|poll|signal|sched|pthread)\\.h");
    const bool foreign =
        include.name.find_first_of("./") != std::string::npos && !std::regex_match(include.name, kSystem);
    const bool testing =
        starts(source.path, "tests/") && (starts(include.name, "gtest/") || starts(include.name, "gmock/"));
    // Headers that the files of one backend share, and no other file needs.
    const bool inside =
        (source.path == "backends/compute/onednn_api.h" && include.name == "dnnl.hpp") ||
        (source.path == "backends/base/json_fields.h" && include.name == "nlohmann/json.hpp") ||
        (source.path == "suites/language/mistake.h" && include.name == "fmt/core.h") ||
        (source.path == "backends/cuda/libraries.h" && (include.name == "cublas_v2.h" || include.name == "cudnn.h"));
    if (include.angled && foreign && !testing && !inside) {
      complaints.push_back(at(source, include.line, "<" + include.name + "> belongs in a .cpp file"));
    }
  }
  return complaints;
}

std::vector<std::string> check_bans(const Source& source) {
  std::vector<std::string> complaints;
  if (!starts(source.path, "protocols/") && !starts(source.path, "models/")) return complaints;
  int line = 0;
  for (const std::string& content : lines_of(code_only(source.text))) {
    ++line;
    for (const Ban& ban : bans()) {
      if (std::regex_search(content, std::regex(ban.word)) && !excepted(source, ban.what)) {
        complaints.push_back(at(source, line, std::string("has no business with ") + ban.what));
      }
    }
  }
  return complaints;
}

std::vector<std::string> check_sizes(const Source& source) {
  constexpr std::size_t kColumns = 120;
  const std::size_t most = starts(source.path, "tests/") ? 800 : 600;
  std::vector<std::string> complaints;
  if (!is_cpp(source)) return complaints;
  const std::vector<std::string> lines = lines_of(source.text);
  if (lines.size() > most) {
    complaints.push_back(
        at(source, int(most), "has " + std::to_string(lines.size()) + " lines, at most " + std::to_string(most)));
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].size() > kColumns) complaints.push_back(at(source, int(i) + 1, "is over 120 columns"));
  }
  return complaints;
}

std::vector<std::string> check_crowding(const std::vector<std::string>& paths) {
  constexpr int kFiles = 30;
  static const std::regex kData("(results/(published|baselines)|tests/(fuzz/corpus|data))/.*");
  std::map<std::string, int> files;
  for (const std::string& path : paths) {
    if (!std::regex_match(path, kData)) ++files[folder_of(path)];
  }
  std::vector<std::string> complaints;
  for (const auto& [folder, count] : files) {
    if (count > kFiles)
      complaints.push_back(folder + ": " + std::to_string(count) + " files, at most 30: divide them by what they are");
  }
  return complaints;
}

std::vector<std::string> check_promises(const Source& source) {
  // Put together so that this file does not hold the words.
  static const std::regex kWords(std::string("\\b(TO") + "DO|FIX" + "ME|XX" + "X|HA" + "CK|not yet impl" +
                                 "emented)\\b");
  std::vector<std::string> complaints;
  int line = 0;
  for (const std::string& content : lines_of(source.text)) {
    ++line;
    if (std::regex_search(content, kWords))
      complaints.push_back(at(source, line, "puts work off: do it, or say why not"));
  }
  return complaints;
}

}  // namespace hopbench::tidy
