// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/services/server.h"

#include <chrono>

#include <google/protobuf/stubs/logging.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include "common/status.h"
#include "daemon/base/models.h"
#include "daemon/rpc/security/call_guard.h"
#include "daemon/rpc/security/listen.h"
#include "daemon/rpc/security/peer_listener.h"
#include "daemon/rpc/security/tls.h"
#include "daemon/rpc/services/admin_service.h"
#include "daemon/rpc/services/event_service.h"
#include "daemon/rpc/services/guarded_service.h"
#include "daemon/rpc/services/partition_service.h"
#include "daemon/rpc/services/plan_service.h"
#include "daemon/rpc/services/remediation_service.h"
#include "daemon/rpc/services/sim_service.h"
#include "daemon/rpc/services/subnet_admin_service.h"
#include "daemon/rpc/services/telemetry_service.h"
#include "daemon/rpc/services/topology_service.h"
#include "daemon/rpc/services/verdict_service.h"
#include "policy/partitions_text.h"
#include "query/read_model.h"

namespace fabricd::rpc {
namespace {

constexpr std::chrono::seconds kShutdownGrace{1};
// A whole partitions.conf and little more; a client that sends more is broken or hostile.
constexpr int kMaxRequestBytes = policy::kMaxPartitionsText + (1 << 16);
constexpr size_t kExportQueue = 16;
// Streams of exports and dumps, and topologies that are sent to be judged; of one client.
constexpr size_t kExports = 32, kExportsOfClient = 8;
constexpr size_t kTexts = 4, kTextsOfClient = 2;
constexpr size_t kAnswerQueue = 1024;
constexpr size_t kPlanQueue = 8;
// Of the threads for long answers: whoever asks for many of them takes no time from a reroute.
constexpr int kNiceness = 10;
constexpr int kKeepaliveMs = 60'000;
constexpr int kMinPingIntervalMs = 20'000;
// Of one connection: whoever wants all that security.max_calls gives by default may have it.
constexpr int kStreamsOfConnection = 4096;
// What gRPC takes for connections, calls and requests before a handler sees them. Above it reads
// slowly, then ends connections without calls, then calls.
constexpr size_t kGrpcBytes = size_t{256} << 20;

// Once for the process, before its first builder.
void PrepareGrpc() {
  static const bool done = [] {
    grpc::EnableDefaultHealthCheckService(true);
    // Explicit: the library's static initialiser is dropped by linkers (--as-needed).
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    // It writes a line to standard error for each request that is not UTF-8: a client could fill
    // the journal. The client is told what is wrong.
    google::protobuf::SetLogHandler(nullptr);
    return true;
  }();
  (void)done;
}

}  // namespace

struct Server::State {
  State(const ServerOptions& options, daemon::Backend& backend)
      : access(
            options.security, options.mode, [&backend] { return backend.other_master(); },
            [&backend] { return backend.is_cut_off(); }),
        guard(access, backend.audit(), options.stuck),
        freshness(backend),
        models(backend) {
    Add<pb::TopologyService>(
        std::make_unique<TopologyService>(backend, models, worker, *hub, options.version));
    Add<pb::AdminService>(std::make_unique<AdminService>(backend, worker, answers, access));
    Add<pb::EventService>(std::make_unique<EventService>(models, backend.events(), *hub));
    Add<pb::RemediationService>(
        std::make_unique<RemediationService>(backend, models, answers, access));
    Add<pb::PartitionService>(std::make_unique<PartitionService>(backend, models, answers));
    Add<pb::PlanService>(std::make_unique<PlanService>(models, planner));
    Add<pb::SubnetAdminService>(std::make_unique<SubnetAdminService>(models, backend, worker));
    Add<pb::TelemetryService>(std::make_unique<TelemetryService>(backend, models, worker, *hub));
    Add<pb::VerdictService>(std::make_unique<VerdictService>(backend, models, answers, *hub));
    if (backend.sim_control())
      Add<simpb::SimService>(std::make_unique<SimService>(models, *backend.sim_control()));
    (void)backend.events().AddWatcher(hub);
  }
  template <typename Schema>
  void Add(std::unique_ptr<grpc::Service> service) {
    services.emplace_back(Schema::service_full_name(), std::move(service));
  }
  void Register(grpc::ServerBuilder& builder) {
    for (const auto& [name, service] : services) {
      const auto* kind =
          google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(name);
      builder.RegisterService(
          guarded.emplace_back(std::make_unique<GuardedService>(guard, freshness, *service, *kind))
              .get());
    }
  }
  void SetServing(bool serving) {
    auto* health = server->GetHealthCheckService();
    health->SetServingStatus("", serving);
    for (const auto& [name, service] : services) health->SetServingStatus(name, serving);
  }

  Access access;
  CallGuard guard;
  Freshness freshness;
  daemon::Models models;
  ExportWorker worker{kExportQueue, {kExports, kExportsOfClient}, kNiceness};
  ExportWorker answers{kAnswerQueue, {kExports, kExportsOfClient}};
  ExportWorker planner{kPlanQueue, {kTexts, kTextsOfClient}, kNiceness};
  const std::shared_ptr<WatchHub> hub = std::make_shared<WatchHub>();
  std::vector<std::pair<const char*, std::unique_ptr<grpc::Service>>> services;  // With names.
  std::vector<std::unique_ptr<GuardedService>> guarded;
  std::unique_ptr<CertificateKeeper> certificates;
  std::unique_ptr<PeerListener> listener;
  std::vector<int> ports;
  std::unique_ptr<grpc::Server> server;
};

// On every address, or on none.
absl::Status Server::Listen(const ServerOptions& options, grpc::ServerBuilder& builder,
                            State& state) {
  std::vector<std::string> paths, hosts;
  for (const std::string& address : options.listen) {
    if (IsTcpAddress(address)) {
      hosts.push_back(address);
      continue;
    }
    auto path = UnixSocketPath(address);
    if (!path.ok()) return path.status();
    paths.push_back(*std::move(path));
  }
  state.ports.resize(hosts.size());
  if (!hosts.empty()) {
    auto keeper = CertificateKeeper::Start(options.security, options.certificate_refresh_seconds);
    if (!keeper.ok())
      return InvalidArgument("cannot listen on {}: {}", hosts[0], Message(keeper.status()));
    state.certificates = *std::move(keeper);
  }
  for (size_t i = 0; i < hosts.size(); ++i) {
    const auto credentials = MutualTls(*state.certificates);
    if (!credentials.ok())
      return InvalidArgument("cannot listen on {}: {}", hosts[i], Message(credentials.status()));
    (*credentials)->SetAuthMetadataProcessor(state.guard.MakeCertificateGate());
    const auto port = state.listener->ListenTcp(builder, hosts[i], *credentials);
    if (!port.ok()) return Internal("{}", Message(port.status()));
    state.ports[i] = *port;
  }
  for (const std::string& path : paths) FABRICD_RETURN_IF_ERROR(state.listener->Listen(path));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const ServerOptions& options,
                                                      daemon::Backend& backend) {
  PrepareGrpc();
  auto state = std::make_unique<State>(options, backend);
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(kMaxRequestBytes);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS,
                             static_cast<int>(options.connection_age.count()));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS,
                             static_cast<int>(options.connection_grace.count()));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
                             static_cast<int>(options.idle.count()));
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             static_cast<int>(options.handshake.count()));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsOfConnection);
  builder.SetResourceQuota(grpc::ResourceQuota("fabricd").Resize(kGrpcBytes));
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kMinPingIntervalMs);
  state->guard.Intercept(builder);
  state->listener = std::make_unique<PeerListener>(builder, state->guard, options.names);
  FABRICD_RETURN_IF_ERROR(Listen(options, builder, *state));
  state->Register(builder);
  state->server = builder.BuildAndStart();
  if (!state->server)
    return Internal("cannot listen on one of {}", fmt::join(options.listen, ", "));
  state->listener->Start();
  state->SetServing(false);
  return std::unique_ptr<Server>(new Server(std::move(state)));
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}
Server::~Server() { Shutdown(); }

void Server::SetServing(bool serving) { state_->SetServing(serving); }
void Server::SetAccess(const config::Security& security) { state_->access.Set(security); }
std::vector<HandledCalls> Server::Handled() const { return state_->access.Handled(); }
const std::vector<int>& Server::ports() const { return state_->ports; }

void Server::OnPublished() {
  state_->freshness.OnPublished(WallNowMs());
  state_->hub->OnChange(false);
}

void Server::Shutdown() {
  if (!state_->server) return;
  state_->listener->Stop();
  state_->server->Shutdown(GrpcDeadline(kShutdownGrace));
  state_->server->Wait();
  state_->server.reset();
}

}  // namespace fabricd::rpc
