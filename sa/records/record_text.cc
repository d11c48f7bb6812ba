// SPDX-License-Identifier: Apache-2.0
#include "sa/records/record_text.h"

#include <algorithm>
#include <array>
#include <sstream>

#include <fmt/format.h>

#include "common/check.h"
#include "common/number_text.h"
#include "mad/wire/sa_components.h"

namespace fabricd::sa {
namespace {

using wire::SaAttribute;

struct RecordType {
  SaAttribute attribute;
  const char* name;        // Without "Record".
  const char* short_name;  // "" where there is none.
  // One word for each component, in their order; "-": reserved. Behind ':' how it is shown: x
  // hexadecimal, t text. Else numbers are decimal, 128 bits a GID, and longer ones bytes.
  const char* components;
};

constexpr RecordType kTypes[] = {
    {SaAttribute::kNodeRecord, "Node", "",
     "LID - BaseVersion ClassVersion NodeType NumPorts SystemImageGUID:x NodeGUID:x PortGUID:x "
     "PartitionCap DeviceID:x Revision:x LocalPortNum VendorID:x NodeDescription:t"},
    {SaAttribute::kPortInfoRecord, "PortInfo", "port",
     "LID PortNum Options M_Key:x GidPrefix:x PortLID MasterSMLID CapabilityMask:x DiagCode:x "
     "M_KeyLeasePeriod LocalPortNum LinkWidthEnabled LinkWidthSupported LinkWidthActive "
     "LinkSpeedSupported PortState PortPhysicalState LinkDownDefaultState M_KeyProtectBits - LMC "
     "LinkSpeedActive LinkSpeedEnabled NeighborMTU MasterSMSL VLCap InitType VLHighLimit "
     "VLArbitrationHighCap VLArbitrationLowCap InitTypeReply MTUCap VLStallCount HOQLife "
     "OperationalVLs PartitionEnforcementInbound PartitionEnforcementOutbound "
     "FilterRawInbound FilterRawOutbound M_KeyViolations P_KeyViolations Q_KeyViolations GUIDCap "
     "ClientReregister MulticastPKeyTrapSuppressionEnabled SubnetTimeOut - RespTimeValue "
     "LocalPhyErrors OverrunErrors MaxCreditHint - LinkRoundTripLatency CapabilityMask2:x "
     "LinkSpeedExtActive LinkSpeedExtSupported - LinkSpeedExtEnabled"},
    {SaAttribute::kSlToVlMappingTableRecord, "SLtoVLMappingTable", "sl2vl",
     "LID InputPortNum OutputPortNum - SL0 SL1 SL2 SL3 SL4 SL5 SL6 SL7 SL8 SL9 SL10 SL11 SL12 SL13 "
     "SL14 SL15"},
    {SaAttribute::kSwitchInfoRecord, "SwitchInfo", "switch",
     "LID - LinearFDBCap RandomFDBCap MulticastFDBCap LinearFDBTop DefaultPort "
     "DefaultMulticastPrimaryPort DefaultMulticastNotPrimaryPort LifeTimeValue PortStateChange "
     "OptimizedSLtoVLMappingProgramming LIDsPerPort PartitionEnforcementCap InboundEnforcementCap "
     "OutboundEnforcementCap FilterRawInboundCap FilterRawOutboundCap EnhancedPort0 - - "
     "MulticastFDBTop"},
    {SaAttribute::kLinearForwardingTableRecord, "LinearForwardingTable", "lft",
     "LID BlockNum - Ports"},
    {SaAttribute::kMulticastForwardingTableRecord, "MulticastForwardingTable", "mft",
     "LID Position - BlockNum - PortMasks"},
    {SaAttribute::kSmInfoRecord, "SMInfo", "sm", "LID - GUID:x SM_Key:x ActCount Priority SMState"},
    {SaAttribute::kLinkRecord, "Link", "", "FromLID FromPort ToPort ToLID"},
    {SaAttribute::kGuidInfoRecord, "GUIDInfo", "guid",
     "LID BlockNum - - GUID0:x GUID1:x GUID2:x GUID3:x GUID4:x GUID5:x GUID6:x GUID7:x"},
    {SaAttribute::kPKeyTableRecord, "P_KeyTable", "pkey", "LID BlockNum PortNum - P_Keys"},
    {SaAttribute::kVlArbitrationTableRecord, "VLArbitrationTable", "vlarb",
     "LID OutputPortNum BlockNum - VLsAndWeights"},
    {SaAttribute::kPathRecord, "Path", "",
     "ServiceID8MSB:x ServiceID56LSB:x DGID SGID DLID SLID RawTraffic - FlowLabel HopLimit TClass "
     "Reversible NumbPath P_Key:x QoSClass SL MtuSelector Mtu RateSelector Rate "
     "PacketLifeTimeSelector PacketLifeTime Preference"},
    {SaAttribute::kServiceRecord, "Service", "",
     "ServiceID:x ServiceGID ServiceP_Key:x - ServiceLease ServiceKey ServiceName:t "
     "ServiceData8.1 ServiceData8.2 ServiceData8.3 ServiceData8.4 ServiceData8.5 ServiceData8.6 "
     "ServiceData8.7 ServiceData8.8 ServiceData8.9 ServiceData8.10 ServiceData8.11 ServiceData8.12 "
     "ServiceData8.13 ServiceData8.14 ServiceData8.15 ServiceData8.16 ServiceData16.1 "
     "ServiceData16.2 ServiceData16.3 ServiceData16.4 ServiceData16.5 ServiceData16.6 "
     "ServiceData16.7 ServiceData16.8 ServiceData32.1 ServiceData32.2 ServiceData32.3 "
     "ServiceData32.4 ServiceData64.1 ServiceData64.2"},
    {SaAttribute::kMcMemberRecord, "MCMember", "mcm",
     "MGID PortGID Q_Key:x MLID:x MTUSelector MTU TClass P_Key:x RateSelector Rate "
     "PacketLifeTimeSelector PacketLifeTime SL FlowLabel HopLimit Scope JoinState ProxyJoin"},
    {SaAttribute::kInformInfoRecord, "InformInfo", "inform",
     "SubscriberGID Enum - GID LIDRangeBegin LIDRangeEnd - IsGeneric Subscribe Type TrapNumber QPN "
     "- RespTimeValue - ProducerType"},
};

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

const RecordType& TypeOf(SaAttribute attribute) {
  const auto* found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                   [&](const RecordType& t) { return t.attribute == attribute; });
  FABRICD_CHECK(found != std::end(kTypes), "attribute {}", static_cast<int>(attribute));
  return *found;
}

uint64_t BitsOf(std::span<const uint8_t> record, size_t at, size_t width) {
  uint64_t value = 0;
  for (size_t bit = at; bit < at + width; ++bit)
    value = value << 1 | (record[bit / 8] >> (7 - bit % 8) & 1);
  return value;
}

std::string TextOf(std::span<const uint8_t> bytes) {
  std::string text;
  for (const uint8_t byte : bytes) {
    if (byte == 0) break;
    text.push_back(byte >= 0x20 && byte < 0x7F ? static_cast<char>(byte) : '?');
  }
  return text;
}

std::string ValueOf(std::span<const uint8_t> record, const wire::Component& component, char form) {
  const auto bytes = record.subspan(component.at / 8, (component.width + 7u) / 8);
  if (form == 't') return TextOf(bytes);
  if (component.width == 128 && form != 'k')
    return AddressOf({BitsOf(record, component.at, 64), BitsOf(record, component.at + 64u, 64)});
  if (component.width > 64) {
    std::string hex;
    for (const uint8_t byte : bytes) hex += fmt::format("{:02x}", byte);
    return hex;
  }
  const uint64_t value = BitsOf(record, component.at, component.width);
  if (form == 'x') return fmt::format("0x{:0{}x}", value, (component.width + 3) / 4);
  return fmt::format("{}", value);
}

}  // namespace

std::string AddressOf(Gid gid) {
  std::array<uint16_t, 8> words{};
  for (size_t i = 0; i < 4; ++i) {
    words[i] = static_cast<uint16_t>(gid.prefix >> (48 - 16 * i));
    words[4 + i] = static_cast<uint16_t>(gid.low >> (48 - 16 * i));
  }
  // The longest run of at least two zero words, the first of equal ones.
  size_t run_at = 8, run = 1;
  for (size_t i = 0; i < 8; ++i) {
    size_t end = i;
    while (end < 8 && words[end] == 0) ++end;
    if (end - i > run) {
      run_at = i;
      run = end - i;
    }
    i = std::max(i, end);
  }
  std::string text;
  for (size_t i = 0; i < 8; ++i) {
    if (i == run_at) {
      text += "::";
      i += run - 1;
      continue;
    }
    if (!text.empty() && text.back() != ':') text += ':';
    text += fmt::format("{:x}", words[i]);
  }
  return text;
}

std::optional<SaAttribute> FindRecordType(std::string_view text) {
  std::string wanted = Lower(text);
  constexpr std::string_view kSuffix = "record";
  if (wanted.size() > kSuffix.size() && wanted.ends_with(kSuffix))
    wanted.resize(wanted.size() - kSuffix.size());
  for (const RecordType& type : kTypes)
    if (wanted == Lower(type.name) || (!wanted.empty() && wanted == type.short_name))
      return type.attribute;
  return std::nullopt;
}

std::vector<std::string> RecordTypes() {
  std::vector<std::string> names;
  for (const RecordType& type : kTypes) names.push_back(fmt::format("{}Record", type.name));
  return names;
}

std::vector<std::pair<std::string, std::string>> FieldsOf(SaAttribute type,
                                                          std::span<const uint8_t> record) {
  const wire::RecordLayout& layout = *wire::LayoutOf(type);
  FABRICD_CHECK(record.size() == layout.bytes, "{} bytes", record.size());
  std::vector<std::pair<std::string, std::string>> fields;
  std::istringstream words(TypeOf(type).components);
  size_t number = 0;
  for (std::string word; words >> word; ++number) {
    FABRICD_CHECK(number < layout.components.size(), "too many names of {}", TypeOf(type).name);
    if (word == "-") continue;
    const size_t colon = word.find(':');
    // A ServiceKey has as many bits as a GID.
    const char form = word == "ServiceKey" ? 'k' : colon == std::string::npos ? 'd' : word.back();
    fields.emplace_back(word.substr(0, colon), ValueOf(record, layout.components[number], form));
  }
  FABRICD_CHECK(number == layout.components.size(), "{} names for {} components of {}", number,
                layout.components.size(), TypeOf(type).name);
  return fields;
}

std::optional<size_t> FindField(SaAttribute type, std::string_view name) {
  const auto fields = FieldsOf(type, std::vector<uint8_t>(wire::LayoutOf(type)->bytes));
  for (size_t at = 0; at < fields.size(); ++at)
    if (Lower(fields[at].first) == Lower(name)) return at;
  return std::nullopt;
}

bool MeansTheSame(std::string_view one, std::string_view other) {
  const auto a = ParseDecimalOrHex<uint64_t>(one), b = ParseDecimalOrHex<uint64_t>(other);
  return a && b ? *a == *b : Lower(one) == Lower(other);
}

}  // namespace fabricd::sa
