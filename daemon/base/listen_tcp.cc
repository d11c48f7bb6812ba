// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/listen_tcp.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "common/status.h"
#include "config/host_port.h"

namespace fabricd::daemon {
namespace {

constexpr int kBacklog = 512;

void SetPort(sockaddr* address, uint16_t port) {
  // The port has the same place in both kinds.
  if (address->sa_family == AF_INET6)
    reinterpret_cast<sockaddr_in6*>(address)->sin6_port = htons(port);
  else
    reinterpret_cast<sockaddr_in*>(address)->sin_port = htons(port);
}

uint16_t PortOf(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

// -1: errno says why.
int ListenOn(const addrinfo& address) {
  const int fd =
      socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, address.ai_protocol);
  if (fd < 0) return -1;
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  // 0.0.0.0 and [::] are two addresses, which both may be listened on.
  if (address.ai_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
  if (bind(fd, address.ai_addr, address.ai_addrlen) == 0 && listen(fd, kBacklog) == 0) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

}  // namespace

absl::StatusOr<TcpSockets> ListenTcp(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found); error != 0)
    return Unavailable("cannot listen on {}: {}", host, gai_strerror(error));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, freeaddrinfo);
  TcpSockets sockets;
  sockets.port = port;
  std::string why;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    SetPort(each->ai_addr, sockets.port);
    const int fd = ListenOn(*each);
    if (fd < 0) {
      why = std::strerror(errno);
      continue;  // A host without IPv6, for example.
    }
    sockets.fds.push_back(fd);
    sockets.port = PortOf(fd);
  }
  if (sockets.fds.empty()) return Unavailable("cannot listen on {}:{}: {}", host, port, why);
  return sockets;
}

absl::StatusOr<TcpSockets> ListenTcp(const std::string& address) {
  const auto parsed = config::ParseHostPort(address);
  if (!parsed) return InvalidArgument("expected HOST:PORT, got '{}'", address);
  return ListenTcp(parsed->host, parsed->port);
}

}  // namespace fabricd::daemon
