// SPDX-License-Identifier: Apache-2.0
// A fabric with a plan, and requests to its Subnet Administration.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/check.h"
#include "mad/wire/sa_header.h"
#include "mad/wire/sa_path_records.h"
#include "routing/plan/engine.h"
#include "sa/answer.h"
#include "sa/paths/path_query.h"
#include "sa/view/view.h"
#include "tests/support/fabrics.h"

namespace fabricd::sa::testing {

using fabricd::testing::FabricMaker;
using fabricd::testing::TestFabric;

constexpr uint64_t kPrefix = 0xFE80000000000000;
constexpr SmKey kSmKey{0x1234};

// All links at 4x of `speed_ext` (1 FDR, 2 EDR, 4 HDR, 8 NDR) with 4096 bytes.
inline wire::PortInfo RunningPort(uint8_t speed_ext = 8) {
  wire::PortInfo info;
  info.port_state = wire::PortState::kActive;
  info.port_physical_state = wire::PortPhysicalState::kLinkUp;
  info.link_width_active = 2;
  info.link_speed_active = 4;
  info.link_speed_ext_active = speed_ext;
  info.neighbor_mtu = 5;
  info.mtu_cap = 5;
  info.m_key = MKey(0x77);
  info.guid_cap = 1;
  return info;
}

struct SaFabric {
  TestFabric fabric;
  ViewInput input;

  Guid GuidOf(size_t handle) const { return fabric.snapshot->node(fabric.node[handle])->guid(); }
  PortRef Ref(size_t handle, int port) const {
    return {fabric.node[handle], PortNum(static_cast<uint8_t>(port))};
  }
  Gid GidOf(size_t handle, int port = 1) const {
    return {kPrefix, fabric.snapshot->port(Ref(handle, port))->guid.value()};
  }
  Lid LidOf(size_t handle, int port = 1) const { return fabric.LidOf(handle, port); }
  // Ports change; the plan does not know.
  void SetPort(size_t handle, int port, const wire::PortInfo& info) {
    fabric::SnapshotBuilder builder(*input.snapshot);
    builder.SetPortInfo(Ref(handle, port), info);
    input.snapshot = fabric.snapshot = builder.Build();
  }
  SaView View() const { return SaView(input); }
};

inline std::shared_ptr<const routing::RoutingPlan> Plan(const SaFabric& made,
                                                        const std::string& engine,
                                                        uint8_t lanes = 1) {
  routing::RoutingOptions options;
  options.chain = {engine};
  options.lanes_max = lanes;
  options.threads = 1;
  const routing::RoutingInput input{*made.input.snapshot, *made.input.lids, options};
  auto plan = routing::RunChain(input).plan;
  FABRICD_CHECK(plan != nullptr, "{} does not route this", engine);
  return plan;
}

inline SaFabric Make(const FabricMaker& maker, uint8_t lmc = 0,
                     const std::string& engine = "up_down", uint8_t lanes = 1) {
  SaFabric made;
  made.fabric = maker.Build(lmc);
  fabric::SnapshotBuilder builder(*made.fabric.snapshot);
  made.fabric.snapshot->ForEachNode([&](const fabric::Node& node) {
    for (size_t port = 0; port < node.ports.size(); ++port) {
      const PortRef ref{node.index, PortNum(static_cast<uint8_t>(port))};
      if (port == 0 && !node.IsSwitch()) continue;
      if (port == 0 || !node.IsSwitch()) builder.SetPortGuid(ref, Guid(node.guid().value() + port));
      if (port == 0 || node.ports[port].known) builder.SetPortInfo(ref, RunningPort());
    }
  });
  made.input.snapshot = made.fabric.snapshot = builder.Build();
  made.input.lids = std::make_shared<const fabric::LidTable>(made.fabric.lids);
  made.input.sm.sm_key = kSmKey;
  made.input.plan = Plan(made, engine, lanes);
  return made;
}

constexpr uint64_t Bit(PathComponent component) {
  return uint64_t{1} << static_cast<unsigned>(component);
}

struct Query {
  wire::SaAttribute attribute;
  wire::Method method = wire::Method::kGetTable;
  uint64_t mask = 0;
  std::vector<uint8_t> data;  // From the SA header on.
  uint32_t modifier = 0;
  SmKey key;
  uint8_t class_version = wire::kSaClassVersion;

  std::vector<uint8_t> Bytes() const {
    std::vector<uint8_t> bytes(std::max(wire::kMadBytes, wire::kSaDataAt + data.size()));
    wire::SaHeader header;
    header.mad.management_class = wire::ManagementClass::kSubnAdm;
    header.mad.class_version = class_version;
    header.mad.method = method;
    header.mad.transaction_id = 0x1122334455667788;
    header.mad.attribute = static_cast<wire::AttributeId>(attribute);
    header.mad.modifier = modifier;
    header.sm_key = key;
    header.component_mask = mask;
    header.Encode(std::span<uint8_t, wire::kMadBytes>(bytes.data(), wire::kMadBytes));
    std::copy(data.begin(), data.end(), bytes.begin() + wire::kSaDataAt);
    return bytes;
  }
};

template <typename Record>
Query Ask(const Record& record, uint64_t mask, wire::Method method = wire::Method::kGetTable) {
  Query query{static_cast<wire::SaAttribute>(Record::kAttribute), method, mask,
              std::vector<uint8_t>(Record::kBytes)};
  record.Encode(std::span<uint8_t, Record::kBytes>(query.data.data(), Record::kBytes));
  return query;
}

struct Reply {
  Outcome outcome;
  wire::SaHeader header;
  std::vector<uint8_t> data;  // From the SA header on.

  uint16_t status() const { return header.mad.status; }
  // Those of a table, or the one of a Get.
  template <typename Record>
  std::vector<Record> Records() const {
    std::vector<Record> records;
    if (header.mad.status != wire::kStatusOk) return records;
    const bool one = header.mad.method == wire::Method::kGetResp ||
                     header.mad.method == wire::Method::kDeleteResp;
    const size_t end = one ? Record::kBytes : data.size();
    FABRICD_CHECK(end == 0 || one || header.attribute_offset * 8u == Record::kBytes, "offset {}",
                  header.attribute_offset);
    for (size_t at = 0; at < end; at += Record::kBytes)
      records.push_back(Record::Decode(
          std::span<const uint8_t, Record::kBytes>(data.data() + at, Record::kBytes)));
    return records;
  }
};

inline Reply Send(const SaView& view, const Query& query, Lid from, const ClientState& clients = {},
                  WallMs now = 0) {
  Reply reply;
  std::vector<uint8_t> bytes;
  reply.outcome = Answer({view, clients, now}, query.Bytes(), from, bytes);
  if (reply.outcome != Outcome::kAnswered) return reply;
  wire::MadBytes head{};
  std::copy_n(bytes.begin(), std::min(bytes.size(), head.size()), head.begin());
  reply.header = wire::SaHeader::Decode(head);
  reply.data.assign(bytes.begin() + wire::kSaDataAt, bytes.end());
  return reply;
}

}  // namespace fabricd::sa::testing
