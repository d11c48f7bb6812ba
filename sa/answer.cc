// SPDX-License-Identifier: Apache-2.0
#include "sa/answer.h"

#include <algorithm>

#include "mad/wire/sa_header.h"
#include "mad/wire/sa_path_records.h"
#include "mad/wire/sa_state_records.h"
#include "sa/asker.h"
#include "sa/paths.h"
#include "sa/records.h"

namespace fabricd::sa {
namespace {

using wire::Method;
using wire::SaAttribute;
using wire::SaHeader;

// ClassPortInfo.CapabilityMask and CapabilityMask2 of the SA (IBA vol 1 §15.2.4).
constexpr uint16_t kOptionalRecords = 1u << 8;
constexpr uint16_t kMultiPath = 1u << 10;
constexpr uint16_t kCapabilityMaskMatch = 1u << 13;
constexpr uint32_t kFullPortInfoRecord = 1u << 6;
constexpr uint32_t kExtendedSpeeds = 1u << 7;
constexpr uint32_t kCapabilityMask2Match = 1u << 10;

constexpr uint32_t kGsiQKey = 0x80010000;

// Of a segment's PayloadLength: the SA header that it repeats (§13.6.2.1).
constexpr uint32_t kRepeatedHeaderBytes = 20;

bool IsTable(Method method) {
  return method == Method::kGetTable || method == Method::kGetMulti ||
         method == Method::kGetTraceTable;
}

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
      return IsDeviceAttribute(attribute) &&
             (method == Method::kGet || method == Method::kGetTable);
  }
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
  info.capability_mask = kOptionalRecords | kMultiPath | kCapabilityMaskMatch;
  info.capability_mask2 = kFullPortInfoRecord | kExtendedSpeeds | kCapabilityMask2Match;
  info.response_time_value = view.sm().response_time_value;
  // Nobody is sent elsewhere: requests go to QP 1 with its Q_Key.
  info.redirect.qpn = 1;
  info.redirect.q_key = info.trap.q_key = kGsiQKey;
  table.Append(info);
  return wire::kStatusOk;
}

// REQUIRES: CheckForm() found nothing. `data` is what is behind the SA header, at least 200 bytes.
uint16_t Collect(const SaView& view, const Asker& asker, const SaHeader& header,
                 std::span<const uint8_t> data, RecordTable& table) {
  const auto path = [&] {
    return wire::PathRecord::Decode(data.first<wire::PathRecord::kBytes>());
  };
  switch (header.attribute()) {
    case SaAttribute::kClassPortInfo: return CollectClassPortInfo(view, table);
    case SaAttribute::kPathRecord:
      return CollectPaths(view, asker, path(), header.component_mask,
                          header.mad.method == Method::kGet, table);
    case SaAttribute::kTraceRecord:
      return CollectTrace(view, asker, path(), header.component_mask, table);
    case SaAttribute::kMultiPathRecord: {
      constexpr size_t kBytes = wire::MultiPathRecord::kBytes;
      return CollectMultiPaths(view, asker, wire::MultiPathRecord::Decode(data.first<kBytes>()),
                               header.component_mask, data.subspan(kBytes), table);
    }
    default: return CollectRecords(view, asker, header, data, table);
  }
}

// Bytes of one record of the answer.
size_t RecordSize(SaAttribute attribute) {
  if (attribute == SaAttribute::kClassPortInfo) return wire::ClassPortInfo::kBytes;
  if (attribute == SaAttribute::kMultiPathRecord) return wire::PathRecord::kBytes;
  const wire::RecordLayout* layout = wire::LayoutOf(attribute);
  return layout == nullptr ? 0 : layout->bytes;
}

// Turns the request's header into that of the response, in front of the records that `reply` holds.
void Finish(SaHeader header, uint16_t status, std::vector<uint8_t>& reply) {
  if (status != wire::kStatusOk) reply.resize(wire::kSaDataAt);
  const size_t data = reply.size() - wire::kSaDataAt;
  const bool is_table = IsTable(header.mad.method) && status == wire::kStatusOk;
  const size_t record = RecordSize(header.attribute());
  // What is asked for as a MultiPathRecord is answered as PathRecords.
  if (header.attribute() == SaAttribute::kMultiPathRecord)
    header.mad.attribute = static_cast<wire::AttributeId>(SaAttribute::kPathRecord);
  header.mad.method =
      static_cast<Method>(static_cast<uint8_t>(header.mad.method) | wire::kResponseBit);
  header.mad.status = status;
  header.sm_key = SmKey();  // Never told to anyone.
  header.attribute_offset = is_table && data > 0 ? static_cast<uint16_t>(record / 8) : 0;
  header.rmpp = {};
  if (is_table) {
    const bool one_segment = data <= wire::kSaDataBytes;
    const size_t segments =
        std::max<size_t>(1, (data + wire::kSaDataBytes - 1) / wire::kSaDataBytes);
    header.rmpp.version = 1;
    header.rmpp.type = wire::RmppType::kData;
    header.rmpp.flags = static_cast<uint8_t>(wire::kRmppActive | wire::kRmppFirst |
                                             (one_segment ? wire::kRmppLast : 0));
    header.rmpp.data1 = 1;
    header.rmpp.data2 = static_cast<uint32_t>(segments * kRepeatedHeaderBytes + data);
  }
  // The kernel counts a payload for RMPP by its length, so that one must not be filled up.
  if (!is_table) reply.resize(wire::kMadBytes);
  wire::MadBytes bytes;
  header.Encode(bytes);
  std::copy_n(bytes.begin(), wire::kSaDataAt, reply.begin());
}

bool HasResponse(const wire::MadHeader& mad) {
  return mad.management_class == wire::ManagementClass::kSubnAdm && !mad.IsResponse() &&
         mad.method != Method::kSend && mad.method != Method::kTrap &&
         mad.method != Method::kReport;
}

}  // namespace

Outcome Answer(const SaView& view, std::span<const uint8_t> request, Lid from,
               std::vector<uint8_t>& reply) {
  reply.clear();
  if (request.size() < wire::kMadBytes) return Outcome::kNotARequest;
  const SaHeader header = SaHeader::Decode(request.first<wire::kMadBytes>());
  if (!HasResponse(header.mad)) return Outcome::kNotARequest;
  const SmKey key = view.sm().sm_key;
  if (header.sm_key && header.sm_key != key) return Outcome::kWrongKey;
  reply.resize(wire::kSaDataAt);
  RecordTable table(reply);
  uint16_t status = CheckForm(header);
  if (status == wire::kStatusOk) {
    const Asker asker{view.ends().FindLid(from), static_cast<bool>(header.sm_key)};
    // Whoever has a LID that this view does not know of is to ask again: a newer one will.
    status = asker.end == EndPorts::kNone
                 ? wire::kStatusBusy
                 : Collect(view, asker, header, request.subspan(wire::kSaDataAt), table);
  }
  if (status == wire::kStatusOk && header.mad.method == Method::kGet && table.count() != 1)
    status = table.count() == 0 ? wire::kSaStatusNoRecords : wire::kSaStatusTooManyRecords;
  Finish(header, status, reply);
  return Outcome::kAnswered;
}

Outcome Refuse(std::span<const uint8_t> request, uint16_t status, std::vector<uint8_t>& reply) {
  reply.clear();
  if (request.size() < wire::kMadBytes) return Outcome::kNotARequest;
  const SaHeader header = SaHeader::Decode(request.first<wire::kMadBytes>());
  if (!HasResponse(header.mad)) return Outcome::kNotARequest;
  reply.resize(wire::kSaDataAt);
  Finish(header, status, reply);
  return Outcome::kAnswered;
}

}  // namespace fabricd::sa
