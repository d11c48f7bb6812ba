// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/peer_listener.h"

#include <poll.h>
#include <pwd.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>

#include <fmt/format.h>
#include <grpcpp/security/auth_metadata_processor.h>

#include "common/number_text.h"
#include "common/status.h"
#include "daemon/rpc/listen.h"

namespace fabricd::rpc {
namespace {

constexpr mode_t kSocketMode = 0660;
constexpr int kBacklog = 128;
constexpr char kUserProperty[] = "fabricd_uid";

// Gives every connection of one acceptor its user.
class UserProperty final : public grpc::AuthMetadataProcessor {
 public:
  // Before the first connection.
  void Set(uid_t user) { user_ = user; }
  bool IsBlocking() const override { return false; }
  grpc::Status Process(const InputMetadata&, grpc::AuthContext* context, OutputMetadata*,
                       OutputMetadata*) override {
    // Called for each call, while the property belongs to the connection.
    std::lock_guard lock(mutex_);
    if (user_ && context->FindPropertyValues(kUserProperty).empty())
      context->AddProperty(kUserProperty, fmt::format("{}", *user_));
    return grpc::Status::OK;
  }

 private:
  std::mutex mutex_;
  std::optional<uid_t> user_;
};

std::optional<uid_t> PeerOf(int connection) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer.uid;
}

}  // namespace

struct PeerListener::User {
  std::optional<uid_t> uid;
  std::shared_ptr<UserProperty> property = std::make_shared<UserProperty>();
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor;
};

PeerListener::PeerListener(grpc::ServerBuilder& builder) : wake_(eventfd(0, EFD_CLOEXEC)) {
  using Type = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  for (auto& user : users_) {
    user = std::make_unique<User>();
    // These shake no hands: clients with insecure credentials are welcome.
    const auto credentials = grpc::experimental::LocalServerCredentials(UDS);
    credentials->SetAuthMetadataProcessor(user->property);
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
  const std::optional<uid_t> uid = PeerOf(connection);
  for (size_t i = 0; uid && i < known_; ++i) {
    if (users_[i]->uid == uid) return *users_[i];
  }
  if (!uid || known_ == kUsers) return *users_.back();
  User& user = *users_[known_++];
  user.uid = uid;
  user.property->Set(*uid);
  return user;
}

std::string CallerOf(const grpc::CallbackServerContext& context) {
  const auto values = context.auth_context()->FindPropertyValues(kUserProperty);
  if (values.empty()) return {};
  const auto uid = ParseNumber<uid_t>({values[0].data(), values[0].size()});
  if (!uid) return {};
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 4096> buffer{};
  if (getpwuid_r(*uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found)
    return found->pw_name;
  return fmt::format("{}", *uid);
}

}  // namespace fabricd::rpc
