// SPDX-License-Identifier: Apache-2.0
#include "cli/client.h"

namespace fabricd::cli {
namespace {

// What gRPC takes: a bare path is a unix socket.
std::string Target(const std::string& server) {
  return !server.empty() && server.front() == '/' ? "unix:" + server : server;
}

}  // namespace

Client::Client(const std::string& server, std::optional<Timeout> timeout)
    : server_(Target(server)), timeout_(timeout) {
  grpc::ChannelArguments arguments;
  // Pages of 5000 hosts are larger than gRPC's 4 MB.
  arguments.SetMaxReceiveMessageSize(-1);
  // `fabricctl wait` is there before the daemon is.
  // (MIN_RECONNECT_BACKOFF stays at its 20 s: it is the time that a connection attempt is given.)
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  const auto channel =
      grpc::CreateCustomChannel(server_, grpc::InsecureChannelCredentials(), arguments);
  topology_ = pb::TopologyService::NewStub(channel);
  admin_ = pb::AdminService::NewStub(channel);
  events_ = pb::EventService::NewStub(channel);
  remediation_ = pb::RemediationService::NewStub(channel);
  subnet_admin_ = pb::SubnetAdminService::NewStub(channel);
  sim_ = simpb::SimService::NewStub(channel);
}

}  // namespace fabricd::cli
