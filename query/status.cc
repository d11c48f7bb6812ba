// SPDX-License-Identifier: Apache-2.0
#include "query/status.h"

#include <google/protobuf/util/time_util.h>

#include "common/status.h"
#include "common/utf8.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace fabricd::query {
namespace {

constexpr char kTypePrefix[] = "type.googleapis.com/";

// gRPC's clients take 8 KiB of metadata. The message is in it twice, percent-encoded and with the
// details in base64; what it tells of a request may be as long as that, and of any bytes.
constexpr size_t kMostMessage = 1900;     // Bytes once percent-encoded.
constexpr size_t kMostViolations = 1900;  // Bytes of all together.
constexpr size_t kMostDescription = 700, kMostName = 300;

std::string Cut(const std::string& text, size_t most) {
  return text.size() <= most ? Utf8(text) : Utf8(text.substr(0, most)) + "…";
}

std::string Told(const std::string& message) {
  size_t end = 0;
  for (size_t encoded = 0; end < message.size() && encoded < kMostMessage; ++end)
    encoded += message[end] < ' ' || message[end] > '~' || message[end] == '%' ? 3 : 1;
  return Cut(message, end);
}

std::string TypeUrl(const google::protobuf::Message& message) {
  return kTypePrefix + message.GetDescriptor()->full_name();
}

void Attach(absl::Status& status, const google::protobuf::Message& detail) {
  status.SetPayload(TypeUrl(detail), absl::Cord(detail.SerializeAsString()));
}

void AttachErrorInfo(absl::Status& status, const std::string& reason,
                     const std::map<std::string, std::string>& metadata) {
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  info.set_domain(kErrorDomain);
  for (const auto& [key, value] : metadata) (*info.mutable_metadata())[key] = Cut(value, kMostName);
  Attach(status, info);
}

bool HasErrorInfo(const absl::Status& status) {
  return status.GetPayload(TypeUrl(google::rpc::ErrorInfo::default_instance())).has_value();
}

std::string UpperCase(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

}  // namespace

absl::Status MakeError(absl::StatusCode code, const std::string& reason, const std::string& message,
                       const std::map<std::string, std::string>& metadata) {
  absl::Status status(code, message);
  AttachErrorInfo(status, reason, metadata);
  return status;
}

absl::Status BadField(const std::string& field, const std::string& message,
                      const std::string& reason) {
  return BadFields({{field, message}}, fmt::format("{}: {}", field, message), reason,
                   {{"field", field}});
}

absl::Status BadFields(const std::vector<std::pair<std::string, std::string>>& violations,
                       const std::string& message, const std::string& reason,
                       const std::map<std::string, std::string>& metadata) {
  absl::Status status = MakeError(absl::StatusCode::kInvalidArgument, reason, message, metadata);
  google::rpc::BadRequest details;
  for (const auto& [field, description] : violations) {
    auto* violation = details.add_field_violations();
    violation->set_field(Cut(field, kMostName));
    violation->set_description(Cut(description, kMostDescription));
    if (details.ByteSizeLong() < kMostViolations) continue;
    if (details.field_violations_size() > 1) details.mutable_field_violations()->RemoveLast();
    break;
  }
  Attach(status, details);
  return status;
}

absl::Status NoSuch(const std::string& type, const std::string& name, const std::string& message) {
  if (name.empty()) return BadField(type, "is required");
  const std::string text = message.empty() ? fmt::format("no {} \"{}\"", type, name) : message;
  absl::Status status =
      MakeError(absl::StatusCode::kNotFound, UpperCase(type) + "_NOT_FOUND", text, {{type, name}});
  google::rpc::ResourceInfo details;
  details.set_resource_type(type);
  details.set_resource_name(Cut(name, kMostName));
  details.set_description(Cut(text, kMostDescription));
  Attach(status, details);
  return status;
}

absl::Status OverQuota(const std::string& subject, const std::string& message,
                       const std::string& reason,
                       const std::map<std::string, std::string>& metadata) {
  absl::Status status = MakeError(absl::StatusCode::kResourceExhausted, reason, message, metadata);
  google::rpc::QuotaFailure details;
  auto* violation = details.add_violations();
  violation->set_subject(Cut(subject, kMostName));
  violation->set_description(Cut(message, kMostDescription));
  Attach(status, details);
  return status;
}

absl::Status GuardRefusal(const std::string& message) {
  constexpr std::string_view kGuard = "guard \"";
  const size_t end = message.find('"', kGuard.size());
  if (message.rfind(kGuard, 0) != 0 || end == std::string::npos)
    return MakeError(absl::StatusCode::kFailedPrecondition, "NOT_MASTER", message);
  const std::string guard = message.substr(kGuard.size(), end - kGuard.size());
  absl::Status status = MakeError(absl::StatusCode::kFailedPrecondition, "GUARD_REFUSED", message,
                                  {{"guard", guard}});
  google::rpc::PreconditionFailure details;
  auto* violation = details.add_violations();
  violation->set_type("GUARD");
  violation->set_subject(Cut(guard, kMostName));
  violation->set_description(Cut(message, kMostDescription));
  Attach(status, details);
  return status;
}

absl::Status TryLater(const std::string& reason, const std::string& message,
                      std::chrono::milliseconds delay) {
  absl::Status status = MakeError(absl::StatusCode::kUnavailable, reason, message);
  google::rpc::RetryInfo details;
  *details.mutable_retry_delay() =
      google::protobuf::util::TimeUtil::MillisecondsToDuration(delay.count());
  Attach(status, details);
  return status;
}

absl::Status WithReason(absl::Status status, const std::string& reason) {
  if (!status.ok() && !HasErrorInfo(status)) AttachErrorInfo(status, reason, {});
  return status;
}

google::rpc::Status ToRpcStatus(const absl::Status& status) {
  const absl::Status full = WithReason(status, absl::StatusCodeToString(status.code()));
  google::rpc::Status message;
  message.set_code(static_cast<int>(full.code()));
  message.set_message(Told(Message(full)));
  const std::string error_info = TypeUrl(google::rpc::ErrorInfo::default_instance());
  full.ForEachPayload([&](absl::string_view type, const absl::Cord& payload) {
    auto* any = message.add_details();
    any->set_type_url(std::string(type.data(), type.size()));
    any->set_value(std::string(payload));
    const int last = message.details_size() - 1;
    if (any->type_url() == error_info && last > 0) message.mutable_details()->SwapElements(0, last);
  });
  return message;
}

}  // namespace fabricd::query
