// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <utility>

#include "common/status.h"
#include "common/utf8.h"
#include "config/load.h"
#include "config/opensm_import.h"
#include "config/settings.h"
#include "daemon/base/config_keeper.h"
#include "daemon/record/audit_log.h"
#include "daemon/rpc/convert/pages.h"
#include "daemon/rpc/security/caller.h"
#include "daemon/rpc/services/admin_service.h"
#include "query/times.h"

namespace fabricd::rpc {
namespace {

namespace pb = ::fabric::v1;
using daemon::ConfigKeeper;
using google::protobuf::RepeatedPtrField;

// Of a text that is sent along.
constexpr size_t kMaxText = 1 << 20;
// Of the faults that a refusal carries: clients take 8 KiB of a call's trailers.
constexpr size_t kFaultsTold = 10, kFaultBytes = 200, kMessageBytes = 2048;

pb::ReloadClass EnumOf(config::ReloadClass reload) {
  switch (reload) {
    case config::ReloadClass::kLive: return pb::RELOAD_CLASS_LIVE;
    case config::ReloadClass::kResweep: return pb::RELOAD_CLASS_RESWEEP;
    case config::ReloadClass::kRestart: return pb::RELOAD_CLASS_RESTART;
  }
  return pb::RELOAD_CLASS_UNSPECIFIED;
}

void Fill(const std::vector<config::Change>& changes, RepeatedPtrField<pb::ConfigChange>* out) {
  for (const config::Change& change : changes) {
    pb::ConfigChange* added = out->Add();
    added->set_path(change.path);
    added->set_before(Utf8(change.from));
    added->set_after(Utf8(change.to));
    added->set_reload_class(EnumOf(change.reload));
  }
}

absl::Status TooLarge(const char* field, size_t bytes) {
  return BadField(field, fmt::format("{} bytes, at most {}", bytes, kMaxText), "TEXT_TOO_LARGE");
}

absl::Status ReloadError(const absl::Status& status, const std::vector<config::Fault>& faults) {
  switch (status.code()) {
    case absl::StatusCode::kFailedPrecondition: return WithReason(status, "NO_CONFIG_FILE");
    case absl::StatusCode::kUnavailable:
      return TryLater("CORE_BUSY", Message(status), std::chrono::seconds(1));
    case absl::StatusCode::kNotFound: return WithReason(status, "FILE_NOT_FOUND");
    default: break;
  }
  std::vector<std::pair<std::string, std::string>> violations;
  for (size_t i = 0; i < std::min(faults.size(), kFaultsTold); ++i) {
    const std::string place = faults[i].path.empty() ? "file" : faults[i].path;
    violations.emplace_back(
        faults[i].line > 0 ? fmt::format("{}:{}", place, faults[i].line) : place,
        Utf8(faults[i].message.substr(0, kFaultBytes)));
  }
  // A file behind a key has its faults in the message alone.
  if (violations.empty()) violations.emplace_back("file", Utf8(Message(status)));
  return BadFields(violations, Utf8(Message(status).substr(0, kMessageBytes)), "CONFIG_FAULTY",
                   {{"faults", std::to_string(violations.size())}});
}

pb::ImportVerdict EnumOf(config::Verdict verdict) {
  switch (verdict) {
    case config::Verdict::kTaken: return pb::IMPORT_VERDICT_TAKEN;
    case config::Verdict::kTranslated: return pb::IMPORT_VERDICT_TRANSLATED;
    case config::Verdict::kImplied: return pb::IMPORT_VERDICT_IMPLIED;
    case config::Verdict::kDropped: return pb::IMPORT_VERDICT_DROPPED;
    case config::Verdict::kNotUnderstood: return pb::IMPORT_VERDICT_NOT_UNDERSTOOD;
  }
  return pb::IMPORT_VERDICT_UNSPECIFIED;
}

void Fill(const store::AuditRecord& record, pb::AuditRecord* out) {
  out->set_number(record.number);
  *out->mutable_time() = query::ToTimestamp(record.time_ms);
  out->set_caller(Utf8(record.caller));
  out->set_role(record.role);
  out->set_method(record.method);
  out->set_request(Utf8(record.request));
  out->set_reason(Utf8(record.reason));
  out->set_code(record.code);
  out->set_message(Utf8(record.message));
  out->set_node(Utf8(record.node));
}

}  // namespace

grpc::ServerUnaryReactor* AdminService::GetConfig(grpc::CallbackServerContext* context,
                                                  const pb::GetConfigRequest*,
                                                  pb::GetConfigResponse* response) {
  return Answer(context, [&]() -> absl::Status {
    const ConfigKeeper& keeper = backend_.configuration();
    const auto now = keeper.in_force(), accepted = keeper.accepted();
    response->set_yaml(config::ToYaml(*now, config::Secrets::kMask));
    response->set_file(Utf8(keeper.file()));
    const auto values = config::Settings(*now), defaults = config::Settings(config::Config{});
    for (size_t i = 0; i < values.size(); ++i) {
      pb::ConfigSetting* setting = response->add_settings();
      setting->set_path(values[i].path);
      setting->set_value(Utf8(values[i].value));
      setting->set_default_value(defaults[i].value);
      setting->set_reload_class(EnumOf(values[i].reload));
    }
    for (const config::Change& change : config::Diff(*now, *accepted))
      for (pb::ConfigSetting& setting : *response->mutable_settings())
        if (setting.path() == change.path) setting.set_waiting(Utf8(change.to));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* AdminService::ReloadConfig(grpc::CallbackServerContext* context,
                                                     const pb::ReloadConfigRequest* request,
                                                     pb::ReloadConfigResponse* response) {
  const auto call = std::make_shared<LaterCall<pb::ReloadConfigResponse>>(response);
  auto* reactor = call->Start(call);
  const auto how =
      request->validate_only() ? ConfigKeeper::How::kDryRun : ConfigKeeper::How::kAsNeeded;
  // Files are read: not on a thread of gRPC.
  const bool taken = answers_.Post([this, call, how, by = CallerOf(*context).id] {
    std::vector<config::Fault> faults;
    const auto report = backend_.configuration().Reload(how, by, &faults);
    call->Answer([&](pb::ReloadConfigResponse* out) {
      if (!report.ok()) return ReloadError(report.status(), faults);
      Fill(report->changes, out->mutable_changes());
      Fill(report->waiting, out->mutable_waiting());
      out->set_sweep_started(report->swept && how != ConfigKeeper::How::kDryRun);
      return absl::OkStatus();
    });
  });
  if (!taken) call->Fail(TryLater("SERVER_BUSY", "too many answers wait", std::chrono::seconds(1)));
  return reactor;
}

grpc::ServerUnaryReactor* AdminService::ValidateConfig(grpc::CallbackServerContext* context,
                                                       const pb::ValidateConfigRequest* request,
                                                       pb::ValidateConfigResponse* response) {
  return Answer(context, [&]() -> absl::Status {
    if (request->yaml().size() > kMaxText) return TooLarge("yaml", request->yaml().size());
    std::vector<config::Fault> faults;
    const auto wanted = config::LoadYaml(request->yaml(), "yaml", &faults);
    for (const config::Fault& fault : faults) {
      pb::ConfigFault* added = response->add_faults();
      added->set_path(Utf8(fault.path));
      added->set_line(static_cast<uint32_t>(fault.line));
      added->set_message(Utf8(fault.message));
    }
    if (wanted.ok())
      Fill(config::Diff(*backend_.configuration().in_force(), *wanted),
           response->mutable_changes());
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* AdminService::ImportOpensm(grpc::CallbackServerContext* context,
                                                     const pb::ImportOpensmRequest* request,
                                                     pb::ImportOpensmResponse* response) {
  return Answer(context, [&]() -> absl::Status {
    size_t bytes = request->conf().size();
    config::OpensmFiles files;
    files.conf = request->conf();
    for (const auto& [name, text] : request->files()) {
      bytes += text.size();
      files.files[name] = text;
    }
    if (bytes > kMaxText) return TooLarge("conf", bytes);
    if (!request->directory().empty()) files.directory = request->directory();
    if (!files.directory.starts_with('/'))
      return BadField("directory", "expected an absolute path");
    const config::OpensmImport import = config::ImportOpensm(files);
    response->set_yaml(Utf8(import.yaml));
    for (const config::ImportedLine& line : import.lines) {
      pb::ImportLine* added = response->add_lines();
      added->set_line(static_cast<uint32_t>(line.line));
      added->set_file(Utf8(line.file));
      added->set_key(Utf8(line.key));
      added->set_value(Utf8(line.value));
      added->set_verdict(EnumOf(line.verdict));
      added->set_message(Utf8(line.message));
    }
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* AdminService::ListAuditRecords(grpc::CallbackServerContext*,
                                                         const pb::ListAuditRecordsRequest* request,
                                                         pb::ListAuditRecordsResponse* response) {
  const auto call = std::make_shared<LaterCall<pb::ListAuditRecordsResponse>>(response);
  auto* reactor = call->Start(call);
  store::AuditQuery query;
  query.before = request->before();
  if (request->has_since()) {
    const auto since = query::ToMilliseconds("since", request->since());
    if (!since.ok()) {
      call->Fail(since.status());
      return reactor;
    }
    query.since_ms = *since;
  }
  query.caller = request->caller();
  query.method = request->method();
  const size_t limit =
      request->limit() == 0 ? kDefaultPageSize : std::min(request->limit(), kMaxPageSize);
  query.limit = limit + 1;
  backend_.audit().List(
      std::move(query), [call, limit](absl::StatusOr<std::vector<store::AuditRecord>> records) {
        call->Answer([&](pb::ListAuditRecordsResponse* out) -> absl::Status {
          if (!records.ok())
            return TryLater("STORE_BUSY", Message(records.status()), std::chrono::seconds(1));
          const size_t excess = records->size() > limit ? records->size() - limit : 0;
          for (size_t i = excess; i < records->size(); ++i) Fill((*records)[i], out->add_records());
          out->set_more(excess > 0);
          return absl::OkStatus();
        });
      });
  return reactor;
}

grpc::ServerUnaryReactor* AdminService::GetCaller(grpc::CallbackServerContext* context,
                                                  const pb::GetCallerRequest*,
                                                  pb::GetCallerResponse* response) {
  return Answer(context, [&]() -> absl::Status {
    const Caller caller = CallerOf(*context);
    response->set_caller(Utf8(caller.id));
    for (const std::string& principal : caller.principals)
      response->add_principals(Utf8(principal));
    response->set_role(RoleName(access_.RoleOf(caller)));
    return absl::OkStatus();
  });
}

}  // namespace fabricd::rpc
