// SPDX-License-Identifier: Apache-2.0
// The codecs on MADs that OpenSM and ibsim exchanged (../shared/wire/traces): every SMP decodes,
// and encodes to the bytes that were on the wire.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "mad/wire/node_info.h"
#include "mad/wire/notice.h"
#include "mad/wire/port_info.h"
#include "mad/wire/sm_info.h"
#include "mad/wire/smp.h"
#include "mad/wire/switch_info.h"
#include "mad/wire/tables.h"

namespace fabricd::wire {
namespace {

constexpr const char* kTraceFolder = FABRICD_SOURCE_DIR "/../shared/wire/traces/";

std::string Unzip(const std::string& path) {
  std::string text;
  FILE* pipe = popen(("gzip -dc '" + path + "'").c_str(), "r");
  if (pipe == nullptr) return text;
  char buffer[1 << 16];
  while (const size_t count = fread(buffer, 1, sizeof(buffer), pipe)) text.append(buffer, count);
  return pclose(pipe) == 0 ? text : "";
}

std::optional<MadBytes> FromHex(const std::string& hex) {
  if (hex.size() != 2 * kMadBytes) return std::nullopt;
  MadBytes bytes;
  for (size_t i = 0; i < kMadBytes; ++i) {
    bytes[i] = static_cast<uint8_t>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
  }
  return bytes;
}

// The SMPs of a trace, in order. Line format: ../shared/wire/README.md.
std::vector<MadBytes> Smps(const std::string& trace) {
  std::vector<MadBytes> smps;
  std::istringstream lines(Unzip(kTraceFolder + trace));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream columns(line);
    std::string time, direction, length, agent, lid, status, hex;
    columns >> time >> direction >> length >> agent >> lid >> status >> hex;
    const std::optional<MadBytes> bytes = FromHex(hex);
    if (bytes && ((*bytes)[1] == 0x01 || (*bytes)[1] == 0x81)) smps.push_back(*bytes);
  }
  return smps;
}

// What the formats reserve may hold anything in a recording (OpenSM leaves stack bytes there).
MadBytes WithoutReserved(MadBytes bytes) {
  const bool directed = bytes[1] == 0x81;
  if (directed) {
    const size_t hops = bytes[7];
    bytes[128] = 0;
    std::fill(bytes.begin() + 129 + hops, bytes.begin() + 192, uint8_t{0});
    std::fill(bytes.begin() + 36, bytes.begin() + 64, uint8_t{0});
  } else {
    std::fill(bytes.begin() + 32, bytes.begin() + 64, uint8_t{0});
    std::fill(bytes.begin() + 128, bytes.end(), uint8_t{0});
  }
  return bytes;
}

template <typename Attribute>
SmpData Recode(const SmpData& data) {
  SmpData sent{};
  Attribute::Decode(data).Encode(sent);
  return sent;
}

// nullopt: an attribute without a codec here.
std::optional<SmpData> RecodeAttribute(AttributeId attribute, const SmpData& data) {
  switch (attribute) {
    case AttributeId::kNodeInfo: return Recode<NodeInfo>(data);
    case AttributeId::kNodeDescription: return Recode<NodeDescription>(data);
    case AttributeId::kSwitchInfo: return Recode<SwitchInfo>(data);
    case AttributeId::kPortInfo: return Recode<PortInfo>(data);
    case AttributeId::kPKeyTable: return Recode<PKeyTable>(data);
    case AttributeId::kSlToVlMappingTable: return Recode<SlToVlMappingTable>(data);
    case AttributeId::kVlArbitrationTable: return Recode<VlArbitrationTable>(data);
    case AttributeId::kLinearForwardingTable: return Recode<LinearForwardingTable>(data);
    case AttributeId::kMulticastForwardingTable: return Recode<MulticastForwardingTable>(data);
    case AttributeId::kSmInfo: return Recode<SmInfo>(data);
    case AttributeId::kNotice: return Recode<Notice>(data);
    case AttributeId::kGuidInfo: return Recode<GuidInfo>(data);
    default: return std::nullopt;
  }
}

TEST(RecordedMads, DecodeAndEncodeToTheSameBytes) {
  if (!std::filesystem::exists(kTraceFolder)) GTEST_SKIP() << kTraceFolder << " is absent";
  std::map<AttributeId, int> seen;
  for (const char* trace : {"a-2sw-qos.trace.gz", "a-2sw-mkey.trace.gz", "b-tree-cold.trace.gz",
                            "b-tree-link-events-no-sweep.trace.gz", "c-isr-qos-partitions.trace.gz",
                            "g-election-priority-lo.trace.gz", "h-sa-probe-sm.trace.gz"}) {
    const std::vector<MadBytes> smps = Smps(trace);
    ASSERT_GT(smps.size(), 100u) << trace;
    for (const MadBytes& bytes : smps) {
      const std::optional<Smp> smp = Smp::Decode(bytes);
      ASSERT_TRUE(smp) << trace;
      MadBytes sent;
      smp->Encode(sent);
      ASSERT_EQ(sent, WithoutReserved(bytes)) << trace;
      const std::optional<SmpData> data = RecodeAttribute(smp->attribute, smp->data);
      if (!data) continue;
      ++seen[smp->attribute];
      ASSERT_EQ(*data, smp->data) << trace << ' ' << AttributeName(smp->attribute);
    }
  }
  for (AttributeId attribute :
       {AttributeId::kNodeInfo, AttributeId::kNodeDescription, AttributeId::kSwitchInfo,
        AttributeId::kPortInfo, AttributeId::kPKeyTable, AttributeId::kSlToVlMappingTable,
        AttributeId::kVlArbitrationTable, AttributeId::kLinearForwardingTable,
        AttributeId::kMulticastForwardingTable, AttributeId::kSmInfo, AttributeId::kNotice}) {
    EXPECT_GT(seen[attribute], 0) << AttributeName(attribute);
  }
}

// The first answer of a cold start on ibsim's net.2sw2path4hca: the SM's own node.
TEST(RecordedMads, FirstAnswerIsTheLocalNodeInfo) {
  if (!std::filesystem::exists(kTraceFolder)) GTEST_SKIP() << kTraceFolder << " is absent";
  const std::vector<MadBytes> smps = Smps("a-2sw-cold.trace.gz");
  ASSERT_GE(smps.size(), 2u);
  const std::optional<Smp> smp = Smp::Decode(smps[1]);
  ASSERT_TRUE(smp && smp->path);
  EXPECT_EQ(smp->method, Method::kGetResp);
  EXPECT_EQ(smp->tid, TransactionId(0x1234));
  EXPECT_EQ(smp->path->hops(), 0u);
  EXPECT_TRUE(smp->returning);
  ASSERT_EQ(smp->attribute, AttributeId::kNodeInfo);
  const NodeInfo info = NodeInfo::Decode(smp->data);
  EXPECT_EQ(info.node_type, NodeType::kChannelAdapter);
  EXPECT_EQ(info.num_ports, 2);
  EXPECT_EQ(info.node_guid, Guid(0x100000));
  EXPECT_EQ(info.port_guid, Guid(0x100001));
  EXPECT_EQ(info.partition_cap, 64);
  EXPECT_EQ(info.local_port, PortNum(1));
}

}  // namespace
}  // namespace fabricd::wire
