// SPDX-License-Identifier: Apache-2.0
#include "sa/wire/reply.h"

#include <algorithm>

#include "mad/wire/class_port_info.h"
#include "mad/wire/sa_components.h"
#include "mad/wire/sa_path_records.h"
#include "mad/wire/sa_state_records.h"

namespace fabricd::sa {
namespace {

using wire::Method;
using wire::SaAttribute;
using wire::SaHeader;

// Of a segment's PayloadLength: the SA header that it repeats (§13.6.2.1).
constexpr uint32_t kRepeatedHeaderBytes = 20;

constexpr size_t kRmppFlagsAt = 26;

// Bytes of one record of the answer.
size_t RecordSize(SaAttribute attribute) {
  if (attribute == SaAttribute::kClassPortInfo) return wire::ClassPortInfo::kBytes;
  if (attribute == SaAttribute::kMultiPathRecord) return wire::PathRecord::kBytes;
  const wire::RecordLayout* layout = wire::LayoutOf(attribute);
  return layout == nullptr ? 0 : layout->bytes;
}

// §15.2.2, table 186: some methods share a response.
Method ResponseTo(Method method) {
  if (method == Method::kSet) return Method::kGetResp;
  if (method == Method::kGetTraceTable) return Method::kGetTableResp;
  return static_cast<Method>(static_cast<uint8_t>(method) | wire::kResponseBit);
}

}  // namespace

bool IsTable(Method method) {
  return method == Method::kGetTable || method == Method::kGetMulti ||
         method == Method::kGetTraceTable;
}

bool HasResponse(const wire::MadHeader& mad) {
  return mad.management_class == wire::ManagementClass::kSubnAdm && !mad.IsResponse() &&
         mad.method != Method::kSend && mad.method != Method::kTrap &&
         mad.method != Method::kReport;
}

bool UnderstandsBusy(std::span<const uint8_t> request) {
  return request.size() >= wire::kMadBytes &&
         IsTable(SaHeader::Decode(request.first<wire::kMadBytes>()).mad.method);
}

bool IsUnderRmpp(std::span<const uint8_t> reply) {
  return reply.size() >= wire::kSaDataAt && (reply[kRmppFlagsAt] & wire::kRmppActive) != 0;
}

void FinishReply(SaHeader header, uint16_t status, std::vector<uint8_t>& reply) {
  if (status != wire::kStatusOk) reply.resize(wire::kSaDataAt);
  const size_t data = reply.size() - wire::kSaDataAt;
  const bool is_table = IsTable(header.mad.method) && status == wire::kStatusOk;
  const size_t record = RecordSize(header.attribute());
  // What is asked for as a MultiPathRecord is answered as PathRecords.
  if (header.attribute() == SaAttribute::kMultiPathRecord)
    header.mad.attribute = static_cast<wire::AttributeId>(SaAttribute::kPathRecord);
  header.mad.method = ResponseTo(header.mad.method);
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

bool Refuse(std::span<const uint8_t> request, uint16_t status, std::vector<uint8_t>& reply) {
  reply.clear();
  if (request.size() < wire::kMadBytes) return false;
  const SaHeader header = SaHeader::Decode(request.first<wire::kMadBytes>());
  if (!HasResponse(header.mad)) return false;
  reply.resize(wire::kSaDataAt);
  FinishReply(header, status, reply);
  return true;
}

}  // namespace fabricd::sa
