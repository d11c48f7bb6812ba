// SPDX-License-Identifier: Apache-2.0
// GuardedService: the inner gate (call_guard.h). It is registered in the place of a service, has
// its methods, and passes on the calls that are admitted, whose answers it marks where they may be
// out of date (freshness.h). gRPC takes handlers in no other way that
// could refuse a call with the details of an error; it knows the types it does so with as internal,
// but the code that its generator writes is made of them.
#pragma once

#include <list>
#include <string>

#include <google/protobuf/descriptor.h>
#include <grpcpp/impl/service_type.h>

#include "daemon/rpc/security/call_guard.h"
#include "daemon/rpc/services/freshness.h"

namespace fabricd::rpc {

class GuardedService final : public grpc::Service {
 public:
  // All outlive it. `service` is of `kind`, answers by callbacks and is registered nowhere.
  // REQUIRES: no method takes a stream of requests and answers with one.
  GuardedService(CallGuard& guard, const Freshness& freshness, grpc::Service& service,
                 const google::protobuf::ServiceDescriptor& kind);

 private:
  std::list<std::string> paths_;  // gRPC keeps pointers to them.
};

}  // namespace fabricd::rpc
