#include "backends/fleet/host_file.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <istream>
#include <iterator>
#include <sstream>
#include <utility>

#include "backends/base/error.h"

namespace hopbench {
namespace {

constexpr int kMostSlots = 10'000;

/// Returns true if ssh takes this name for a host and never for an option.
bool is_host(const std::string& name) {
  return !name.empty() && name.size() <= 255 && name.front() != '-' && name.back() != '@' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("._-@:[]", c) != nullptr;
         });
}

/// Returns the word as an error shows it, whatever it contains.
std::string excerpt(const std::string& word) {
  constexpr std::size_t kShown = 60;
  std::string shown = word.substr(0, kShown) + (word.size() > kShown ? "..." : "");
  for (char& c : shown) c = std::isprint(static_cast<unsigned char>(c)) != 0 ? c : '?';
  return "'" + shown + "'";
}

/// Refuses what other launchers take in place of a name, and ssh would look up as one: node:2, node[01-02] and lists.
void check_one_host(const std::string& name, const std::string& where) {
  const std::size_t colon = name.find(':'), bracket = name.find('[');
  const bool counts = colon != std::string::npos && colon > 0 && colon + 1 < name.size() &&
                      name.find_first_not_of("0123456789", colon + 1) == std::string::npos;
  if (counts)
    throw usage_error(where + ": " + excerpt(name) +
                      " has a number of processes, which a line has as HOST slots=N: write `" + name.substr(0, colon) +
                      " slots=" + name.substr(colon + 1) + "`");
  const bool is_address = bracket == 0 || (bracket != std::string::npos && name[bracket - 1] == '@');
  if ((bracket != std::string::npos && !is_address) || name.find_first_of(",{}*") != std::string::npos)
    throw usage_error(where + ": " + excerpt(name) + " stands for several hosts: give each one line, `node01 slots=N`");
}

HostLine parse_line(const std::string& line, const std::string& where) {
  std::istringstream words(line);
  HostLine host;
  words >> host.host;
  if (host.host.starts_with("\xff\xfe") || host.host.starts_with("\xfe\xff"))
    throw usage_error(where + ": its byte order mark says that the file is UTF-16: save it as UTF-8");
  check_one_host(host.host, where);
  if (!is_host(host.host)) throw usage_error(where + ": " + excerpt(host.host) + " is not a host name");
  for (std::string word; words >> word;) {
    const char* const end = word.data() + word.size();
    const bool slots = word.starts_with("slots=");
    const auto parsed = slots ? std::from_chars(word.data() + 6, end, host.slots) : std::from_chars_result{};
    if (!slots || parsed.ec != std::errc() || parsed.ptr != end || host.slots < 1 || host.slots > kMostSlots)
      throw usage_error(where + ": " + excerpt(word) + " is not understood: a line is HOST or HOST slots=N, N from 1");
  }
  return host;
}

/// Runs in the child. Passes on what ssh needs, and nothing else of this process.
[[noreturn]] void become_ssh(const std::vector<char*>& argv, int input, pid_t parent) {
  setpgid(0, 0);  // processes that it starts end with it
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(127);
  signal(SIGINT, SIG_IGN);  // the launcher decides
  dup2(input, STDIN_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  close_range(3, ~0U, 0);
  execvp(argv[0], argv.data());
  _exit(127);
}

/// Returns true if the process has ended. Then ends the processes that it left running, too, and sets `pid` to -1.
bool has_ended(pid_t& pid, int& status) {
  siginfo_t ended{};
  if (pid <= 0 || waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOHANG | WNOWAIT) != 0) return false;
  if (ended.si_pid != pid) return false;
  kill(-pid, SIGKILL);  // while no other process can have its number
  waitpid(pid, &status, 0);
  pid = -1;
  return true;
}

std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

class SshPoint : public MeetingPoint {
 public:
  SshPoint(std::string ssh, std::vector<std::string> hosts, std::string program)
      : ssh_(std::move(ssh)), hosts_(std::move(hosts)), program_(std::move(program)) {}
  ~SshPoint() override {
    // Their agents have been sent a good-bye. An agent that does not hear it is not waited for.
    for (int i = 0; i < 100 && !all_ended(); ++i) usleep(20'000);
    for (const pid_t pid : started_) {
      if (pid <= 0) continue;
      kill(-pid, SIGKILL);
      kill(pid, SIGKILL);  // it may not have joined its group yet
      waitpid(pid, nullptr, 0);
    }
  }

  void leave(const Invitation& invitation) override {
    for (std::size_t i = 0; i < hosts_.size(); ++i) started_.push_back(start(hosts_[i], i + 1, invitation));
  }
  std::optional<Invitation> look() override { return std::nullopt; }
  void clear(const Invitation&) override {}
  std::string name() const override { return "this machine by " + ssh_; }
  std::string process(int number) const override { return hosts_.at(static_cast<std::size_t>(number) - 1); }

  std::string trouble() override {
    for (std::size_t i = 0; i < started_.size(); ++i) {
      int status = 0;
      if (!has_ended(started_[i], status)) continue;
      const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      return "`" + ssh_ + " " + hosts_[i] + "` ended with " + std::to_string(code) +
             (code == 127 ? ": is " + ssh_ + " here, and " + program_ + " on that machine?"
                          : ": what it said above is the cause; it must log in there without a password");
    }
    return "";
  }

 private:
  pid_t start(const std::string& host, std::size_t number, const Invitation& invitation) const {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw environment_error(std::string("cannot start ssh: ") + std::strerror(errno));
    const std::string command = "exec " + shell_quoted(program_) + " agent";
    std::vector<std::string> words{ssh_, "-T", "-o", "BatchMode=yes", "--", host, command};
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const pid_t parent = getpid(), pid = fork();
    if (pid == 0) become_ssh(argv, ends[0], parent);
    close(ends[0]);
    const std::string text =
        std::to_string(number) + " " + std::to_string(hosts_.size() + 1) + "\n" + to_text(invitation);
    const bool written = pid > 0 && write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    close(ends[1]);
    if (!written) throw environment_error("cannot start " + ssh_ + " for " + host + ": " + std::strerror(errno));
    return pid;
  }

  bool all_ended() {
    int status = 0;
    for (pid_t& pid : started_) has_ended(pid, status);
    return std::all_of(started_.begin(), started_.end(), [](pid_t pid) { return pid <= 0; });
  }

  const std::string ssh_;
  const std::vector<std::string> hosts_;
  const std::string program_;
  std::vector<pid_t> started_;  // -1: has ended
};

/// The meeting point of an agent that was handed the invitation when it was started.
class HandedPoint : public MeetingPoint {
 public:
  explicit HandedPoint(Invitation invitation) : invitation_(std::move(invitation)) {
    // The address from which the launcher's machine reached this one surely works.
    if (const char* connection = std::getenv("SSH_CONNECTION"); connection != nullptr) {
      std::string from;
      std::istringstream(connection) >> from;
      if (!from.empty()) invitation_.addresses.insert(invitation_.addresses.begin(), from);
    }
  }
  void leave(const Invitation&) override {}
  std::optional<Invitation> look() override { return invitation_; }
  void clear(const Invitation&) override {}
  std::string name() const override { return "the address that ssh brought"; }

 private:
  Invitation invitation_;
};

}  // namespace

std::vector<HostLine> read_host_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw usage_error("--hosts " + path + ": " + std::strerror(errno) + ": give a file of a host a line");
  std::vector<HostLine> hosts;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (number == 1 && line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);  // a byte order mark
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string where = path + ":" + std::to_string(number);
    HostLine host = parse_line(line, where);
    if (std::any_of(hosts.begin(), hosts.end(), [&](const HostLine& other) { return other.host == host.host; }))
      throw usage_error(where + ": " + host.host + " is there twice: give it one line with slots=N");
    hosts.push_back(std::move(host));
  }
  if (hosts.empty()) throw usage_error("--hosts " + path + ": names no host: one a line, `node1 slots=4`");
  return hosts;
}

std::unique_ptr<MeetingPoint> open_ssh_point(const std::string& ssh, const std::vector<std::string>& hosts,
                                             const std::string& program) {
  return std::make_unique<SshPoint>(ssh, hosts, program);
}

Summons read_summons(std::istream& in) {
  Summons summons;
  std::string line;
  std::getline(in, line);
  std::istringstream(line) >> summons.number >> summons.size;
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const std::optional<Invitation> invitation = invitation_from_text(text);
  if (!invitation || summons.number < 1 || summons.number >= summons.size)
    throw usage_error("this command is for processes that `hopbench run --hosts` starts by ssh");
  summons.meeting = std::make_unique<HandedPoint>(*invitation);
  return summons;
}

}  // namespace hopbench
