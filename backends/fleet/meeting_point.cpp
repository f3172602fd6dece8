#include "backends/fleet/meeting_point.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <utility>

#include "backends/base/error.h"
#include "backends/base/text.h"
#include "backends/fleet/redis_point.h"

namespace hopbench {
namespace {

constexpr std::size_t kLongest = 64 * 1024;  // bytes of an invitation
constexpr std::size_t kLongestName = 200;    // of its file; a file with a longer name is written first, next to it

/// Returns a file name that differs from run to run. A character that is unfit for a file name becomes %2f or the like.
/// Throws Error(kUsage) if the name of the run is too long.
std::string file_name(const std::string& run) {
  std::string name = "hopbench-";
  for (const char c : run.empty() ? "run" : run) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = std::isalnum(byte) != 0 || c == '-' || c == '.' || c == '_';
    name += plain ? std::string(1, c) : std::string{'%', "0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
  }
  if (name.size() > kLongestName) {
    throw usage_error("the name of the run, '" + run.substr(0, 40) +
                      "...', is too long for a file's: give it a shorter HOPBENCH_JOB");
  }
  return name;
}

class FolderPoint : public MeetingPoint {
 public:
  FolderPoint(std::string folder, const std::string& run)
      : folder_(std::move(folder)), file_(folder_ + "/" + file_name(run)) {}

  void leave(const Invitation& invitation) override {
    if (std::filesystem::exists(file_) && !look())
      throw unusable(file_ + " exists and is not an invitation of hopbench: remove it or set HOPBENCH_JOB");
    // Written next to it and then renamed, so that no process reads half of it.
    const std::string fresh = file_ + "." + fresh_secret();
    const int fd = open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) throw unusable(std::strerror(errno));
    const std::string text = to_text(invitation);
    const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    const int why = errno;
    close(fd);
    if (!written || std::rename(fresh.c_str(), file_.c_str()) != 0) {
      unlink(fresh.c_str());
      throw unusable(std::strerror(written ? errno : why));
    }
  }

  std::optional<Invitation> look() override {
    if (!std::filesystem::is_directory(folder_)) throw unusable("there is no such folder");
    const int fd = open(file_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return std::nullopt;
    struct stat found {};
    // A file that another user left there could lead this process to that user's launcher.
    const bool ours =
        fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == geteuid() && (found.st_mode & 077) == 0;
    std::string text(kLongest, '\0');
    const ssize_t n = ours ? read(fd, text.data(), text.size()) : 0;
    close(fd);
    if (!ours) throw unusable(file_ + " is not a file that only this user can read and write");
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    return invitation_from_text(text);
  }

  void clear(const Invitation& invitation) override {
    const std::optional<Invitation> there = look();
    if (there && there->token == invitation.token) unlink(file_.c_str());
  }
  std::string name() const override { return folder_; }
  bool is_shared() const override { return true; }

 private:
  Error unusable(const std::string& why) const {
    return environment_error("cannot meet in " + folder_ + ": " + why +
                             ": --rendezvous wants a folder that all machines share and this user may write");
  }

  const std::string folder_, file_;
};

class AddressPoint : public MeetingPoint {
 public:
  explicit AddressPoint(const std::string& address) : address_(address) {
    const std::size_t colon = address.rfind(':');
    const std::string digits = colon == std::string::npos ? "" : address.substr(colon + 1);
    const bool number = !digits.empty() && digits.size() <= 5 &&
                        std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
    const int port = number ? std::stoi(digits) : 0;
    if (port < 1 || port > 65535) {
      throw usage_error("tcp://" + address + " is not a place to meet: it wants a host and a port, tcp://host:29500");
    }
    std::string host = address.substr(0, colon);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    const char* token = std::getenv("HOPBENCH_TOKEN");
    invitation_ = {{host}, port, token != nullptr ? token : "", ""};
  }

  void leave(const Invitation&) override {}
  std::optional<Invitation> look() override { return invitation_; }
  void clear(const Invitation&) override {}
  std::string name() const override { return "tcp://" + address_; }
  int port() const override { return invitation_.port; }
  bool knows_token_from_environment() const override { return true; }

 private:
  const std::string address_;
  Invitation invitation_;
};

}  // namespace

std::string fresh_secret() {
  unsigned char bytes[16] = {};
  if (getrandom(bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes))
    throw environment_error(std::string("this system gives no random numbers: ") + std::strerror(errno));
  std::string secret;
  for (const unsigned char byte : bytes) {
    for (const int digit : {byte >> 4, byte & 15}) secret += "0123456789abcdef"[digit];
  }
  return secret;
}

std::string to_text(const Invitation& invitation) {
  std::string text =
      "hopbench 1\n" + std::to_string(invitation.port) + "\n" + invitation.token + "\n" + invitation.answer + "\n";
  for (const std::string& address : invitation.addresses) text += address + "\n";
  return text + "end\n";
}

std::optional<Invitation> invitation_from_text(const std::string& text) {
  std::istringstream lines(text);
  std::string head, line;
  Invitation invitation;
  if (!std::getline(lines, head) || head != "hopbench 1" || !std::getline(lines, line)) return std::nullopt;
  invitation.port = std::atoi(line.c_str());
  if (invitation.port < 1 || invitation.port > 65535 || !std::getline(lines, invitation.token) ||
      !std::getline(lines, invitation.answer))
    return std::nullopt;
  while (std::getline(lines, line)) {
    if (line == "end") return invitation;
    invitation.addresses.push_back(line);
  }
  return std::nullopt;
}

std::unique_ptr<MeetingPoint> open_meeting_point(const std::string& where, const std::string& run) {
  const auto after = [&](const char* scheme) -> std::optional<std::string> {
    return where.starts_with(scheme) ? std::optional(where.substr(std::strlen(scheme))) : std::nullopt;
  };
  if (const auto rest = after("redis://")) return open_redis_point(*rest, run);
  if (const auto rest = after("tcp://")) return std::make_unique<AddressPoint>(*rest);
  const std::string folder = after("file://").value_or(where);
  if (folder.empty() || folder.find("://") != std::string::npos) {
    throw usage_error("'" + without_password(where) +
                      "' is not a place to meet: a folder that all machines share, redis://host:port/prefix or "
                      "tcp://host:port");
  }
  return std::make_unique<FolderPoint>(folder, run);
}

}  // namespace hopbench
