// The ways in which the processes of a run find process 0: it leaves an invitation where all of them look.
//
//   /shared/folder or file:///shared/folder      a file of this user's, mode 0600, in a folder that all machines see
//   redis://[:password@]host:port/prefix         a key that lives for an hour
//   tcp://host:port                              no invitation is left: process 0 listens at that address
//
// An old invitation does no harm: a process that follows it is not let in, or finds no listener, and looks again.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hopbench {

struct Invitation {
  std::vector<std::string> addresses;  // of process 0, in the order in which to try them
  int port = 0;
  std::string token;   // to be sent by each process that comes
  std::string answer;  // identifies process 0; empty: it is not identified, if there is only an address
};
/// Returns 128 random bits, in hexadecimal digits.
std::string fresh_secret();
std::string to_text(const Invitation& invitation);
std::optional<Invitation> invitation_from_text(const std::string& text);

class MeetingPoint {
 public:
  virtual ~MeetingPoint() = default;
  /// Replaces the invitation that was there.
  virtual void leave(const Invitation& invitation) = 0;
  /// Returns the invitation, or nullopt if there is none yet. Error(kEnvironment) if the place cannot be used at all.
  virtual std::optional<Invitation> look() = 0;
  /// Removes the invitation, if it is still there.
  virtual void clear(const Invitation& invitation) = 0;
  /// Returns its name for people.
  virtual std::string name() const = 0;
  /// Returns true if its token is HOPBENCH_TOKEN of the environment, which the user gives to each process.
  virtual bool knows_token_from_environment() const { return false; }
  /// Returns true if several runs may meet there. Their names distinguish them.
  virtual bool is_shared() const { return false; }
  /// Returns the name for people of a process that is to come, numbered from 1.
  virtual std::string process(int number) const { return std::to_string(number); }
  /// Returns the port on which process 0 is to listen; 0: any.
  virtual int port() const { return 0; }
  /// Returns why a process that was to come will not come, or "" if nothing is known of that.
  virtual std::string trouble() { return ""; }
};

/// Opens the place. `run` distinguishes runs that share it. Throws Error(kUsage) if `where` is not such a place.
std::unique_ptr<MeetingPoint> open_meeting_point(const std::string& where, const std::string& run);

}  // namespace hopbench
