// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/security/peer_listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <spdlog/spdlog.h>

#include "common/mutex.h"
#include "common/sort_unique.h"
#include "common/status.h"
#include "daemon/base/listen_tcp.h"
#include "daemon/rpc/security/caller.h"
#include "daemon/rpc/security/listen.h"

namespace fabricd::rpc {
namespace {

constexpr mode_t kSocketMode = 0660;
constexpr int kBacklog = 512;
constexpr std::chrono::milliseconds kLook{1000};  // For connections that were closed.
constexpr std::chrono::milliseconds kLookAgain{50};
constexpr auto kTellRefused = std::chrono::minutes(1);

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

std::string AddressOf(int connection) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getpeername(connection, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET6)
    inet_ntop(AF_INET6, &reinterpret_cast<sockaddr_in6&>(address).sin6_addr, text, sizeof(text));
  else
    inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in&>(address).sin_addr, text, sizeof(text));
  return text;
}

// As many descriptors as this process may have; what it then leaves for connections.
size_t RoomForConnections() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 128;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 1 << 16);
  (void)setrlimit(RLIMIT_NOFILE, &limit);
  return std::min<size_t>(PeerListener::kConnections, limit.rlim_cur / 4);
}

ino_t SocketOf(int fd) {
  struct stat info {};
  return fstat(fd, &info) == 0 ? info.st_ino : 0;
}

}  // namespace

struct PeerListener::User {
  // Of the accepting thread.
  std::optional<PeerUser> user;
  size_t connections = 0;
  std::shared_ptr<UserGate> gate;
  Acceptor acceptor;
  // Of the listener's mutex.
  bool known = false, looks_up = false;
  std::chrono::steady_clock::time_point looked_up;
  std::vector<std::pair<int, int>> waiting;  // For its names: connections, and their listeners.
};

PeerListener::PeerListener(grpc::ServerBuilder& builder, CallGuard& guard, NameService names)
    : names_(std::move(names)), most_(RoomForConnections()), wake_(eventfd(0, EFD_CLOEXEC)) {
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
  users_.back()->known = true;  // As no one.
  // One lookup of each user at a time: there is always room for it.
  for (auto& each : lookups_)
    each = std::make_unique<daemon::Worker<std::function<void()>>>(
        kUsers, [](const std::function<void()>& job) { job(); });
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
  sockets_.push_back({fd, path, nullptr});
  if (chmod(path.c_str(), kSocketMode) != 0 || listen(fd, kBacklog) != 0)
    return Internal("cannot listen on {}: {}", path, std::strerror(errno));
  return absl::OkStatus();
}

absl::StatusOr<int> PeerListener::ListenTcp(
    grpc::ServerBuilder& builder, const std::string& address,
    const std::shared_ptr<grpc::ServerCredentials>& credentials) {
  using Type = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  const auto sockets = daemon::ListenTcp(address);
  if (!sockets.ok()) return sockets.status();
  const Acceptor acceptor =
      builder.experimental().AddExternalConnectionAcceptor(Type::FROM_FD, credentials);
  for (const int fd : sockets->fds) sockets_.push_back({fd, "", acceptor});
  return sockets->port;
}

void PeerListener::Start() {
  thread_ = std::thread([this] { Run(); });
}

void PeerListener::Stop() {
  if (thread_.joinable()) {
    eventfd_write(wake_, 1);
    thread_.join();
  }
  for (auto& each : lookups_) each->Stop();
  for (const Socket& socket : sockets_) {
    close(socket.fd);
    if (!socket.path.empty()) unlink(socket.path.c_str());
  }
  sockets_.clear();
}

void PeerListener::Run() {
  std::vector<pollfd> watched = {{wake_, POLLIN, 0}};
  for (const Socket& socket : sockets_) watched.push_back({socket.fd, POLLIN, 0});
  while (true) {
    const int wait_ms = connections_.empty() ? -1 : static_cast<int>(kLook.count());
    if (poll(watched.data(), watched.size(), wait_ms) < 0 && errno != EINTR) return;
    if (watched[0].revents != 0) return;
    for (size_t i = 1; i < watched.size(); ++i) {
      if (watched[i].revents != 0) Accept(sockets_[i - 1]);
    }
    if (std::chrono::steady_clock::now() - looked_ > kLook) ForgetClosed();
  }
}

void PeerListener::Accept(const Socket& listener) {
  const int fd = accept4(listener.fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    // Without descriptors the one that waits stays, and poll() would spin.
    if (errno == EMFILE || errno == ENFILE) poll(nullptr, 0, 100);
    return;
  }
  if (!listener.acceptor) return AcceptUser(fd, listener.fd);
  const std::string peer = AddressOf(fd);
  if (!HasRoom(peer, true)) {
    close(fd);
    return;
  }
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  Track(fd, peer, nullptr);
  HandOver(listener.acceptor, fd, listener.fd);
}

void PeerListener::AcceptUser(int fd, int listener) {
  const std::optional<PeerUser> peer = PeerOf(fd);
  const std::string name = peer ? fmt::format("uid {}", peer->uid) : "";
  if (!peer || !HasRoom(name, false)) {
    close(fd);
    return;
  }
  User& user = UserOf(*peer);
  Track(fd, name, &user);
  const auto now = std::chrono::steady_clock::now();
  bool known;
  {
    MutexLock lock(mutex_);
    known = user.known;
    if (!known) user.waiting.emplace_back(fd, listener);
    const bool wanted = !known || (user.user && now - user.looked_up > kNamesAge);
    if (wanted && !std::exchange(user.looks_up, true)) LookUp(user);
  }
  if (known) HandOver(user.acceptor, fd, listener);
}

void PeerListener::HandOver(const Acceptor& acceptor, int fd, int listener) {
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
  connection.listener_fd = listener;
  connection.fd = fd;
  acceptor->HandleNewConnection(&connection);
}

// The least busy thread is not looked for: a user always has the same one.
void PeerListener::LookUp(User& user) {
  const auto job = [this, &user, peer = *user.user] {
    Properties properties = UserProperties(names_, peer);
    user.gate->Set(std::move(properties));
    std::vector<std::pair<int, int>> waiting;
    {
      MutexLock lock(mutex_);
      user.known = true;
      user.looks_up = false;
      user.looked_up = std::chrono::steady_clock::now();
      waiting.swap(user.waiting);
    }
    for (const auto& [fd, listener] : waiting) HandOver(user.acceptor, fd, listener);
  };
  if (lookups_[user.user->uid % lookups_.size()]->Post(job)) return;
  user.looks_up = false;  // They have ended; so does the process.
}

void PeerListener::Track(int fd, const std::string& peer, User* user) {
  connections_.push_back({fd, SocketOf(fd), peer, user});
  ++by_peer_[peer];
  if (user != nullptr)
    ++user->connections;
  else
    ++over_tcp_;
}

void PeerListener::ForgetClosed() {
  looked_ = std::chrono::steady_clock::now();
  std::erase_if(connections_, [this](const Connection& each) {
    if (SocketOf(each.fd) == each.socket) return false;
    if (--by_peer_[each.peer] == 0) by_peer_.erase(each.peer);
    if (each.user != nullptr)
      --each.user->connections;
    else
      --over_tcp_;
    return true;
  });
}

bool PeerListener::HasRoom(const std::string& peer, bool over_tcp) {
  const size_t most_of_peer = std::min(kConnectionsOfPeer, most_ / 4);
  const auto has_room = [&] {
    const size_t of_kind = over_tcp ? over_tcp_ : connections_.size() - over_tcp_;
    const auto found = by_peer_.find(peer);
    return of_kind < most_ && (found == by_peer_.end() || found->second < most_of_peer);
  };
  if (has_room()) return true;
  const auto now = std::chrono::steady_clock::now();
  // Not for each of a flood.
  if (now - looked_ > kLookAgain) ForgetClosed();
  if (has_room()) return true;
  if (now - refused_told_ > kTellRefused) {
    refused_told_ = now;
    spdlog::warn("connections of {} are refused: it may have {}, all together {}", peer,
                 most_of_peer, most_);
  }
  return false;
}

PeerListener::User& PeerListener::UserOf(const PeerUser& peer) {
  const auto same = [&](const auto& each) { return each->user == peer; };
  const auto unused = [this](const auto& each) {
    if (each->connections > 0) return false;
    MutexLock lock(mutex_);
    return !each->looks_up && each->waiting.empty();
  };
  const auto last = users_.end() - 1;
  auto found = std::find_if(users_.begin(), last, same);
  if (found != last) return **found;
  ForgetClosed();
  // One that had no user yet, if there is one: names that are known spare a lookup.
  found = std::find_if(users_.begin(), last, [](const auto& each) { return !each->user; });
  if (found == last) found = std::find_if(users_.begin(), last, unused);
  if (found == last) return **last;
  User& user = **found;
  user.gate->Set({});
  user.user = peer;
  MutexLock lock(mutex_);
  user.known = false;
  return user;
}

}  // namespace fabricd::rpc
