// How the processes of a run find the first of them: it leaves an invitation where all of them look.
//
//   /shared/folder or file:///shared/folder      a file of this user's, mode 0600, in a folder that all machines see
//   redis://[:password@]host:port/prefix         a key that lives for an hour
//   tcp://host:port                              nothing is left anywhere: process 0 listens at that address
//
// An invitation of an earlier run does no harm: whoever follows it is not let in, or finds nobody, and looks again.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hopbench {

struct Invitation {
  std::vector<std::string> addresses;  // of process 0, to be tried in this order
  int port = 0;
  std::string token;   // to be said by whoever comes
  std::string answer;  // by which process 0 is known; empty: it is not, where there is but an address
};
/// 128 random bits, in hexadecimal digits.
std::string fresh_secret();
std::string to_text(const Invitation& invitation);
std::optional<Invitation> invitation_from_text(const std::string& text);

class MeetingPoint {
 public:
  virtual ~MeetingPoint() = default;
  /// Replaces what was there.
  virtual void leave(const Invitation& invitation) = 0;
  /// What is there now; nothing: not yet. Error(kEnvironment) if the place cannot be used at all.
  virtual std::optional<Invitation> look() = 0;
  /// Takes it away, if it is still there.
  virtual void clear(const Invitation& invitation) = 0;
  /// As people know it.
  virtual std::string name() const = 0;
  /// True if its token is HOPBENCH_TOKEN of the environment, which the user gives to each process.
  virtual bool knows_token_from_environment() const { return false; }
  /// Whether several runs may meet there, told apart by their names.
  virtual bool is_shared() const { return false; }
  /// One of those that are to come, 1 or more, as people know it.
  virtual std::string process(int number) const { return std::to_string(number); }
  /// On which process 0 is to listen; 0: any.
  virtual int port() const { return 0; }
  /// Why somebody who was to come will not; empty: nothing is known of that.
  virtual std::string trouble() { return ""; }
};

/// `run` tells runs apart that share the place. Error(kUsage) for what is no such place.
std::unique_ptr<MeetingPoint> open_meeting_point(const std::string& where, const std::string& run);

}  // namespace hopbench
