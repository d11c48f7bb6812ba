// SPDX-License-Identifier: Apache-2.0
// daemon/rpc/services: the services of the API and the server that they run in.
//
// The gRPC server: listeners, services, health and reflection. Handlers run on gRPC's own threads,
// read published views and never wait. No gRPC type is named here, so that app.cc compiles without
// gRPC.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <absl/status/statusor.h>

#include "config/config.h"
#include "daemon/base/access.h"
#include "daemon/base/backend.h"
#include "daemon/rpc/security/user_names.h"

namespace grpc {
class ServerBuilder;
}

namespace fabricd::rpc {

struct ServerOptions {
  // unix:PATH or HOST:PORT each. The sockets are made with mode 0660; their group is that of the
  // process or of a set-group-id directory. TCP is served with certificates of both sides only.
  std::vector<std::string> listen;
  std::string version;  // Of fabricd, for GetSm.
  config::Security security = {};
  unsigned certificate_refresh_seconds = 5;
  // A connection is given no new calls from this age on, and cut off after the grace: clients
  // connect anew, and who they are is looked at again. gRPC varies the age by a tenth.
  std::chrono::milliseconds connection_age = std::chrono::minutes(30);
  std::chrono::milliseconds connection_grace = std::chrono::minutes(5);
  // A call is cancelled whose client takes nothing of what it is sent, or sends nothing of what is
  // awaited, for this long.
  std::chrono::milliseconds stuck = std::chrono::minutes(1);
  // A connection is closed that does not speak gRPC (in TLS, on TCP) by then, or has had no call
  // for `idle`.
  std::chrono::milliseconds handshake = std::chrono::seconds(10);
  std::chrono::milliseconds idle = std::chrono::minutes(5);
  NameService names = {};  // Of users at unix sockets.
  SmMode mode = SmMode::kManage;
};

class Server {
 public:
  // Listens on every address, or on none. `backend` outlives the server. Health says NOT_SERVING
  // until SetServing(true); SimService is registered when backend.sim_control() is not null.
  //   kInvalidArgument     an address that is not one, or TCP without the files of mutual TLS
  //   kFailedPrecondition  another process listens there, or the path is not a socket's
  //   kInternal            gRPC cannot listen
  static absl::StatusOr<std::unique_ptr<Server>> Start(const ServerOptions& options,
                                                       daemon::Backend& backend);
  ~Server();  // As Shutdown().

  // Health of "" and of every service. True from the first complete sweep, or on becoming standby.
  void SetServing(bool serving);
  // After each view that the backend has published: streams that watch it are woken. Never waits.
  void OnPublished();
  // Other roles and limits, for calls that begin from now on.
  void SetAccess(const config::Security& security);
  // What has ended since the start, by method and code. Any thread.
  std::vector<HandledCalls> Handled() const;
  // Ports of the TCP listeners, in the order of `listen`: for those who asked for any.
  const std::vector<int>& ports() const;
  // Refuses new calls, gives running ones a second, cuts the rest off. The sockets are removed.
  // Idempotent. The backend must still be able to complete or refuse sweeps.
  void Shutdown();

 private:
  struct State;
  explicit Server(std::unique_ptr<State> state);
  static absl::Status Listen(const ServerOptions& options, grpc::ServerBuilder& builder,
                             State& state);
  std::unique_ptr<State> state_;
};

}  // namespace fabricd::rpc
