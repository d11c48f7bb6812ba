// SPDX-License-Identifier: Apache-2.0
// CallGuard: what every call passes, whatever service it is for: before anything of it is read, who
// calls and whether that one may (access.h); afterwards the count of what is under way, and the
// audit log. No handler takes part, so that none can forget to.
//
// A call that is refused at the gate has a code and a message but no details: gRPC ends it before
// details could be attached.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include <grpcpp/grpcpp.h>
#include <grpcpp/security/auth_metadata_processor.h>

#include "daemon/audit_log.h"
#include "daemon/rpc/access.h"
#include "daemon/rpc/caller.h"

namespace fabricd::rpc {

// The gate of a unix user's connections.
class UserGate;

class CallGuard {
 public:
  // Both outlive the server.
  CallGuard(Access& access, daemon::AuditLog& audit) : access_(access), audit_(audit) {}

  std::shared_ptr<UserGate> MakeUserGate();
  // The gate of connections whose certificates gRPC has checked.
  std::shared_ptr<grpc::AuthMetadataProcessor> MakeCertificateGate();
  // REQUIRES: the builder has no interceptors yet.
  void Intercept(grpc::ServerBuilder& builder);

  // Of a call that begins. `path`: "/fabric.v1.TopologyService/GetNode".
  grpc::Status Admit(const Caller& caller, std::string_view path);

  Access& access() { return access_; }
  daemon::AuditLog& audit() { return audit_; }

 private:
  Access& access_;
  daemon::AuditLog& audit_;
};

class UserGate final : public grpc::AuthMetadataProcessor {
 public:
  explicit UserGate(CallGuard& guard) : guard_(guard) {}
  // Before the first connection.
  void Set(Properties properties);
  bool IsBlocking() const override { return false; }
  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext* connection,
                       OutputMetadata* consumed, OutputMetadata* response) override;

 private:
  CallGuard& guard_;
  std::mutex mutex_;
  Properties properties_;
};

}  // namespace fabricd::rpc
