// SPDX-License-Identifier: Apache-2.0
// daemon/rpc/security: who calls, and whether the call may begin.
//
// CallGuard: what every call passes, whatever service it is for: before its request is taken apart,
// who calls and whether that one may (access.h); afterwards the count of what is under way, and the
// audit log. No handler takes part, so that none can forget to.
//
// There are two gates, because gRPC ends a call that its metadata's processor refuses without the
// details of an error. The outer one, such a processor, decides about every method but those of
// guarded services, and stops storms. The inner one (guarded_service.h) stands in the place of each
// handler of those, decides before the request is taken apart, and refuses with details. What
// is not behind the inner gate the outer one decides: a service that is registered without
// it is guarded all the same.
#pragma once

#include <chrono>
#include <memory>
#include <set>
#include <string>

#include <grpcpp/grpcpp.h>
#include <grpcpp/security/auth_metadata_processor.h>

#include "common/mutex.h"
#include "daemon/base/access.h"
#include "daemon/record/audit_log.h"
#include "daemon/rpc/security/caller.h"
#include "daemon/rpc/security/stuck_calls.h"

namespace fabricd::rpc {

// The gate of a unix user's connections.
class UserGate;

class CallGuard {
 public:
  // Both outlive the server. A call that its client holds up for `stuck` is cancelled.
  CallGuard(Access& access, daemon::AuditLog& audit,
            std::chrono::milliseconds stuck = std::chrono::minutes(1))
      : access_(access), audit_(audit), stuck_(stuck) {}

  std::shared_ptr<UserGate> MakeUserGate();
  // The gate of connections whose certificates gRPC has checked.
  std::shared_ptr<grpc::AuthMetadataProcessor> MakeCertificateGate();
  // REQUIRES: the builder has no interceptors yet.
  void Intercept(grpc::ServerBuilder& builder);
  // The inner gate decides about this one. REQUIRES: the server has not started.
  void LeaveToInnerGate(const std::string& method) { inner_.insert(method); }

  // The outer gate, of a call that begins. `path`: "/fabric.v1.TopologyService/GetNode".
  grpc::Status Hear(const Caller& caller, std::string_view path);
  // The inner gate. `begun`: a CallRecord has begun, as it has where requests are a stream.
  grpc::Status Admit(const Caller& caller, const std::string& method, bool begun);

  Access& access() { return access_; }
  daemon::AuditLog& audit() { return audit_; }
  StuckCalls& stuck() { return stuck_; }

 private:
  Access& access_;
  daemon::AuditLog& audit_;
  std::set<std::string, std::less<>> inner_;
  StuckCalls stuck_;
};

class UserGate final : public grpc::AuthMetadataProcessor {
 public:
  explicit UserGate(CallGuard& guard) : guard_(guard) {}
  // Of connections that make their first call from now on. Empty: they are not known.
  void Set(Properties properties);
  bool IsBlocking() const override { return false; }
  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext* connection,
                       OutputMetadata* consumed, OutputMetadata* response) override;

 private:
  CallGuard& guard_;
  Mutex mutex_;
  Properties properties_ FABRICD_GUARDED_BY(mutex_);
};

}  // namespace fabricd::rpc
