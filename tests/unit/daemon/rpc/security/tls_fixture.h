// SPDX-License-Identifier: Apache-2.0
// TlsTest: a server on TCP whose clients have certificates, one for each role.
#pragma once

#include <grpcpp/security/credentials.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/daemon/rpc/running_server.h"
#include "tests/unit/daemon/rpc/security/certificates.h"

namespace fabricd::rpc::testing {

class TlsTest : public ::testing::Test {
 protected:
  TlsTest() : certificates_(directory_ / "tls", "signer") {
    certificates_.Sign("server", "head1", "DNS:localhost");
    config::Security& security = options_.security;
    security.tls_cert = certificates_.path("server.pem");
    security.tls_key = certificates_.path("server.key");
    security.tls_ca = certificates_.path("ca.pem");
    security.viewers = {"dns:monitor.example"};
    security.schedulers = {"spiffe://cluster/slurm"};
    security.operators = {"cn:alice"};
    security.admins = {"spiffe://cluster/root"};
    certificates_.Sign("none", "nobody", "");
    certificates_.Sign("viewer", "x", "DNS:monitor.example");
    certificates_.Sign("scheduler", "y", "URI:spiffe://cluster/slurm");
    certificates_.Sign("operator", "alice", "");
    certificates_.Sign("admin", "z", "URI:spiffe://cluster/root");
    options_.listen = {"localhost:0"};
    options_.version = "1";
    options_.certificate_refresh_seconds = 1;
    Start();
  }
  // With the options as they are now.
  void Start() {
    server_.reset();
    auto started = Server::Start(options_, backend_);
    EXPECT_TRUE(started.ok()) << started.status();
    if (started.ok()) server_ = *std::move(started);
  }
  std::shared_ptr<grpc::Channel> Connect(const Certificates& made, const std::string& name,
                                         const Certificates& trusted) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = trusted.Read("ca.pem");
    if (!name.empty()) {
      options.pem_private_key = made.Read(name + ".key");
      options.pem_cert_chain = made.Read(name + ".pem");
    }
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(fmt::format("localhost:{}", server_->ports()[0]),
                                     grpc::SslCredentials(options), arguments);
  }
  std::shared_ptr<grpc::Channel> Connect(const std::string& name) {
    return Connect(certificates_, name, certificates_);
  }
  static grpc::Status CallEmpty(const std::shared_ptr<grpc::Channel>& channel,
                                const std::string& path, std::chrono::milliseconds timeout) {
    return CallGeneric(channel, path, "", timeout);
  }
  static grpc::Status GetSm(const std::shared_ptr<grpc::Channel>& channel) {
    return CallEmpty(channel, "fabric.v1.TopologyService/GetSm", std::chrono::seconds(20));
  }
  std::vector<store::AuditRecord> Audit() {
    std::lock_guard lock(backend_.store_mutex);
    return *backend_.store.ListAudit({});
  }

  TempDir directory_;
  Certificates certificates_;
  SmallFabric fabric_;
  FakeBackend backend_{fabric_.View()};
  ServerOptions options_;
  std::unique_ptr<Server> server_;
};

}  // namespace fabricd::rpc::testing
