// SPDX-License-Identifier: Apache-2.0
#include "sa/answer.h"

#include <algorithm>

#include "mad/wire/class_port_info.h"
#include "mad/wire/sa_header.h"
#include "mad/wire/sa_path_records.h"
#include "mad/wire/sa_state_records.h"
#include "sa/paths/path_query.h"
#include "sa/paths/paths.h"
#include "sa/records/client_records.h"
#include "sa/records/records.h"
#include "sa/view/asker.h"
#include "sa/wire/gsi.h"
#include "sa/wire/reply.h"

namespace fabricd::sa {
namespace {

using wire::Method;
using wire::SaAttribute;
using wire::SaHeader;

// ClassPortInfo.CapabilityMask and CapabilityMask2 of the SA (IBA vol 1 §15.2.4).
constexpr uint16_t kNotices = 1u << 1;
constexpr uint16_t kOptionalRecords = 1u << 8;
constexpr uint16_t kMulticast = 1u << 9;
constexpr uint16_t kMultiPath = 1u << 10;
constexpr uint16_t kCapabilityMaskMatch = 1u << 13;
constexpr uint32_t kMulticastFdbTop = 1u << 3;
constexpr uint32_t kSendOnlyFullMember = 1u << 12;
constexpr uint32_t kAliasGuids = 1u << 5;
constexpr uint32_t kFullPortInfoRecord = 1u << 6;
constexpr uint32_t kExtendedSpeeds = 1u << 7;
constexpr uint32_t kCapabilityMask2Match = 1u << 10;

bool IsMethod(Method method) {
  return IsTable(method) || method == Method::kGet || method == Method::kSet ||
         method == Method::kDelete;
}

bool IsSupported(Method method, SaAttribute attribute) {
  switch (attribute) {
    case SaAttribute::kClassPortInfo: return method == Method::kGet;
    case SaAttribute::kMultiPathRecord: return method == Method::kGetMulti;
    case SaAttribute::kTraceRecord: return method == Method::kGetTraceTable;
    case SaAttribute::kPathRecord: return method == Method::kGet || method == Method::kGetTable;
    default:
      return (IsDeviceAttribute(attribute) || IsClientAttribute(attribute)) &&
             (method == Method::kGet || method == Method::kGetTable);
  }
}

// What SaState answers.
bool IsChange(Method method, SaAttribute attribute) {
  if (attribute == SaAttribute::kInformInfo) return method == Method::kSet;
  return (method == Method::kSet || method == Method::kDelete) &&
         (attribute == SaAttribute::kServiceRecord || attribute == SaAttribute::kMcMemberRecord ||
          attribute == SaAttribute::kGuidInfoRecord);
}

uint16_t CheckForm(const SaHeader& header) {
  if (header.mad.base_version != 1 || header.mad.class_version != wire::kSaClassVersion)
    return wire::kStatusBadVersion;
  if (!IsMethod(header.mad.method)) return wire::kStatusUnsupportedMethod;
  if (!IsSupported(header.mad.method, header.attribute()))
    return wire::kStatusUnsupportedMethodAttribute;
  return wire::kStatusOk;
}

uint16_t CollectClassPortInfo(const SaView& view, RecordTable& table) {
  wire::ClassPortInfo info;
  info.class_version = wire::kSaClassVersion;
  info.capability_mask =
      kNotices | kOptionalRecords | kMulticast | kMultiPath | kCapabilityMaskMatch;
  info.capability_mask2 = kMulticastFdbTop | kAliasGuids | kFullPortInfoRecord | kExtendedSpeeds |
                          kCapabilityMask2Match | kSendOnlyFullMember;
  info.response_time_value = view.sm().response_time_value;
  // Nobody is sent elsewhere: requests go to QP 1 with its Q_Key.
  info.redirect.qpn = 1;
  info.redirect.q_key = info.trap.q_key = kGsiQKey;
  table.Append(info);
  return wire::kStatusOk;
}

// By whom a service is offered, where a request for paths names that instead of a destination.
uint16_t CollectServicePaths(const Sources& sources, const Asker& asker, wire::PathRecord wanted,
                             uint64_t mask, bool single, RecordTable& table) {
  const auto gids =
      ProvidersOf(sources.view, sources.clients, sources.now, asker, wanted.service_id);
  for (const Gid gid : gids) {
    wanted.dgid = gid;
    const uint64_t whole = mask | uint64_t{1} << static_cast<unsigned>(PathComponent::kDgid);
    const uint16_t status = CollectPaths(sources.view, asker, wanted, whole, single, table);
    if (status != wire::kStatusOk || (single && table.count() > 0)) return status;
  }
  return wire::kStatusOk;
}

uint16_t CollectAnyPaths(const Sources& sources, const Asker& asker, const wire::PathRecord& wanted,
                         uint64_t mask, bool single, RecordTable& table) {
  const bool by_gid = Has(mask, PathComponent::kDgid);
  if (by_gid && wanted.dgid.IsMulticast())
    return CollectGroupPath(sources.view, sources.clients, asker, wanted, mask, table);
  const bool by_service =
      Has(mask, PathComponent::kServiceIdHigh) && Has(mask, PathComponent::kServiceIdLow);
  if (by_service && !by_gid && !Has(mask, PathComponent::kDlid))
    return CollectServicePaths(sources, asker, wanted, mask, single, table);
  return CollectPaths(sources.view, asker, wanted, mask, single, table);
}

// REQUIRES: CheckForm() found nothing. `data` is what is behind the SA header, at least 200 bytes.
uint16_t Collect(const Sources& sources, const Asker& asker, const SaHeader& header,
                 std::span<const uint8_t> data, RecordTable& table) {
  const SaView& view = sources.view;
  const auto path = [&] {
    return wire::PathRecord::Decode(data.first<wire::PathRecord::kBytes>());
  };
  switch (header.attribute()) {
    case SaAttribute::kClassPortInfo: return CollectClassPortInfo(view, table);
    case SaAttribute::kPathRecord:
      return CollectAnyPaths(sources, asker, path(), header.component_mask,
                             header.mad.method == Method::kGet, table);
    case SaAttribute::kTraceRecord:
      return CollectTrace(view, asker, path(), header.component_mask, table);
    case SaAttribute::kMultiPathRecord: {
      constexpr size_t kBytes = wire::MultiPathRecord::kBytes;
      return CollectMultiPaths(view, asker, wire::MultiPathRecord::Decode(data.first<kBytes>()),
                               header.component_mask, data.subspan(kBytes), table);
    }
    default:
      if (IsClientAttribute(header.attribute()))
        return CollectClientRecords(view, sources.clients, sources.now, asker, header, data, table);
      return CollectRecords(view, asker, header, data, table, sources.unread);
  }
}

}  // namespace

bool IsShort(std::span<const uint8_t> request) {
  if (request.size() < wire::kMadBytes) return false;
  const SaHeader header = SaHeader::Decode(request.first<wire::kMadBytes>());
  const auto names = [&](PathComponent gid, PathComponent lid) {
    return Has(header.component_mask, gid) || Has(header.component_mask, lid);
  };
  return header.mad.method == Method::kGet && header.attribute() == SaAttribute::kPathRecord &&
         names(PathComponent::kSgid, PathComponent::kSlid) &&
         names(PathComponent::kDgid, PathComponent::kDlid);
}

Outcome Answer(const Sources& sources, std::span<const uint8_t> request, Lid from,
               std::vector<uint8_t>& reply) {
  const SaView& view = sources.view;
  reply.clear();
  if (request.size() < wire::kMadBytes) return Outcome::kNotARequest;
  const SaHeader header = SaHeader::Decode(request.first<wire::kMadBytes>());
  if (!HasResponse(header.mad)) return Outcome::kNotARequest;
  const SmKey key = view.sm().sm_key;
  if (header.sm_key && header.sm_key != key) return Outcome::kWrongKey;
  const Asker requester{view.ends().FindLid(from), static_cast<bool>(header.sm_key),
                        sources.clients.aliases.get()};
  if (requester.end == EndPorts::kNone) return Outcome::kUnknownRequester;
  reply.resize(wire::kSaDataAt);
  RecordTable table(reply);
  uint16_t status = CheckForm(header);
  if (status == wire::kStatusUnsupportedMethodAttribute &&
      IsChange(header.mad.method, header.attribute()))
    return Outcome::kChange;
  if (status == wire::kStatusOk)
    status = Collect(sources, requester, header, request.subspan(wire::kSaDataAt), table);
  if (status == wire::kStatusOk && header.mad.method == Method::kGet && table.count() != 1)
    status = table.count() == 0 ? wire::kSaStatusNoRecords : wire::kSaStatusTooManyRecords;
  FinishReply(header, status, reply);
  return Outcome::kAnswered;
}

}  // namespace fabricd::sa
