// SPDX-License-Identifier: Apache-2.0
// PeerListener: unix sockets whose connections are accepted here and handed to gRPC, so that the
// user at the other end is known (SO_PEERCRED), which gRPC itself does not tell.
//
// gRPC shows a handler no connection, only the properties that the credentials of its acceptor gave
// it. Hence one acceptor for each user (with the same groups), kUsers of them made beforehand;
// users beyond that are connected too, but not known, and so may do nothing.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <absl/status/status.h>
#include <grpcpp/grpcpp.h>

#include "daemon/rpc/call_guard.h"

namespace fabricd::rpc {

class PeerListener {
 public:
  static constexpr size_t kUsers = 128;

  // Adds the acceptors, whose calls all pass `gate`. REQUIRES: the builder has not built yet.
  PeerListener(grpc::ServerBuilder& builder, CallGuard& gate);
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

}  // namespace fabricd::rpc
