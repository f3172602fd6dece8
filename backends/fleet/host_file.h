// The machines of `hopbench run --hosts FILE`, and the ssh connections that ask them to join.
//
//   # name        options
//   localhost     slots=2        this machine, no ssh
//   node1         slots=4
//   user@node2                   without slots= on any line ranks are spread evenly
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/fleet/meeting_point.h"

namespace hopbench {

struct HostLine {
  std::string host;
  int slots = -1;  // -1: not stated
};

/// Throws Error(kUsage) with file and line: no such file, an empty file, an invalid name, a host twice.
std::vector<HostLine> read_host_file(const std::string& path);

/// Starts, for process 0, an agent on each host by `ssh`, as processes 1, 2, ... in this order. Hands each the
/// invitation through its standard input, so that nothing of the host file or the invitation is ever part of a command
/// line that a shell reads. `program` is the path of hopbench there. The ssh processes end with this object.
std::unique_ptr<MeetingPoint> open_ssh_point(const std::string& ssh, const std::vector<std::string>& hosts,
                                             const std::string& program);

/// For such an agent: the invitation from standard input, and the number of its process.
struct Summons {
  std::unique_ptr<MeetingPoint> meeting;
  int number = 0, size = 0;
};
/// Throws Error(kUsage) if the input is not an invitation.
Summons read_summons(std::istream& in);

}  // namespace hopbench
