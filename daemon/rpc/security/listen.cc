// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/security/listen.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/status.h"

namespace fabricd::rpc {
namespace {

constexpr char kUnix[] = "unix:";

// Whether a process accepts connections at `path`.
bool SomebodyListens(const sockaddr_un& address) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const int result = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  const int error = errno;
  close(fd);
  // Anything but a refusal (a full backlog, no permission) means that somebody is there.
  return result == 0 || error != ECONNREFUSED;
}

}  // namespace

bool IsTcpAddress(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (address.rfind(kUnix, 0) == 0 || colon == std::string::npos || colon == 0) return false;
  const std::string port = address.substr(colon + 1);
  return !port.empty() && port.size() <= 5 &&
         port.find_first_not_of("0123456789") == std::string::npos && std::stoi(port) <= 65535;
}

absl::StatusOr<std::string> UnixSocketPath(const std::string& address) {
  if (address.rfind(kUnix, 0) != 0) {
    return InvalidArgument("cannot listen on \"{}\": neither unix:PATH nor HOST:PORT", address);
  }
  std::string path = address.substr(sizeof(kUnix) - 1);
  if (path.rfind("//", 0) == 0) path.erase(0, 2);
  if (path.empty()) return InvalidArgument("cannot listen on \"{}\": no path", address);
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return InvalidArgument("cannot listen on \"{}\": the path is longer than {} bytes", address,
                           sizeof(sockaddr_un::sun_path) - 1);
  }
  return path;
}

absl::Status RemoveStaleSocket(const std::string& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return absl::OkStatus();
    return FailedPrecondition("cannot listen on {}: {}", path, std::strerror(errno));
  }
  if (!S_ISSOCK(info.st_mode)) {
    return FailedPrecondition("cannot listen on {}: it exists and is not a socket", path);
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  if (SomebodyListens(address)) {
    return FailedPrecondition("cannot listen on {}: another process does", path);
  }
  if (unlink(path.c_str()) != 0) {
    return FailedPrecondition("cannot remove the stale socket {}: {}", path, std::strerror(errno));
  }
  return absl::OkStatus();
}

}  // namespace fabricd::rpc
