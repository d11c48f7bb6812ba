// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/services/partition_service.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "common/number_text.h"
#include "common/status.h"
#include "common/utf8.h"
#include "daemon/record/event_log.h"
#include "daemon/rpc/convert/fingerprint.h"
#include "daemon/rpc/convert/pages.h"
#include "daemon/rpc/security/caller.h"
#include "policy/partitions_diff.h"
#include "policy/partitions_text.h"

namespace fabricd::rpc {
namespace {

using policy::PartitionRequest;
using Verb = PartitionRequest::Verb;

// Of the faults of a file that a refusal carries: clients take 8 KiB of a call's trailers.
constexpr size_t kFaultsTold = 10;
constexpr size_t kFaultBytes = 160;
constexpr size_t kExportPiece = 256 * 1024;

std::string EtagOf(const policy::PartitionState& state) { return std::to_string(state.revision); }

absl::StatusOr<std::optional<uint64_t>> ReadEtag(const std::string& etag) {
  if (etag.empty()) return std::nullopt;
  const auto revision = ParseNumber<uint64_t>(etag);
  if (!revision) return BadField("etag", "is not one of ours");
  return revision;
}

// What the core says to a request, as the API says it.
absl::Status PartitionError(const absl::Status& status, uint16_t number) {
  const std::string message = Message(status);
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
      return NoSuch("partition", fmt::format("{:#06x}", number), message);
    case absl::StatusCode::kAlreadyExists: return WithReason(status, "PARTITION_EXISTS");
    case absl::StatusCode::kAborted: return WithReason(status, "ETAG_MISMATCH");
    case absl::StatusCode::kFailedPrecondition: return WithReason(status, "NOT_MASTER");
    case absl::StatusCode::kResourceExhausted: return WithReason(status, "TOO_MANY_REQUESTS");
    case absl::StatusCode::kUnavailable:
      return TryLater("CORE_BUSY", message, std::chrono::seconds(1));
    case absl::StatusCode::kInvalidArgument:
      if (message.starts_with(policy::kRequestIdReused))
        return BadField("request_id", message, "REQUEST_ID_REUSED");
      return WithReason(status, "INVALID_PARTITION");
    default: return WithReason(status, "PARTITIONS_FAILED");
  }
}

// The reason of what cannot be done with a file. The first faults are told, all of them counted.
absl::Status Faulty(const std::vector<policy::LineNote>& faults) {
  std::vector<std::pair<std::string, std::string>> violations;
  for (size_t i = 0; i < std::min(faults.size(), kFaultsTold); ++i)
    violations.emplace_back(fmt::format("text:{}", faults[i].line),
                            Utf8(faults[i].text.substr(0, kFaultBytes)));
  const std::string first =
      fmt::format("line {}: {}", faults.front().line, violations.front().second);
  const std::string rest =
      faults.size() > 1 ? fmt::format(" (and {} more faults)", faults.size() - 1) : "";
  return BadFields(violations, first + rest, "PARTITIONS_FAULTY",
                   {{"faults", std::to_string(faults.size())}});
}

void FillNotes(const std::vector<policy::LineNote>& notes,
               google::protobuf::RepeatedPtrField<pb::LineNote>* out) {
  for (const policy::LineNote& note : notes) {
    pb::LineNote* added = out->Add();
    added->set_line(static_cast<uint32_t>(note.line));
    added->set_text(Utf8(note.text));
  }
}

using Requested = absl::StatusOr<PartitionRequest>;

// A request about a partition. The core says whether it is there: a request that was done before is
// answered again.
Requested About(const query::ReadModel& model, Verb verb, const std::string& partition) {
  PartitionRequest request;
  request.verb = verb;
  const auto number = NumberOf(model.view->partitions->partitions, partition);
  if (!number.ok()) return number.status();
  request.partition.number = *number;
  return request;
}

Requested ReadCreate(const query::ReadModel& model, const pb::CreatePartitionRequest& from) {
  PartitionRequest request;
  request.verb = Verb::kCreate;
  auto partition = ReadPartition(model, from.partition());
  if (!partition.ok()) return partition.status();
  request.partition = *std::move(partition);
  return request;
}

Requested ReadUpdate(const query::ReadModel& model, const pb::UpdatePartitionRequest& from) {
  static const std::pair<const char*, PartitionRequest::Field> kFields[] = {
      {"name", PartitionRequest::kName},
      {"index0", PartitionRequest::kIndex0},
      {"ipoib", PartitionRequest::kIpoib},
      {"groups", PartitionRequest::kGroups},
      {"members", PartitionRequest::kMembers}};
  Requested request = About(model, Verb::kUpdate, from.partition());
  if (!request.ok()) return request;
  for (const std::string& path : from.update_mask().paths()) {
    const auto* field = std::find_if(std::begin(kFields), std::end(kFields),
                                     [&](const auto& each) { return path == each.first; });
    if (field == std::end(kFields))
      return BadField("update_mask", fmt::format("\"{}\" is no field that can change", path));
    request->fields |= field->second;
  }
  if (request->fields == 0) return BadField("update_mask", "is required");
  auto values = ReadPartition(model, from.values());
  if (!values.ok()) return values.status();
  values->number = request->partition.number;
  request->partition = *std::move(values);
  return request;
}

Requested ReadAdd(const query::ReadModel& model, const pb::AddMembersRequest& from) {
  Requested request = About(model, Verb::kAddMembers, from.partition());
  if (!request.ok()) return request;
  auto members = ReadMembers(model, from.members());
  if (!members.ok()) return members.status();
  request->partition.members = *std::move(members);
  return request;
}

Requested ReadRemove(const query::ReadModel& model, const pb::RemoveMembersRequest& from) {
  Requested request = About(model, Verb::kRemoveMembers, from.partition());
  if (!request.ok()) return request;
  auto members = ResolveSubjects(model, from.subjects());
  if (!members.ok()) return members.status();
  request->partition.members = *std::move(members);
  return request;
}

}  // namespace

// ---- reads

grpc::ServerUnaryReactor* PartitionService::ListPartitions(Context* context,
                                                           const pb::ListPartitionsRequest* request,
                                                           pb::ListPartitionsResponse* response) {
  return Answer(context, [&]() -> absl::Status {
    auto page = Page::Open(models_, *request);
    if (!page.ok()) return page.status();
    const query::ReadModel& model = page->model();
    const policy::PartitionState& state = *model.view->partitions;
    std::vector<const policy::Partition*> wanted;
    for (const std::string& text : request->partitions()) {
      const auto found = FindPartition(state.partitions, text);
      if (!found.ok()) return found.status();
      wanted.push_back(*found);
    }
    const KeyHolders holders(model);
    for (const policy::Partition& partition : state.partitions.list) {
      if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), &partition) == wanted.end())
        continue;
      if (page->Take())
        ToProto(holders, model, partition, request->view(), response->add_partitions());
    }
    page->Close(models_, response);
    response->set_in_effect(model.view->partitions_in_effect);
    response->set_etag(EtagOf(state));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* PartitionService::GetPartition(Context* context,
                                                         const pb::GetPartitionRequest* request,
                                                         pb::GetPartitionResponse* response) {
  return Answer(context, [&]() -> absl::Status {
    const auto model = models_.Ready();
    if (!model.ok()) return model.status();
    const policy::PartitionState& state = *(*model)->view->partitions;
    const auto found = FindPartition(state.partitions, request->partition());
    if (!found.ok()) return found.status();
    ToProto(KeyHolders(**model), **model, **found, pb::PARTITION_VIEW_FULL,
            response->mutable_partition());
    response->set_in_effect((*model)->view->partitions_in_effect);
    response->set_etag(EtagOf(state));
    return absl::OkStatus();
  });
}

grpc::ServerWriteReactor<pb::ExportPartitionsResponse>* PartitionService::ExportPartitions(
    Context* context, const pb::ExportPartitionsRequest*) {
  using Response = pb::ExportPartitionsResponse;
  return StreamReactor<Response>::Start(
      context, worker_, [this]() -> absl::StatusOr<NextPiece<Response>> {
        const auto state = backend_.view()->partitions;
        return [text = policy::FormatPartitions(state->partitions), etag = EtagOf(*state),
                at = size_t{0}](Response* piece) mutable -> absl::StatusOr<bool> {
          if (at >= text.size()) return false;
          if (at == 0) piece->set_etag(etag);
          piece->set_text(text.substr(at, kExportPiece));
          at += kExportPiece;
          return true;
        };
      });
}

// ---- requests

template <typename Response>
void PartitionService::OnWorker(const Call<Response>& call, std::function<void()> job) {
  // Of a request it is done or not; only the answer is lost.
  if (!worker_.Post(std::move(job)))
    call->Fail(TryLater("SERVER_BUSY", "too many answers wait", std::chrono::seconds(1)));
}

template <typename Response>
absl::Status PartitionService::Fill(const policy::PartitionOutcome& outcome, Response* response) {
  const policy::PartitionState& after = *outcome.after;
  for (const std::string& line :
       policy::DiffPartitions(outcome.before->partitions, after.partitions))
    response->add_changes(Utf8(line));
  response->set_existing(outcome.existing);
  response->set_etag(EtagOf(after));
  response->set_resource_version(backend_.events().version());
  if constexpr (requires { response->mutable_partition(); }) {
    const auto model = models_.Current();
    if (const policy::Partition* partition = after.partitions.Find(outcome.number))
      ToProto(KeyHolders(*model), *model, *partition, pb::PARTITION_VIEW_BASIC,
              response->mutable_partition());
  }
  return absl::OkStatus();
}

template <typename Response>
void PartitionService::Post(sweep::ChangePartitions command, const Call<Response>& call) {
  const uint16_t number = command.request.partition.number;
  const absl::Status unread = command.request.unread;
  const auto done = [this, call, number, unread](
                        const absl::Status& status,
                        std::shared_ptr<const policy::PartitionOutcome> outcome) {
    OnWorker<Response>(call, [this, call, number, unread, status, outcome] {
      call->Answer([&](Response* response) {
        if (status.ok()) return Fill(*outcome, response);
        return status == unread ? unread : PartitionError(status, number);
      });
    });
  };
  backend_.PostPartitions(std::move(command), done);
}

template <typename Request, typename Response, typename Read>
PartitionService::Unary* PartitionService::Change(Context* context, const Request& request,
                                                  Response* response, Read&& read) {
  const auto call = std::make_shared<LaterCall<Response>>(response);
  auto* reactor = call->Start(call);
  const auto model = models_.Ready();
  Requested change = model.ok() ? read(**model, request) : model.status();
  if constexpr (requires { request.etag(); }) {
    const auto revision = ReadEtag(request.etag());
    if (!revision.ok()) change = revision.status();
    if (change.ok()) change->revision = *revision;
  }
  // A request that comes again is answered although what it named is gone meanwhile.
  if (!change.ok() && model.ok() && !request.request_id().empty()) {
    PartitionRequest only_again;
    only_again.unread = change.status();
    change = std::move(only_again);
  }
  if (!change.ok()) {
    call->Fail(change.status());
    return reactor;
  }
  change->request_id = request.request_id();
  change->fingerprint = FingerprintOf(request);
  Post<Response>({0, *std::move(change), request.validate_only(), false, CallerOf(*context).name},
                 call);
  return reactor;
}

PartitionService::Unary* PartitionService::CreatePartition(
    Context* context, const pb::CreatePartitionRequest* request,
    pb::CreatePartitionResponse* response) {
  return Change(context, *request, response, ReadCreate);
}

PartitionService::Unary* PartitionService::UpdatePartition(
    Context* context, const pb::UpdatePartitionRequest* request,
    pb::UpdatePartitionResponse* response) {
  return Change(context, *request, response, ReadUpdate);
}

PartitionService::Unary* PartitionService::DeletePartition(
    Context* context, const pb::DeletePartitionRequest* request,
    pb::DeletePartitionResponse* response) {
  return Change(context, *request, response,
                [](const query::ReadModel& model, const pb::DeletePartitionRequest& from) {
                  return About(model, Verb::kDelete, from.partition());
                });
}

PartitionService::Unary* PartitionService::AddMembers(Context* context,
                                                      const pb::AddMembersRequest* request,
                                                      pb::AddMembersResponse* response) {
  return Change(context, *request, response, ReadAdd);
}

PartitionService::Unary* PartitionService::RemoveMembers(Context* context,
                                                         const pb::RemoveMembersRequest* request,
                                                         pb::RemoveMembersResponse* response) {
  return Change(context, *request, response, ReadRemove);
}

PartitionService::Unary* PartitionService::ApplyPartitions(
    Context* context, const pb::ApplyPartitionsRequest* request,
    pb::ApplyPartitionsResponse* response) {
  const auto call = std::make_shared<LaterCall<pb::ApplyPartitionsResponse>>(response);
  auto* reactor = call->Start(call);
  // The request goes with the call, which may end before the worker comes to it.
  OnWorker(call, [this, call, from = *request, by = CallerOf(*context).name] {
    ApplyText(from, by, call);
  });
  return reactor;
}

void PartitionService::ApplyText(const pb::ApplyPartitionsRequest& from, const std::string& by,
                                 const Call<pb::ApplyPartitionsResponse>& call) {
  const auto model = models_.Ready();
  const auto revision = ReadEtag(from.etag());
  if (!model.ok()) return call->Fail(model.status());
  if (!revision.ok()) return call->Fail(revision.status());
  if (from.text().size() > policy::kMaxPartitionsText)
    return call->Fail(BadField("text", "is longer than 32 MiB"));
  policy::ParsedPartitions parsed = policy::ParsePartitions(from.text());
  if (!parsed.ok() && !from.validate_only()) return call->Fail(Faulty(parsed.faults));
  call->Note([&](pb::ApplyPartitionsResponse* response) {
    FillNotes(parsed.notes, response->mutable_notes());
    FillNotes(parsed.faults, response->mutable_faults());
  });
  if (!parsed.ok()) {
    return call->Answer([&](pb::ApplyPartitionsResponse* response) {
      response->set_etag(EtagOf(*(*model)->view->partitions));
      return absl::OkStatus();
    });
  }
  PartitionRequest request;
  request.all = std::move(parsed.partitions);
  request.request_id = from.request_id();
  request.fingerprint = FingerprintOf(from);
  request.revision = *revision;
  Post<pb::ApplyPartitionsResponse>({0, std::move(request), from.validate_only(), false, by}, call);
}

}  // namespace fabricd::rpc
