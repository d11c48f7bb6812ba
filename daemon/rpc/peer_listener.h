// SPDX-License-Identifier: Apache-2.0
// PeerListener: unix sockets whose connections are accepted here and handed to gRPC, so that the
// user at the other end is known (SO_PEERCRED), which gRPC itself does not tell.
//
// gRPC shows a handler no connection, only the properties that the credentials of its acceptor gave
// it. Hence one acceptor for each user, kUsers of them made beforehand; users beyond that are
// served too, but not known.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <absl/status/status.h>
#include <grpcpp/grpcpp.h>

namespace fabricd::rpc {

class PeerListener {
 public:
  static constexpr size_t kUsers = 32;

  // Adds the acceptors. REQUIRES: the builder has not built yet.
  explicit PeerListener(grpc::ServerBuilder& builder);
  ~PeerListener();  // As Stop().

  // Makes the socket, mode 0660, and queues who connects. Errors as RemoveStaleSocket(); kInternal:
  // the system refuses.
  absl::Status Listen(const std::string& path);
  // Hands connections to the server. REQUIRES: the builder has built it.
  void Start();
  // Ends and removes the sockets; connections that were handed over live on. Idempotent.
  void Stop();

 private:
  struct User;
  struct Socket {
    std::string path;
    int fd;
  };
  void Run();
  void Accept(int listener);
  User& UserOf(int connection);

  std::array<std::unique_ptr<User>, kUsers + 1> users_;  // The last one: all others.
  size_t known_ = 0;                                     // Of the accepting thread.
  std::vector<Socket> sockets_;
  int wake_ = -1;  // An eventfd: time to end.
  std::thread thread_;
};

// Name of the user who calls, or its number where it has no name. Empty: not known.
std::string CallerOf(const grpc::CallbackServerContext& context);

}  // namespace fabricd::rpc
