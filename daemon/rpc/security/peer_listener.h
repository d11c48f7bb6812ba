// SPDX-License-Identifier: Apache-2.0
// PeerListener: sockets whose connections are accepted here and handed to gRPC, so that who is at
// the other end is known: the user of a unix socket (SO_PEERCRED), which gRPC itself does not tell,
// and how many connections a client has, which gRPC does not bound.
//
// gRPC shows a handler no connection, only the properties that the credentials of its acceptor gave
// it. Hence one acceptor for each user (with the same groups), kUsers of them made beforehand. An
// acceptor whose user has no connection left is the next user's: gRPC closes a descriptor only when
// no call of its connection is left, so that no call can be taken for another user's. Users beyond
// kUsers at a time are connected too, but not known, and so may do nothing.
//
// Names are looked up by threads of their own: whoever waits for a name service delays no one else.
// A user whose names are known is let in at once, and looked up again when they are older than
// kNamesAge, for the connections after this one.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <grpcpp/grpcpp.h>

#include "common/mutex.h"
#include "daemon/base/worker.h"
#include "daemon/rpc/security/call_guard.h"
#include "daemon/rpc/security/user_names.h"

namespace fabricd::rpc {

class PeerListener {
 public:
  static constexpr size_t kUsers = 128;
  // Connections over unix sockets and over TCP each, and of one user or address; fewer where the
  // process may not have four times as many descriptors. What is above is closed at once.
  static constexpr size_t kConnections = 2048;
  static constexpr size_t kConnectionsOfPeer = kConnections / 4;
  static constexpr std::chrono::seconds kNamesAge{60};

  // Adds the acceptors, whose calls all pass `gate`. REQUIRES: the builder has not built yet.
  PeerListener(grpc::ServerBuilder& builder, CallGuard& gate, NameService names);
  ~PeerListener();  // As Stop().

  // Makes the socket, mode 0660, and queues who connects. Errors as RemoveStaleSocket(); kInternal:
  // the system refuses.
  absl::Status Listen(const std::string& path);
  // On HOST:PORT, with credentials that tell who is there. The port. REQUIRES: as the constructor.
  absl::StatusOr<int> ListenTcp(grpc::ServerBuilder& builder, const std::string& address,
                                const std::shared_ptr<grpc::ServerCredentials>& credentials);
  // Hands connections to the server. REQUIRES: the builder has built it.
  void Start();
  // Ends and removes the sockets; connections that were handed over live on. Idempotent.
  void Stop();

 private:
  using Acceptor = std::shared_ptr<grpc::experimental::ExternalConnectionAcceptor>;
  struct User;
  struct Socket {
    int fd = -1;
    std::string path;   // Of a unix socket.
    Acceptor acceptor;  // Of a TCP socket.
  };
  // The descriptor is gRPC's: it is open as long as its number leads to the same socket.
  struct Connection {
    int fd = -1;
    ino_t socket = 0;
    std::string peer;
    User* user = nullptr;  // Null over TCP.
  };

  void Run();
  void Accept(const Socket& listener);
  void AcceptUser(int fd, int listener);
  void ForgetClosed();
  bool HasRoom(const std::string& peer, bool over_tcp);
  void Track(int fd, const std::string& peer, User* user);
  User& UserOf(const PeerUser& peer);
  void LookUp(User& user) FABRICD_REQUIRES(mutex_);
  static void HandOver(const Acceptor& acceptor, int fd, int listener);

  const NameService names_;
  const size_t most_;                                    // Connections of each kind.
  std::array<std::unique_ptr<User>, kUsers + 1> users_;  // The last one: all others.
  std::vector<Socket> sockets_;
  int wake_ = -1;  // An eventfd: time to end.
  // Of the accepting thread.
  std::vector<Connection> connections_;
  std::map<std::string, size_t> by_peer_;
  size_t over_tcp_ = 0;
  std::chrono::steady_clock::time_point looked_, refused_told_;
  // What the threads that look names up share with it: of each user but its gate and acceptor.
  Mutex mutex_;
  std::array<std::unique_ptr<daemon::Worker<std::function<void()>>>, 4> lookups_;
  std::thread thread_;
};

}  // namespace fabricd::rpc
