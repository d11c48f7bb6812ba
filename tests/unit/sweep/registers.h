// SPDX-License-Identifier: Apache-2.0
// Registers: what the devices of a small fabric hold, and how honest ones carry out Gets and Sets
// of the attributes that are programmed.
#pragma once

#include <map>
#include <tuple>

#include "fabric/snapshot_builder.h"
#include "mad/transaction_engine.h"
#include "mad/wire/tables.h"

namespace fabricd::sweep {

class Registers {
 public:
  // PortInfo and SwitchInfo are at first as the builder has them, whenever first asked for; entries
  // of forwarding tables lead nowhere, all others are zero.
  explicit Registers(const fabric::SnapshotBuilder& builder) : builder_(builder) {}

  // What the GetResp shows.
  wire::SmpData CarryOut(NodeIndex node, const mad::SmpRequest& request) {
    return CarryOut(node, request.method, request.attribute, request.modifier, request.data);
  }
  wire::SmpData CarryOut(NodeIndex node, wire::Method method, wire::AttributeId attribute,
                         uint32_t modifier, const wire::SmpData& data) {
    wire::SmpData& held = At(node, attribute, modifier);
    if (method == wire::Method::kSet) held = After(attribute, held, data);
    return held;
  }
  template <typename Attribute>
  void Put(NodeIndex node, uint32_t modifier, const Attribute& value) {
    value.Encode(At(node, Attribute::kAttribute, modifier));
  }
  template <typename Attribute>
  Attribute Read(NodeIndex node, uint32_t modifier) {
    return Attribute::Decode(At(node, Attribute::kAttribute, modifier));
  }
  // As at first.
  void Reset() { bytes_.clear(); }

 private:
  wire::SmpData& At(NodeIndex node, wire::AttributeId attribute, uint32_t modifier) {
    if (attribute == wire::AttributeId::kPortInfo) modifier &= ~wire::kSmSupportsExtendedSpeeds;
    const auto [it, is_new] = bytes_.try_emplace({node, attribute, modifier});
    if (is_new) it->second = Initial(node, attribute, modifier);
    return it->second;
  }
  wire::SmpData Initial(NodeIndex index, wire::AttributeId attribute, uint32_t modifier) const {
    const fabric::Node& node = *builder_.node(index);
    wire::SmpData data{};
    if (attribute == wire::AttributeId::kPortInfo)
      node.ports.at(modifier).info.Encode(data);
    else if (attribute == wire::AttributeId::kSwitchInfo)
      node.switch_info->Encode(data);
    else if (attribute == wire::AttributeId::kLinearForwardingTable)
      data.fill(wire::LinearForwardingTable::kNoPath);
    return data;
  }
  static wire::SmpData After(wire::AttributeId attribute, const wire::SmpData& held,
                             const wire::SmpData& set) {
    wire::SmpData after = set;
    if (attribute == wire::AttributeId::kPortInfo) {
      const auto before = wire::PortInfo::Decode(held);
      auto info = wire::PortInfo::Decode(set);
      if (info.port_state == wire::PortState::kNoChange) info.port_state = before.port_state;
      if (info.port_physical_state == wire::PortPhysicalState::kNoChange)
        info.port_physical_state = before.port_physical_state;
      info.client_reregister = false;
      info.Encode(after);
    } else if (attribute == wire::AttributeId::kSwitchInfo) {
      auto info = wire::SwitchInfo::Decode(set);
      info.port_state_change = false;
      info.Encode(after);
    }
    return after;
  }

  const fabric::SnapshotBuilder& builder_;
  std::map<std::tuple<NodeIndex, wire::AttributeId, uint32_t>, wire::SmpData> bytes_;
};

}  // namespace fabricd::sweep
