// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/services/subnet_admin_service.h"

#include <algorithm>
#include <string>
#include <vector>

#include "daemon/base/wall_clock.h"
#include "daemon/rpc/convert/convert_multicast.h"
#include "mad/wire/sa_components.h"
#include "mad/wire/sa_path_records.h"
#include "sa/answer.h"
#include "sa/paths/path_query.h"
#include "sa/records/record_text.h"

namespace fabricd::rpc {
namespace {

// Of one piece of a stream. A group may have a member for each port of the fabric.
constexpr size_t kRecordsPerPiece = 500, kGroupsPerPiece = 1;

using daemon::SaReads;

absl::StatusOr<SaReads> Read(daemon::Backend& backend) {
  SaReads reads = backend.sa();
  if (reads.view != nullptr && reads.clients != nullptr) return reads;
  return TryLater("NOT_READY", "Subnet Administration has nothing to answer from yet",
                  std::chrono::seconds(1));
}

// The same of what clients have left. A node that waits beside the master shows what that one has
// stored; it has no view.
absl::StatusOr<SaReads> ReadClients(daemon::Backend& backend) {
  if (!backend.other_master()) return Read(backend);
  SaReads reads = backend.sa();
  reads.view = nullptr;
  return reads;
}

// Which piece of a list is next.
template <typename Response, typename List, typename Fill>
NextPiece<Response> Pieces(std::shared_ptr<const List> list, size_t per_piece, Fill fill) {
  return [list, per_piece, fill, at = size_t{0}](Response* piece) mutable -> absl::StatusOr<bool> {
    if (at >= list->size()) return false;
    const size_t end = std::min(list->size(), at + per_piece);
    for (; at < end; ++at) fill((*list)[at], piece);
    return true;
  };
}

// ---- records

// The request that a trusted client would send.
std::vector<uint8_t> RequestFor(wire::SaAttribute type, const wire::PathRecord& path, uint64_t mask,
                                SmKey key) {
  std::vector<uint8_t> request(wire::kMadBytes);
  wire::SaHeader header;
  header.mad.management_class = wire::ManagementClass::kSubnAdm;
  header.mad.class_version = wire::kSaClassVersion;
  header.mad.method = wire::Method::kGetTable;
  header.mad.attribute = static_cast<wire::AttributeId>(type);
  header.sm_key = key;
  header.component_mask = mask;
  header.Encode(std::span<uint8_t, wire::kMadBytes>(request.data(), wire::kMadBytes));
  if (type == wire::SaAttribute::kPathRecord)
    path.Encode(std::span<uint8_t, wire::PathRecord::kBytes>(request.data() + wire::kSaDataAt,
                                                             wire::PathRecord::kBytes));
  return request;
}

constexpr uint64_t Bit(sa::PathComponent component) {
  return uint64_t{1} << static_cast<unsigned>(component);
}

// The ends of the paths that are wanted.
absl::StatusOr<uint64_t> ReadEnds(const query::ReadModel& model,
                                  const pb::ListRecordsRequest& request, wire::PathRecord& path) {
  uint64_t mask = Bit(sa::PathComponent::kNumbPath);
  path.numb_path = sa::PathQuery::kMostPaths;
  if (!request.source().empty()) {
    const auto end = model.FindEnd(request.source());
    if (!end.ok()) return end.status();
    path.slid = end->lid;
    mask |= Bit(sa::PathComponent::kSlid);
  }
  if (!request.destination().empty()) {
    const auto end = model.FindEnd(request.destination());
    if (!end.ok()) return end.status();
    path.dlid = end->lid;
    mask |= Bit(sa::PathComponent::kDlid);
  }
  if (request.source().empty() && request.destination().empty())
    return BadField("source", "paths need a source or a destination");
  return mask;
}

// A component, by its place, and what it has to be.
using Filters = std::vector<std::pair<size_t, std::string>>;

absl::StatusOr<Filters> ReadFilters(wire::SaAttribute type, const pb::ListRecordsRequest& request) {
  Filters filters;
  for (const pb::RecordField& filter : request.filters()) {
    const auto place = sa::FindField(type, filter.name());
    if (!place) {
      std::vector<std::string> names;
      for (auto& [name, value] :
           sa::FieldsOf(type, std::vector<uint8_t>(wire::LayoutOf(type)->bytes)))
        names.push_back(std::move(name));
      return BadField("filters",
                      fmt::format("\"{}\" is none of {}", filter.name(), fmt::join(names, ", ")));
    }
    filters.emplace_back(*place, filter.value());
  }
  return filters;
}

void AddRecord(wire::SaAttribute type, std::span<const uint8_t> bytes, const Filters& filters,
               pb::ListRecordsResponse* piece) {
  auto fields = sa::FieldsOf(type, bytes);
  for (const auto& [place, wanted] : filters)
    if (!sa::MeansTheSame(fields[place].second, wanted)) return;
  pb::Record* record = piece->add_records();
  for (auto& [name, value] : fields) {
    pb::RecordField* field = record->add_fields();
    field->set_name(std::move(name));
    field->set_value(std::move(value));
  }
}

absl::StatusOr<NextPiece<pb::ListRecordsResponse>> MakeRecords(
    const query::ReadModel& model, const SaReads& reads, const pb::ListRecordsRequest& request) {
  const auto type = sa::FindRecordType(request.type());
  if (!type) {
    return BadField("type", fmt::format("\"{}\" is none of {}", request.type(),
                                        fmt::join(sa::RecordTypes(), ", ")));
  }
  auto filters = ReadFilters(*type, request);
  if (!filters.ok()) return filters.status();
  wire::PathRecord path;
  uint64_t mask = 0;
  if (*type == wire::SaAttribute::kPathRecord) {
    const auto ends = ReadEnds(model, request, path);
    if (!ends.ok()) return ends.status();
    mask = *ends;
  } else if (!request.source().empty() || !request.destination().empty()) {
    return BadField("source", "only paths have a source and a destination");
  }
  const sa::SmFacts& sm = reads.view->sm();
  const Lid own = sm.managers.empty() ? Lid() : model.view->sm.lid;
  auto payload = std::make_shared<std::vector<uint8_t>>();
  if (sa::Answer({*reads.view, *reads.clients, LeaseNowMs()},
                 RequestFor(*type, path, mask, sm.sm_key), own,
                 *payload) != sa::Outcome::kAnswered) {
    return MakeError(absl::StatusCode::kUnavailable, "SA_STATUS",
                     "Subnet Administration does not know this SM's own port yet");
  }
  const auto status = static_cast<uint16_t>((*payload)[4] << 8 | (*payload)[5]);
  if (status == wire::kSaStatusNoResources) {
    return MakeError(absl::StatusCode::kResourceExhausted, "TABLE_TOO_LARGE",
                     "the table is larger than Subnet Administration answers");
  }
  if (status != wire::kStatusOk) {
    return MakeError(absl::StatusCode::kUnavailable, "SA_STATUS",
                     fmt::format("Subnet Administration says {:#06x}", status));
  }
  const size_t bytes = wire::LayoutOf(*type)->bytes;
  return [payload, bytes, type = *type, filters = *std::move(filters),
          at = wire::kSaDataAt](pb::ListRecordsResponse* piece) mutable -> absl::StatusOr<bool> {
    if (at + bytes > payload->size()) return false;
    for (size_t i = 0; i < kRecordsPerPiece && at + bytes <= payload->size(); ++i, at += bytes)
      AddRecord(type, std::span<const uint8_t>(*payload).subspan(at, bytes), filters, piece);
    return true;
  };
}

// ---- what clients have left

std::string NameOf(const wire::ServiceRecord& record) {
  std::string name;
  for (const uint8_t byte : record.name) {
    if (byte == 0) break;
    name.push_back(byte >= 0x20 && byte < 0x7F ? static_cast<char>(byte) : '?');
  }
  return name;
}

void Fill(const query::ReadModel& model, const sa::Service& service, pb::ServiceRegistration* out) {
  out->set_id(fmt::format("0x{:016x}", service.record.service_id));
  out->set_gid(sa::AddressOf(service.record.service_gid));
  out->set_p_key(service.record.p_key.value());
  out->set_name(NameOf(service.record));
  if (service.expires != sa::kForEver)
    out->set_expires_ms(static_cast<double>(service.expires + WallNowMs() - LeaseNowMs()));
  out->set_has_key(service.record.key != std::array<uint8_t, 16>{});
  out->set_node_name(NodeNameOf(model, service.record.service_gid));
}

void Fill(const query::ReadModel& model, const sa::Subscription& subscription,
          pb::Subscription* out) {
  const wire::InformInfo& info = subscription.info;
  out->set_gid(sa::AddressOf(subscription.target.gid));
  out->set_node_name(NodeNameOf(model, subscription.target.gid));
  out->set_number(subscription.number);
  out->set_qpn(subscription.target.qpn);
  out->set_trap_number(info.trap_number);
  out->set_type(info.type);
  out->set_producer_type(info.producer_type);
  if (info.gid) out->set_source_gid(sa::AddressOf(info.gid));
  out->set_lid_begin(info.lid_range_begin.value());
  out->set_lid_end(info.lid_range_end.value());
  out->set_trusted(subscription.trusted);
}

// MGIDs, or MLIDs in decimal or hexadecimal.
bool IsNamed(const google::protobuf::RepeatedPtrField<std::string>& names,
             const wire::McMemberRecord& record) {
  if (names.empty()) return true;
  const std::string mgid = sa::AddressOf(record.mgid);
  const std::string mlid = fmt::format("{}", record.mlid.value());
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return sa::MeansTheSame(name, mgid) || sa::MeansTheSame(name, mlid);
  });
}

}  // namespace

grpc::ServerWriteReactor<pb::ListRecordsResponse>* SubnetAdminService::ListRecords(
    Context* context, const pb::ListRecordsRequest* request) {
  using Next = NextPiece<pb::ListRecordsResponse>;
  const auto prepare = [this, request = *request]() -> absl::StatusOr<Next> {
    auto model = models_.Ready();
    if (!model.ok()) return model.status();
    auto reads = Read(backend_);
    if (!reads.ok()) return reads.status();
    return MakeRecords(**model, *reads, request);
  };
  return StreamReactor<pb::ListRecordsResponse>::Start(context, worker_, prepare);
}

grpc::ServerWriteReactor<pb::ListServicesResponse>* SubnetAdminService::ListServices(
    Context* context, const pb::ListServicesRequest* request) {
  using Next = NextPiece<pb::ListServicesResponse>;
  const auto prepare = [this, request = *request]() -> absl::StatusOr<Next> {
    auto model = models_.Ready();
    if (!model.ok()) return model.status();
    auto reads = ReadClients(backend_);
    if (!reads.ok()) return reads.status();
    const auto fill = [model = *model, request](const auto& service,
                                                pb::ListServicesResponse* piece) {
      const auto& names = request.names();
      if (names.empty() ||
          std::find(names.begin(), names.end(), NameOf(service->record)) != names.end())
        Fill(*model, *service, piece->add_services());
    };
    return Pieces<pb::ListServicesResponse>(reads->clients->services, kRecordsPerPiece, fill);
  };
  return StreamReactor<pb::ListServicesResponse>::Start(context, worker_, prepare);
}

grpc::ServerWriteReactor<pb::ListSubscriptionsResponse>* SubnetAdminService::ListSubscriptions(
    Context* context, const pb::ListSubscriptionsRequest*) {
  using Next = NextPiece<pb::ListSubscriptionsResponse>;
  const auto prepare = [this]() -> absl::StatusOr<Next> {
    auto model = models_.Ready();
    if (!model.ok()) return model.status();
    auto reads = ReadClients(backend_);
    if (!reads.ok()) return reads.status();
    const auto fill = [model = *model](const sa::Subscription& subscription,
                                       pb::ListSubscriptionsResponse* piece) {
      Fill(*model, subscription, piece->add_subscriptions());
    };
    return Pieces<pb::ListSubscriptionsResponse>(reads->clients->subscriptions, kRecordsPerPiece,
                                                 fill);
  };
  return StreamReactor<pb::ListSubscriptionsResponse>::Start(context, worker_, prepare);
}

grpc::ServerWriteReactor<pb::ListMulticastGroupsResponse>* SubnetAdminService::ListMulticastGroups(
    Context* context, const pb::ListMulticastGroupsRequest* request) {
  using Next = NextPiece<pb::ListMulticastGroupsResponse>;
  const auto prepare = [this, request = *request]() -> absl::StatusOr<Next> {
    auto model = models_.Ready();
    if (!model.ok()) return model.status();
    auto reads = ReadClients(backend_);
    if (!reads.ok()) return reads.status();
    const auto fill = [model = *model, view = reads->view, request](
                          const auto& group, pb::ListMulticastGroupsResponse* piece) {
      if (IsNamed(request.names(), group->record))
        ToProto(*model, request.trees() ? view.get() : nullptr, *group, piece->add_groups());
    };
    return Pieces<pb::ListMulticastGroupsResponse>(reads->clients->groups, kGroupsPerPiece, fill);
  };
  return StreamReactor<pb::ListMulticastGroupsResponse>::Start(context, worker_, prepare);
}

}  // namespace fabricd::rpc
