// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/peer_listener.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "common/sort_unique.h"
#include "common/status.h"
#include "daemon/rpc/caller.h"
#include "daemon/rpc/listen.h"

namespace fabricd::rpc {
namespace {

constexpr mode_t kSocketMode = 0660;
constexpr int kBacklog = 128;

// The user and all groups of the process at the other end.
std::optional<PeerUser> PeerOf(int connection) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  PeerUser user{peer.uid, {}};
  size = 0;
  // The kernel tells how much room it needs (socket(7), since Linux 4.13).
  if (getsockopt(connection, SOL_SOCKET, SO_PEERGROUPS, nullptr, &size) != 0 && errno == ERANGE) {
    user.gids.resize(size / sizeof(gid_t));
    if (getsockopt(connection, SOL_SOCKET, SO_PEERGROUPS, user.gids.data(), &size) != 0)
      user.gids.clear();
  }
  user.gids.push_back(peer.gid);
  SortUnique(user.gids);
  return user;
}

}  // namespace

struct PeerListener::User {
  std::optional<PeerUser> user;
  std::shared_ptr<UserGate> gate;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor;
};

PeerListener::PeerListener(grpc::ServerBuilder& builder, CallGuard& guard)
    : wake_(eventfd(0, EFD_CLOEXEC)) {
  using Type = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  for (auto& user : users_) {
    user = std::make_unique<User>();
    user->gate = guard.MakeUserGate();
    // These shake no hands: clients with insecure credentials are welcome.
    const auto credentials = grpc::experimental::LocalServerCredentials(UDS);
    credentials->SetAuthMetadataProcessor(user->gate);
    user->acceptor =
        builder.experimental().AddExternalConnectionAcceptor(Type::FROM_FD, credentials);
  }
}

PeerListener::~PeerListener() {
  Stop();
  close(wake_);
}

absl::Status PeerListener::Listen(const std::string& path) {
  FABRICD_RETURN_IF_ERROR(RemoveStaleSocket(path));
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  if (fd < 0 || bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    const absl::Status status =
        Internal("cannot listen on {}: {} (does its directory exist and is it writable?)", path,
                 std::strerror(errno));
    if (fd >= 0) close(fd);
    return status;
  }
  sockets_.push_back({path, fd});
  if (chmod(path.c_str(), kSocketMode) != 0 || listen(fd, kBacklog) != 0)
    return Internal("cannot listen on {}: {}", path, std::strerror(errno));
  return absl::OkStatus();
}

void PeerListener::Start() {
  thread_ = std::thread([this] { Run(); });
}

void PeerListener::Stop() {
  if (thread_.joinable()) {
    eventfd_write(wake_, 1);
    thread_.join();
  }
  for (const Socket& socket : sockets_) {
    close(socket.fd);
    unlink(socket.path.c_str());
  }
  sockets_.clear();
}

void PeerListener::Run() {
  std::vector<pollfd> watched = {{wake_, POLLIN, 0}};
  for (const Socket& socket : sockets_) watched.push_back({socket.fd, POLLIN, 0});
  while (poll(watched.data(), watched.size(), -1) >= 0 || errno == EINTR) {
    if (watched[0].revents != 0) return;
    for (size_t i = 1; i < watched.size(); ++i) {
      if (watched[i].revents != 0) Accept(watched[i].fd);
    }
  }
}

void PeerListener::Accept(int listener) {
  const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    // Without descriptors the one that waits stays, and poll() would spin.
    if (errno == EMFILE || errno == ENFILE) poll(nullptr, 0, 100);
    return;
  }
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
  connection.listener_fd = listener;
  connection.fd = fd;
  UserOf(fd).acceptor->HandleNewConnection(&connection);
}

PeerListener::User& PeerListener::UserOf(int connection) {
  const std::optional<PeerUser> peer = PeerOf(connection);
  for (size_t i = 0; peer && i < known_; ++i) {
    if (users_[i]->user == peer) return *users_[i];
  }
  if (!peer || known_ == kUsers) return *users_.back();
  User& user = *users_[known_++];
  user.user = peer;
  user.gate->Set(UserProperties(*peer));
  return user;
}

}  // namespace fabricd::rpc
