// Completion: small scripts for three shells that call one hidden command, so that they never fall behind the flags.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/commands.h"
#include "models/dataset.h"
#include "suites/language/keys.h"

namespace hopbench {
namespace {

using Names = std::vector<std::string>;

// Each script calls hopbench as it was typed, so that a copy under another path completes with its own flags. It avoids
// compgen -W, which expands what it is given, and a file's name may be $(anything).
constexpr const char* kBash = R"sh(# hopbench completion for bash: source <(hopbench completion bash)
_hopbench() {
  mapfile -t COMPREPLY < <("$1" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then compopt -o nospace; fi
}
complete -o default -F _hopbench hopbench
)sh";

constexpr const char* kZsh = R"sh(#compdef hopbench
# hopbench completion for zsh: source <(hopbench completion zsh)
_hopbench() {
  local -a found
  found=(${(f)"$(${words[1]} __complete "${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if (( ! ${#found} )); then
    _files
    return
  fi
  compadd -S '' -- ${(M)found:#*=}
  compadd -- ${found:#*=}
}
compdef _hopbench hopbench
)sh";

constexpr const char* kFish = R"sh(# hopbench completion for fish: hopbench completion fish | source
function __hopbench_complete
  set -l words (commandline -opc) (commandline -ct)
  $words[1] __complete $words[2..-1] 2>/dev/null
end
complete -c hopbench -a '(__hopbench_complete)'
)sh";

Names overrides() {
  Names names = override_names();
  for (std::string& name : names) name += '=';
  return names;
}

Names protocol_names() {
  Names names;
  for (const Protocol* protocol : protocols()) names.emplace_back(protocol->name);
  return names;
}

/// Returns what gives the values of a flag; nullptr if it takes none that is known here.
Names (*values_of(const std::string& flag))() {
  static const std::map<std::string, Names (*)()> known{
      {"--set", overrides},
      {"--filter", protocol_names},
      {"-f", protocol_names},
      {"--exclude", protocol_names},
      {"--profile", [] { return Names{"quick"}; }},
      {"--strands",
       [] {
         return Names{"fibers", "threads"};
       }},
      {"--color",
       [] {
         return Names{"auto", "always", "never"};
       }},
      {"--colour",
       [] {
         return Names{"auto", "always", "never"};
       }},
  };
  const auto found = known.find(flag);
  return found == known.end() ? nullptr : found->second;
}

/// Returns true for flags whose value the shell completes (a file, a folder) or that cannot be guessed.
bool takes_other_value(const std::string& flag) {
  static const Names flags{"-o",
                           "--output",
                           "--resume",
                           "--seed",
                           "-r",
                           "--runs",
                           "--shuffle",
                           "--threads",
                           "--ranks",
                           "--workers",
                           "--iterations",
                           "--trial-timeout",
                           "--rendezvous-timeout",
                           "--stall-timeout"};
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

Names arguments_of(const std::string& command) {
  if (command == "run" || command == "validate" || command == "tune" || command == "calibrate") return suite_files();
  if (command == "list") return listable();
  if (command == "explain") return explainable();
  if (command == "reproduce") return paper_names();
  if (command == "completion") return {"bash", "zsh", "fish"};
  if (command == "new") return {"protocol"};
  if (command == "bench") return {"sim"};
  if (command == "import") return {"csv", "kineto", "perfetto"};
  return {};
}

/// Returns the command among the words before the last; "" if there is none yet.
std::string command_in(const Names& words) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "--color" || words[i] == "--colour") {
      ++i;
    } else if (!words[i].empty() && words[i][0] != '-') {
      return words[i];
    }
  }
  return "";
}

Names candidates(const Names& words, const std::vector<Names>& commands) {
  const std::string current = words.empty() ? "" : words.back();
  const std::string command = command_in(words);
  const std::string before = words.size() > 1 ? words[words.size() - 2] : "";
  if (const auto values = values_of(before); values != nullptr) return values();
  if (takes_other_value(before)) return {};
  const auto known = std::find_if(commands.begin(), commands.end(), [&](const Names& c) { return c[0] == command; });
  if (!current.empty() && current[0] == '-') {
    return known == commands.end() ? Names{"--help", "--version", "--color"} : Names(known->begin() + 1, known->end());
  }
  if (!command.empty()) return arguments_of(command);
  Names names;
  for (const Names& entry : commands) names.push_back(entry[0]);
  return names;
}

}  // namespace

std::vector<std::string> completions(const std::vector<std::string>& words, const std::vector<Names>& commands) {
  Names found = candidates(words, commands);
  const std::string current = words.empty() ? "" : words.back();
  std::erase_if(found, [&](const std::string& word) { return word.compare(0, current.size(), current) != 0; });
  return found;
}

int command_complete(const std::vector<std::string>& words, const std::vector<Names>& commands) {
  for (const std::string& word : completions(words, commands)) fmt::print("{}\n", word);
  return static_cast<int>(ExitCode::kOk);
}

int command_completion(const CompletionOptions& options) {
  const char* script = options.shell == "bash" ? kBash : options.shell == "zsh" ? kZsh : kFish;
  fmt::print("{}", script);
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace hopbench
