#include "backends/fleet/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>

#include "backends/base/error.h"

namespace hopbench {
namespace {

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

Addresses resolve(const std::string& host, int port, int flags, std::string& why) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.empty() ? nullptr : host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) why = gai_strerror(error);
  return {error == 0 ? found : nullptr, freeaddrinfo};
}

/// Prepares a socket so that a peer that vanishes silently is noticed in about ten seconds.
void prepare(int fd) {
  const int on = 1, idle = 4, interval = 2, count = 3, limit_ms = 10'000;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms, sizeof limit_ms);
}

int milliseconds_to(Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

/// Connects to one address. Returns 0 or an errno.
int connect_one(int fd, const addrinfo& to, Deadline deadline) {
  fcntl(fd, F_SETFL, O_NONBLOCK);
  if (connect(fd, to.ai_addr, to.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return errno;
    pollfd wanted{fd, POLLOUT, 0};
    if (poll(&wanted, 1, milliseconds_to(deadline)) <= 0) return ETIMEDOUT;
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) return error;
  }
  fcntl(fd, F_SETFL, 0);
  return 0;
}

std::string numeric(const sockaddr* address) {
  char text[NI_MAXHOST] = {};
  const socklen_t length = address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  if (getnameinfo(address, length, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) return "";
  const std::string name = text;
  return name.starts_with("::ffff:") ? name.substr(7) : name;  // version 4 through a socket of version 6
}

template <class Name>
std::string address_of(int fd, const Name& name) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (name(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return "";
  return numeric(reinterpret_cast<const sockaddr*>(&storage));
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

/// Listens on every address, of both versions. Returns -1 if there is no version 6.
int listen_everywhere(int port) {
  const int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const int on = 1, off = 0;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  any.sin6_port = htons(static_cast<std::uint16_t>(port));
  if (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0 &&
      bind(fd, reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0 && listen(fd, SOMAXCONN) == 0)
    return fd;
  close(fd);
  return -1;
}

int listen_on(const std::string& address, int port) {
  if (address.empty()) {
    if (const int fd = listen_everywhere(port); fd >= 0) return fd;
  }
  std::string why;
  const Addresses all = resolve(address, port, AI_PASSIVE, why);
  for (const addrinfo* each = all.get(); each != nullptr; each = each->ai_next) {
    const int fd = socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) continue;
    const int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, each->ai_addr, each->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0) return fd;
    why = std::strerror(errno);
    close(fd);
  }
  throw environment_error("cannot listen on " + (address.empty() ? "this machine" : address) +
                          (port == 0 ? "" : ", port " + std::to_string(port)) + ": " + why +
                          ": another process may have the port: choose another place to meet (--rendezvous)");
}

int port_of(int listener) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (getsockname(listener, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return 0;
  return ntohs(storage.ss_family == AF_INET ? reinterpret_cast<const sockaddr_in&>(storage).sin_port
                                            : reinterpret_cast<const sockaddr_in6&>(storage).sin6_port);
}

int accept_by(int listener, Deadline deadline) {
  while (true) {
    pollfd wanted{listener, POLLIN, 0};
    if (poll(&wanted, 1, milliseconds_to(deadline)) <= 0 && std::chrono::steady_clock::now() >= deadline) return -1;
    const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
      throw environment_error(std::string("cannot take another connection: ") + std::strerror(errno) +
                              ": raise the limit on open files (ulimit -n)");
    }
    if (fd < 0 && std::chrono::steady_clock::now() >= deadline) return -1;
    if (fd < 0) continue;
    fcntl(fd, F_SETFL, 0);
    prepare(fd);
    return fd;
  }
}

int connect_by(const std::string& host, int port, Deadline deadline, std::string& why) {
  const Addresses all = resolve(host, port, 0, why);
  for (const addrinfo* each = all.get(); each != nullptr; each = each->ai_next) {
    const int fd = socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) continue;
    const int error = connect_one(fd, *each, deadline);
    if (error == 0) {
      prepare(fd);
      return fd;
    }
    why = std::strerror(error);
    close(fd);
  }
  return -1;
}

std::string own_address(int fd) { return address_of(fd, getsockname); }
std::string other_address(int fd) { return address_of(fd, getpeername); }

std::vector<std::string> machine_addresses(const std::string& interface) {
  ifaddrs* all = nullptr;
  std::vector<std::string> found, loopback;
  if (getifaddrs(&all) == 0) {
    for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
      if (each->ifa_addr == nullptr || (each->ifa_flags & IFF_UP) == 0) continue;
      if (!interface.empty() && interface != each->ifa_name) continue;
      if (each->ifa_addr->sa_family != AF_INET && each->ifa_addr->sa_family != AF_INET6) continue;
      const std::string address = numeric(each->ifa_addr);
      if (address.empty() || address.starts_with("fe80:")) continue;  // link-local: means nothing on other machines
      ((each->ifa_flags & IFF_LOOPBACK) != 0 ? loopback : found).push_back(address);
    }
    freeifaddrs(all);
  }
  if (!interface.empty() && found.empty() && loopback.empty()) {
    throw environment_error("network interface '" + interface + "' of " + machine_name() +
                            " is not there or has no address: name one that `ip address` lists");
  }
  found.insert(found.end(), loopback.begin(), loopback.end());
  return found;
}

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1" || address == "localhost";
}

std::string machine_name() {
  if (const char* said = std::getenv("HOPBENCH_HOST"); said != nullptr && *said != '\0') return said;
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

std::string boot_id() { return first_line("/proc/sys/kernel/random/boot_id"); }

}  // namespace hopbench
