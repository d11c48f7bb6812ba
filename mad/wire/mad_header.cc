// SPDX-License-Identifier: Apache-2.0
#include "mad/wire/mad_header.h"

#include "mad/wire/bytes.h"

namespace fabricd::wire {

namespace {

// Attribute ids 0xFF00-0xFFFF belong to vendors (IBA vol 1 §14.2.5): they have a number, no name.
constexpr uint16_t kFirstVendorAttribute = 0xFF00;
constexpr size_t kVendorNameLength = 6;

constexpr auto kVendorNames = [] {
  std::array<std::array<char, kVendorNameLength>, 256> names{};
  constexpr char kDigits[] = "0123456789ABCDEF";
  for (size_t low = 0; low < names.size(); ++low) {
    names[low] = {'0', 'x', 'F', 'F', kDigits[low >> 4], kDigits[low & 15]};
  }
  return names;
}();

}  // namespace

MadHeader MadHeader::Decode(std::span<const uint8_t, kMadBytes> bytes) {
  const uint8_t* at = bytes.data();
  MadHeader header;
  header.base_version = at[0];
  header.management_class = static_cast<ManagementClass>(at[1]);
  header.class_version = at[2];
  header.method = static_cast<Method>(at[3]);
  header.status = Load16(at + 4);
  header.class_specific = Load16(at + 6);
  header.transaction_id = Load64(at + 8);
  header.attribute = static_cast<AttributeId>(Load16(at + 16));
  header.modifier = Load32(at + 20);
  return header;
}

void MadHeader::Encode(std::span<uint8_t, kMadBytes> bytes) const {
  uint8_t* at = bytes.data();
  at[0] = base_version;
  at[1] = static_cast<uint8_t>(management_class);
  at[2] = class_version;
  at[3] = static_cast<uint8_t>(method);
  Store16(at + 4, status);
  Store16(at + 6, class_specific);
  Store64(at + 8, transaction_id);
  Store16(at + 16, static_cast<uint16_t>(attribute));
  Store16(at + 18, 0);
  Store32(at + 20, modifier);
}

std::string_view AttributeName(AttributeId attribute) {
  if (const std::string_view name = SpecificationName(attribute); !name.empty()) return name;
  const auto number = static_cast<uint16_t>(attribute);
  if (number < kFirstVendorAttribute) return "unknown";
  return {kVendorNames[number - kFirstVendorAttribute].data(), kVendorNameLength};
}

std::string_view MethodName(Method method) {
  switch (method) {
    case Method::kGet: return "Get";
    case Method::kSet: return "Set";
    case Method::kSend: return "Send";
    case Method::kTrap: return "Trap";
    case Method::kReport: return "Report";
    case Method::kTrapRepress: return "TrapRepress";
    case Method::kGetTable: return "GetTable";
    case Method::kGetTraceTable: return "GetTraceTable";
    case Method::kGetMulti: return "GetMulti";
    case Method::kDelete: return "Delete";
    case Method::kGetResp: return "GetResp";
    case Method::kReportResp: return "ReportResp";
    case Method::kGetTableResp: return "GetTableResp";
    case Method::kGetMultiResp: return "GetMultiResp";
    case Method::kDeleteResp: return "DeleteResp";
  }
  return "unknown";
}

}  // namespace fabricd::wire
