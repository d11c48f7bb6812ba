// SPDX-License-Identifier: Apache-2.0
#include "store/etcd/grpc_members.h"

#include <grpc/support/time.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <algorithm>
#include <fstream>
#include <thread>
#include <utility>

#include "common/status.h"

namespace fabricd::store::etcd {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr unsigned kCertificateRefreshSeconds = 5;
constexpr int kMaxReceivedBytes = 128 << 20;
// A wait for a connection cannot be cancelled.
constexpr milliseconds kConnectSlice{20};

absl::Status CheckFile(const char* what, const std::string& path) {
  if (path.empty() || std::ifstream(path).good()) return absl::OkStatus();
  return InvalidArgument("etcd {}: {}: cannot be read", what, path);
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> CredentialsOf(
    const ClientOptions& options) {
  if (options.cert.empty() != options.key.empty())
    return InvalidArgument("etcd: a certificate needs its key, and a key its certificate");
  if (options.ca.empty()) {
    if (!options.cert.empty()) return InvalidArgument("etcd: a certificate needs a CA");
    return grpc::InsecureChannelCredentials();
  }
  FABRICD_RETURN_IF_ERROR(CheckFile("CA", options.ca));
  FABRICD_RETURN_IF_ERROR(CheckFile("certificate", options.cert));
  FABRICD_RETURN_IF_ERROR(CheckFile("key", options.key));
  using grpc::experimental::FileWatcherCertificateProvider;
  grpc::experimental::TlsChannelCredentialsOptions tls;
  tls.set_certificate_provider(std::make_shared<FileWatcherCertificateProvider>(
      options.key, options.cert, options.ca, kCertificateRefreshSeconds));
  tls.watch_root_certs();
  if (!options.cert.empty()) tls.watch_identity_key_cert_pairs();
  auto credentials = grpc::experimental::TlsCredentials(tls);
  if (credentials == nullptr) return Internal("gRPC makes no TLS credentials");
  return credentials;
}

Member MakeMember(const std::string& endpoint,
                  const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  // A member that is back is used within a second. One that hangs is found by the timeout of a
  // call, or by these pings while a watch is open; etcd refuses more than one in 5 s.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 3'000);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(kMaxReceivedBytes);
  const auto channel = grpc::CreateCustomChannel(endpoint, credentials, arguments);
  return {endpoint,
          channel,
          pb::KV::NewStub(channel),
          pb::Watch::NewStub(channel),
          pb::Lease::NewStub(channel),
          pb::Maintenance::NewStub(channel),
          pb::Auth::NewStub(channel)};
}

bool Contains(const grpc::Status& status, const char* text) {
  return status.error_message().find(text) != std::string::npos;
}

// An old token, or one from before the users of etcd were changed: the call was not carried out.
bool IsTokenRefused(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAUTHENTICATED ||
         Contains(status, "revision of auth store is old") ||
         Contains(status, "user name is empty");
}

// Whether the next member may answer. Broken connections show as several codes.
bool IsUnanswered(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::UNKNOWN:
    case grpc::StatusCode::INTERNAL: return true;
    default: return Contains(status, "etcdserver: not leader");
  }
}

gpr_timespec After(milliseconds timeout) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_millis(timeout.count(), GPR_TIMESPAN));
}

}  // namespace

void SetTimeout(grpc::ClientContext& context, milliseconds timeout) {
  context.set_deadline(After(timeout));
}

// A call with one member. It is cancelled where all calls are ended.
class Members::UnderWay {
 public:
  UnderWay(Members& members, grpc::ClientContext& context) : members_(members), context_(context) {
    MutexLock lock(members_.mutex_);
    members_.under_way_.insert(&context_);
    if (members_.are_calls_ended()) context_.TryCancel();
  }
  ~UnderWay() {
    MutexLock lock(members_.mutex_);
    members_.under_way_.erase(&context_);
  }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;

 private:
  Members& members_;
  grpc::ClientContext& context_;
};

void Members::Limit(std::optional<milliseconds> time) {
  MutexLock lock(mutex_);
  limit_.Set(time, Clock::now().time_since_epoch());
  if (are_calls_ended())
    for (grpc::ClientContext* const context : under_way_) context->TryCancel();
}

void Members::Connect(Member& member, milliseconds timeout) {
  const auto end = Clock::now() + timeout;
  bool has_tried = false;
  for (auto state = member.channel->GetState(true); state != GRPC_CHANNEL_READY;
       state = member.channel->GetState(true)) {
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE && has_tried) return;
    has_tried = has_tried || state != GRPC_CHANNEL_TRANSIENT_FAILURE;
    while (!member.channel->WaitForStateChange(state, After(kConnectSlice)))
      if (Clock::now() >= end || are_calls_ended()) return;
  }
}

absl::StatusOr<std::unique_ptr<Members>> Members::Make(ClientOptions options) {
  if (options.endpoints.empty()) return InvalidArgument("etcd: no endpoints");
  auto credentials = CredentialsOf(options);
  if (!credentials.ok()) return credentials.status();
  std::unique_ptr<Members> members(new Members(std::move(options)));
  for (const std::string& endpoint : members->options_.endpoints)
    members->members_.push_back(MakeMember(endpoint, *credentials));
  return members;
}

absl::Status Members::Call(CallKind kind, const Rpc& rpc) {
  const AttemptClock clock{[] { return Clock::now().time_since_epoch(); },
                           [](milliseconds time) { std::this_thread::sleep_for(time); }};
  return CallMembers(
      members_.size(), preferred_, options_, limit_, clock, kind,
      [&](size_t member, milliseconds timeout) { return TryAt(members_[member], rpc, timeout); });
}

absl::Status Members::TryAt(Member& member, const Rpc& rpc, milliseconds timeout) {
  absl::Status status;
  for (int i = 0; i < 2; ++i) {
    const Clock::time_point end = Clock::now() + timeout;
    const auto left = [end] {
      return std::chrono::duration_cast<milliseconds>(end - Clock::now());
    };
    Connect(member, timeout);
    grpc::ClientContext context;
    SetTimeout(context, left());
    FABRICD_RETURN_IF_ERROR(Prepare(member, context, left()));
    const UnderWay under_way(*this, context);
    const grpc::Status answer = rpc(member, context);
    status = StatusOf(member, answer);
    // A second time with a new token.
    if (!IsTokenRefused(answer) || options_.user.empty()) break;
  }
  return status;
}

absl::Status Members::Prepare(Member& member, grpc::ClientContext& context, milliseconds timeout) {
  context.AddMetadata("hasleader", "true");
  if (options_.user.empty()) return absl::OkStatus();
  auto token = Token(member, timeout);
  if (!token.ok()) return token.status();
  if (!token->empty()) context.AddMetadata("token", *token);
  return absl::OkStatus();
}

absl::Status Members::StatusOf(const Member& member, const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  if (IsTokenRefused(status)) DropToken();
  const auto code = IsUnanswered(status) ? absl::StatusCode::kUnavailable
                                         : static_cast<absl::StatusCode>(status.error_code());
  return MakeStatus(code, "etcd at {}: {}", member.endpoint, status.error_message());
}

absl::StatusOr<std::string> Members::Token(Member& member, milliseconds timeout) {
  {
    MutexLock lock(mutex_);
    if (!token_.empty()) return token_;
  }
  pb::AuthenticateRequest request;
  request.set_name(options_.user);
  request.set_password(options_.password);
  pb::AuthenticateResponse response;
  grpc::ClientContext context;
  SetTimeout(context, timeout);
  const UnderWay under_way(*this, context);
  const grpc::Status status = member.auth->Authenticate(&context, request, &response);
  // Until an operator enables authentication no token is needed.
  if (Contains(status, "authentication is not enabled")) return std::string();
  if (!status.ok()) return StatusOf(member, status);
  MutexLock lock(mutex_);
  return token_ = response.token();
}

void Members::DropToken() {
  MutexLock lock(mutex_);
  token_.clear();
}

}  // namespace fabricd::store::etcd
