// TCP sockets between a launcher and its agents. Descriptors belong to who is given them; all are close-on-exec.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace hopbench {

using Deadline = std::chrono::steady_clock::time_point;

/// Listens on a numeric address, "" for all, or a host's name; port 0: any. Error(kEnvironment).
int listen_on(const std::string& address, int port);
int port_of(int listener);
/// The next who comes; -1 if nobody has by the deadline.
int accept_by(int listener, Deadline deadline);
/// -1, with the reason in `why`, if there is nobody by the deadline.
int connect_by(const std::string& host, int port, Deadline deadline, std::string& why);

/// The numeric addresses of a connection's two ends.
std::string own_address(int fd);
std::string other_address(int fd);
/// The numeric addresses of this machine's interfaces that are up, loopback last; of one interface only, if named.
/// Error(kEnvironment) if that has none.
std::vector<std::string> machine_addresses(const std::string& interface = "");
/// Whether it can be reached from this machine only.
bool is_loopback(const std::string& address);
/// Of this machine, or what HOPBENCH_HOST says.
std::string machine_name();
/// The same for all processes of a running kernel, and for no others.
std::string boot_id();

}  // namespace hopbench
