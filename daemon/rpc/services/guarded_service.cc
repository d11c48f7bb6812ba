// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/services/guarded_service.h"

#include <utility>

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>

#include "common/check.h"
#include "daemon/rpc/convert/request_check.h"

namespace fabricd::rpc {
namespace {

using grpc::internal::MethodHandler;
using grpc::internal::RpcMethod;
using grpc::internal::RpcServiceMethod;

// Answers with an error only; on the wire that of a unary call and of a stream are the same.
using Refusal = grpc::internal::CallbackUnaryHandler<grpc::ByteBuffer, grpc::ByteBuffer>;
using StreamRefusal =
    grpc::internal::CallbackClientStreamingHandler<grpc::ByteBuffer, grpc::ByteBuffer>;

// Of a method that takes one request.
class Gate final : public MethodHandler {
 public:
  Gate(CallGuard& guard, const Freshness& freshness, std::string method, MethodHandler& handler)
      : guard_(guard), freshness_(freshness), method_(std::move(method)), handler_(handler) {}

  // Before anything of the request is taken apart. Only what returns an OK `status` is handled.
  void* Deserialize(grpc_call* call, grpc_byte_buffer* request, grpc::Status* status,
                    void** data) override {
    *status = guard_.Admit(CallerOf(*grpc::CreateAuthContext(call)), method_, false);
    if (status->ok()) return handler_.Deserialize(call, request, status, data);
    grpc::Status taken;
    Refusal(nullptr).Deserialize(call, request, &taken, data);
    return nullptr;
  }

  void RunHandler(const HandlerParameter& call) override {
    // What is no message of its kind has no details, and is its handler's to answer. So is what no
    // request may be: the handler puts its messages away, and the call's record says why.
    if (call.status.ok() &&
        !CheckRequest(*static_cast<const google::protobuf::Message*>(call.request)).ok()) {
      return handler_.RunHandler({call.call, call.server_context, call.request,
                                  grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, ""),
                                  call.internal_data, call.call_requester});
    }
    if (call.status.ok() || call.status.error_details().empty()) {
      freshness_.Mark(method_, *call.server_context);
      return handler_.RunHandler(call);
    }
    Refusal refusal([&call](grpc::CallbackServerContext* context, const auto*, auto*) {
      grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
      reactor->Finish(call.status);
      return reactor;
    });
    refusal.RunHandler({call.call, call.server_context, nullptr, grpc::Status::OK,
                        call.internal_data, call.call_requester});
  }

 private:
  CallGuard& guard_;
  const Freshness& freshness_;
  const std::string method_;
  MethodHandler& handler_;
};

// Of a method that takes a stream of requests: before the first of them.
class StreamGate final : public MethodHandler {
 public:
  StreamGate(CallGuard& guard, std::string method, MethodHandler& handler)
      : guard_(guard), method_(std::move(method)), handler_(handler) {}

  void RunHandler(const HandlerParameter& call) override {
    const grpc::Status status = guard_.Admit(CallerOf(*call.server_context), method_, true);
    if (status.ok()) return handler_.RunHandler(call);
    StreamRefusal refusal(
        [&status](grpc::CallbackServerContext*, auto*) { return new Refused(status); });
    refusal.RunHandler(call);
  }

 private:
  struct Refused final : grpc::ServerReadReactor<grpc::ByteBuffer> {
    explicit Refused(const grpc::Status& status) { Finish(status); }
    void OnDone() override { delete this; }
  };

  CallGuard& guard_;
  const std::string method_;
  MethodHandler& handler_;
};

// What a service answers with is told to those that derive from it only.
struct Opened : grpc::Service {
  static MethodHandler* HandlerOf(grpc::Service& service, int method) {
    return (service.*&Opened::GetHandler)(method);
  }
};

}  // namespace

GuardedService::GuardedService(CallGuard& guard, const Freshness& freshness, grpc::Service& service,
                               const google::protobuf::ServiceDescriptor& kind) {
  for (int i = 0; i < kind.method_count(); ++i) {
    const auto& method = *kind.method(i);
    const bool takes_stream = method.client_streaming(), gives_stream = method.server_streaming();
    FABRICD_CHECK(!takes_stream || !gives_stream, "{}", method.full_name());
    const std::string name = kind.full_name() + "/" + method.name();
    AddMethod(new RpcServiceMethod(paths_.emplace_back("/" + name).c_str(),
                                   takes_stream   ? RpcMethod::CLIENT_STREAMING
                                   : gives_stream ? RpcMethod::SERVER_STREAMING
                                                  : RpcMethod::NORMAL_RPC,
                                   nullptr));
    MethodHandler& handler = *Opened::HandlerOf(service, i);
    if (takes_stream)
      MarkMethodCallback(i, new StreamGate(guard, name, handler));
    else
      MarkMethodCallback(i, new Gate(guard, freshness, name, handler));
    guard.LeaveToInnerGate(name);
  }
}

}  // namespace fabricd::rpc
