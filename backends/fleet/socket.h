// TCP sockets between a launcher and its agents. Descriptors belong to the code that gets them; all are close-on-exec.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace hopbench {

using Deadline = std::chrono::steady_clock::time_point;

/// Listens on a numeric address, "" for all, or a host's name; port 0: any. Throws Error(kEnvironment).
int listen_on(const std::string& address, int port);
int port_of(int listener);
/// Returns the next connection, or -1 if none came by the deadline.
int accept_by(int listener, Deadline deadline);
/// Returns a connection, or -1, with the reason in `why`, if none can be made by the deadline.
int connect_by(const std::string& host, int port, Deadline deadline, std::string& why);

/// Return the numeric addresses of a connection's two ends.
std::string own_address(int fd);
std::string other_address(int fd);
/// Returns the numeric addresses of this machine's interfaces that are up, loopback last. If `interface` is named,
/// returns its addresses only. Throws Error(kEnvironment) if that interface has none.
std::vector<std::string> machine_addresses(const std::string& interface = "");
/// Returns true if the address can be reached from this machine only.
bool is_loopback(const std::string& address);
/// Returns the name of this machine, or HOPBENCH_HOST if that is set.
std::string machine_name();
/// Returns a text that is the same for all processes of a running kernel, and for no others.
std::string boot_id();

}  // namespace hopbench
