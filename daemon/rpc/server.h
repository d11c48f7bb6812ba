// SPDX-License-Identifier: Apache-2.0
// The gRPC server: listeners, services, health and reflection. Handlers run on gRPC's own threads,
// read published views and never wait. No gRPC type is named here, so that app.cc compiles without
// gRPC.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <absl/status/statusor.h>

#include "daemon/backend.h"

namespace fabricd::rpc {

struct ServerOptions {
  // unix:PATH each. The sockets are made with mode 0660; their group is that of the
  // process or of a set-group-id directory.
  std::vector<std::string> listen;
  std::string version;  // Of fabricd, for GetSm.
};

class Server {
 public:
  // Listens on every address, or on none. `backend` outlives the server. Health says NOT_SERVING
  // until SetServing(true); SimService is registered when backend.sim_control() is not null.
  //   kInvalidArgument     an address that is not one, or TCP, which needs mutual TLS
  //   kFailedPrecondition  another process listens there, or the path is not a socket's
  //   kInternal            gRPC cannot listen
  static absl::StatusOr<std::unique_ptr<Server>> Start(const ServerOptions& options,
                                                       daemon::Backend& backend);
  ~Server();  // As Shutdown().

  // Health of "" and of every service. True from the first complete sweep, or on becoming standby.
  void SetServing(bool serving);
  // After each view that the backend has published: streams that watch it are woken. Never waits.
  void OnPublished();
  // Refuses new calls, gives running ones a second, cuts the rest off. The sockets are removed.
  // Idempotent. The backend must still be able to complete or refuse sweeps.
  void Shutdown();

 private:
  struct State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace fabricd::rpc
