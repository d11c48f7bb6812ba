// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/security/call_guard.h"

#include <utility>
#include <vector>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/support/server_interceptor.h>

#include "common/mutex.h"
#include "common/status.h"
#include "common/utf8.h"
#include "daemon/rpc/convert/grpc_status.h"
#include "daemon/rpc/convert/request_check.h"

namespace fabricd::rpc {
namespace {

using google::protobuf::FieldDescriptor;
using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::InterceptorBatchMethods;
using grpc::experimental::ServerRpcInfo;

// Of a request in the audit log; a whole partitions.conf is not written down.
constexpr size_t kRequestBytes = 2048;
constexpr size_t kLargeRequest = 16 * 1024;

std::string JsonOf(const google::protobuf::Message& request) {
  const size_t size = request.ByteSizeLong();
  if (size > kLargeRequest) return fmt::format("{{}} ({} bytes)", size);
  std::string json;
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  if (!google::protobuf::util::MessageToJsonString(request, &json, options).ok()) return "{}";
  if (json.size() > kRequestBytes) {
    json.resize(kRequestBytes);
    json.append("…");
  }
  return Utf8(json);
}

std::string TextOf(const google::protobuf::Message& request, const char* name) {
  const FieldDescriptor* field = request.GetDescriptor()->FindFieldByName(name);
  if (field == nullptr || field->type() != FieldDescriptor::TYPE_STRING || field->is_repeated())
    return {};
  return Utf8(request.GetReflection()->GetString(request, field).substr(0, kRequestBytes));
}

// A dry run changes nothing.
bool IsDryRun(const google::protobuf::Message& request) {
  const FieldDescriptor* field = request.GetDescriptor()->FindFieldByName("validate_only");
  return field != nullptr && field->type() == FieldDescriptor::TYPE_BOOL &&
         request.GetReflection()->GetBool(request, field);
}

std::string CodeName(grpc::StatusCode code) {
  return absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
}

// One call, from its beginning to its end.
class CallRecord final : public grpc::experimental::Interceptor {
 public:
  CallRecord(CallGuard& guard, ServerRpcInfo* info)
      : guard_(guard),
        info_(*info),
        rule_(FindRule(std::string_view(info->method()).substr(1))),
        tracker_(guard.stuck().Track(info->server_context())) {}
  ~CallRecord() override { tracker_->End(); }

  void Intercept(InterceptorBatchMethods* methods) override {
    Follow(methods);
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_MESSAGE)) {
      const auto* request =
          static_cast<const google::protobuf::Message*>(methods->GetRecvMessage());
      unread_ = request == nullptr;
      // Those of a stream do not last.
      if (info_.type() != ServerRpcInfo::Type::CLIENT_STREAMING) request_ = request;
    }
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) {
      caller_ = CallerOf(*info_.server_context());
      held_ = guard_.access().Hold(caller_);
      // With its only message, if it has one; what is refused is not under way.
      if (!unread_) under_way_ = guard_.access().Begin(caller_);
    }
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS))
      SayWhatIsWrong(methods);
    if (rule_ != nullptr &&
        methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS))
      guard_.access().Count(*rule_, static_cast<int>(methods->GetSendStatus().error_code()));
    if (IsAudited()) {
      if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_MESSAGE))
        Read(static_cast<const google::protobuf::Message*>(methods->GetRecvMessage()));
      if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS))
        Write(methods->GetSendStatus());
    }
    methods->Proceed();
  }

 private:
  // What the client holds up, if anything.
  void Follow(InterceptorBatchMethods* methods) {
    const auto at = [&](InterceptionHookPoints point) {
      return methods->QueryInterceptionHookPoint(point);
    };
    // gRPC does not show when a server begins to read: a client that streams is awaited until its
    // last message.
    const bool streams = info_.type() == ServerRpcInfo::Type::CLIENT_STREAMING ||
                         info_.type() == ServerRpcInfo::Type::BIDI_STREAMING;
    const bool awaited =
        streams && (at(InterceptionHookPoints::POST_RECV_INITIAL_METADATA) ||
                    (at(InterceptionHookPoints::POST_RECV_MESSAGE) && methods->GetRecvMessage()));
    if (awaited || at(InterceptionHookPoints::PRE_SEND_MESSAGE) ||
        at(InterceptionHookPoints::PRE_SEND_STATUS))
      tracker_->Waits();
    else if (at(InterceptionHookPoints::POST_SEND_MESSAGE) ||
             at(InterceptionHookPoints::POST_RECV_MESSAGE))
      tracker_->Moves();
    if (at(InterceptionHookPoints::PRE_SEND_MESSAGE))
      answer_ = guard_.access().Send(caller_, methods->GetSerializedSendMessage()->Length());
    // An answer that is the only one stays as long as the call.
    if (at(InterceptionHookPoints::POST_SEND_MESSAGE) &&
        info_.type() == ServerRpcInfo::Type::SERVER_STREAMING)
      answer_.reset();
    // Later than here gRPC may have given up the call.
    if (at(InterceptionHookPoints::POST_RECV_CLOSE)) tracker_->End();
  }

  // gRPC answers a request that is no message of the method's kind, or that the inner gate turned
  // away, as if there were no such method, without a word; clients would take the daemon for an
  // older one. Where a handler throws it says the same, which is left as it is.
  void SayWhatIsWrong(InterceptorBatchMethods* methods) const {
    const grpc::Status status = methods->GetSendStatus();
    if (rule_ == nullptr || status.error_code() != grpc::StatusCode::UNIMPLEMENTED ||
        !status.error_message().empty())
      return;
    if (request_ != nullptr) {
      if (const absl::Status checked = CheckRequest(*request_); !checked.ok())
        methods->ModifySendStatus(ToGrpc(checked));
      return;
    }
    if (!unread_) return;
    methods->ModifySendStatus(ToGrpc(MakeError(
        absl::StatusCode::kInvalidArgument, "UNREADABLE_REQUEST",
        fmt::format("what was sent to {} cannot be read as its request", rule_->method))));
  }

  bool IsAudited() const { return rule_ != nullptr && rule_->is_mutation; }

  void Read(const google::protobuf::Message* request) {
    if (request == nullptr) return;  // The answer will say why.
    dry_run_ = IsDryRun(*request);
    if (dry_run_) return;
    record_.request = JsonOf(*request);
    record_.reason = TextOf(*request, "reason");
  }

  void Write(const grpc::Status& status) {
    // Who begins too many calls is not written down for each.
    if (dry_run_ || (unread_ && status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED))
      return;
    record_.caller = caller_.id;
    record_.role = RoleName(guard_.access().RoleOf(caller_));
    record_.method = std::string(rule_->method);
    record_.code = CodeName(status.error_code());
    record_.message = Utf8(status.error_message().substr(0, kRequestBytes));
    guard_.audit().Append(std::move(record_));
  }

  CallGuard& guard_;
  ServerRpcInfo& info_;
  const MethodRule* const rule_;
  const std::shared_ptr<StuckCalls::Tracker> tracker_;
  Caller caller_;
  std::shared_ptr<void> held_;
  std::shared_ptr<void> under_way_;
  std::shared_ptr<void> answer_;
  bool dry_run_ = false;
  const google::protobuf::Message* request_ = nullptr;  // As long as the call.
  bool unread_ = false;  // Refused, or no message of its kind; or, of a stream, at its end.
  store::AuditRecord record_;
};

class CallRecords final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit CallRecords(CallGuard& guard) : guard_(guard) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(ServerRpcInfo* info) override {
    return new CallRecord(guard_, info);
  }

 private:
  CallGuard& guard_;
};

std::string_view PathOf(const grpc::AuthMetadataProcessor::InputMetadata& metadata) {
  const auto path = metadata.find(":path");
  if (path == metadata.end()) return {};
  return {path->second.data(), path->second.size()};
}

class CertificateGate final : public grpc::AuthMetadataProcessor {
 public:
  explicit CertificateGate(CallGuard& guard) : guard_(guard) {}
  bool IsBlocking() const override { return false; }
  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext* connection,
                       OutputMetadata*, OutputMetadata*) override {
    return guard_.Hear(CallerOf(*connection), PathOf(metadata));
  }

 private:
  CallGuard& guard_;
};

}  // namespace

void UserGate::Set(Properties properties) {
  MutexLock lock(mutex_);
  properties_ = std::move(properties);
}

grpc::Status UserGate::Process(const InputMetadata& metadata, grpc::AuthContext* connection,
                               OutputMetadata*, OutputMetadata*) {
  {
    // Called for each call, while the properties belong to the connection.
    MutexLock lock(mutex_);
    if (!properties_.empty() && connection->FindPropertyValues(properties_.front().first).empty())
      for (const auto& [name, value] : properties_) connection->AddProperty(name, value);
  }
  return guard_.Hear(CallerOf(*connection), PathOf(metadata));
}

std::shared_ptr<UserGate> CallGuard::MakeUserGate() { return std::make_shared<UserGate>(*this); }

std::shared_ptr<grpc::AuthMetadataProcessor> CallGuard::MakeCertificateGate() {
  return std::make_shared<CertificateGate>(*this);
}

void CallGuard::Intercept(grpc::ServerBuilder& builder) {
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> factories;
  factories.push_back(std::make_unique<CallRecords>(*this));
  builder.experimental().SetInterceptorCreators(std::move(factories));
}

grpc::Status CallGuard::Admit(const Caller& caller, const std::string& method, bool begun) {
  return ToGrpc(access_.Admit(caller, method, begun));
}

grpc::Status CallGuard::Hear(const Caller& caller, std::string_view path) {
  const std::string_view method = path.substr(path.starts_with('/') ? 1 : 0);
  absl::Status status = access_.Hear(caller);
  if (status.ok() && !inner_.contains(method)) status = access_.Admit(caller, method);
  if (status.ok()) {
    access_.Expect(caller);
    return grpc::Status::OK;
  }
  const MethodRule* rule = FindRule(method);
  if (rule != nullptr) access_.Count(*rule, static_cast<int>(status.code()));
  // The others end in a CallRecord.
  if (rule != nullptr && rule->is_mutation &&
      status.code() != absl::StatusCode::kResourceExhausted) {
    store::AuditRecord record;
    record.caller = caller.id;
    record.role = RoleName(access_.RoleOf(caller));
    record.method = std::string(method);
    record.code = absl::StatusCodeToString(status.code());
    record.message = fabricd::Message(status);
    audit_.Append(std::move(record));
  }
  return {static_cast<grpc::StatusCode>(status.code()), fabricd::Message(status)};
}

}  // namespace fabricd::rpc
