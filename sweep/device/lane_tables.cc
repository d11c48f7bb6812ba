// SPDX-License-Identifier: Apache-2.0
#include "sweep/device/lane_tables.h"

#include <algorithm>

namespace fabricd::sweep {
namespace {

constexpr uint32_t kAllInAllOut = 0x00030000;  // AttributeModifier bits 16 and 17.
constexpr uint8_t kWeight = 4;                 // For a VL without an entry, in units of 64 bytes.

bool IsLinked(const fabric::FabricSnapshot& snapshot, const fabric::Port& port) {
  const fabric::Port* peer = port.peer.IsNone() ? nullptr : snapshot.port(port.peer);
  return port.known && port.IsUp() && peer != nullptr && peer->IsUp();
}

}  // namespace

wire::SlToVlMappingTable VlMap(uint8_t lanes, const wire::PortInfo& out) {
  const int vls = std::max(1, wire::DataVls(out.operational_vls));
  wire::SlToVlMappingTable map;
  for (size_t level = 0; level < map.vl.size(); ++level)
    map.vl[level] = static_cast<uint8_t>(static_cast<int>(level % lanes) % vls);
  return map;
}

std::optional<wire::VlArbitrationTable> ServeVls(const wire::VlArbitrationTable& low, uint8_t cap,
                                                 int lanes) {
  wire::VlArbitrationTable wanted = low;
  const size_t end = std::min<size_t>(cap, wanted.entries.size());
  bool changed = false;
  for (int lane = 0; lane < lanes; ++lane) {
    const auto serves = [&](const auto& entry) { return entry.vl == lane && entry.weight > 0; };
    const auto last = wanted.entries.begin() + static_cast<std::ptrdiff_t>(end);
    if (std::any_of(wanted.entries.begin(), last, serves)) continue;
    const auto free = std::find_if(wanted.entries.begin(), last,
                                   [](const auto& entry) { return entry.weight == 0; });
    if (free == last) break;
    *free = {static_cast<uint8_t>(lane), kWeight};
    changed = true;
  }
  return changed ? std::optional(wanted) : std::nullopt;
}

uint32_t VlTable::Modifier(bool is_switch) const {
  switch (kind) {
    case Kind::kWholeMap: return kAllInAllOut;
    case Kind::kMap: return is_switch ? in_out : 0;
    case Kind::kArbitration: break;
  }
  return wire::VlArbitrationTable::Modifier(static_cast<uint8_t>(in_out),
                                            is_switch ? port.port : PortNum(0));
}

std::vector<VlTable> VlTablesOf(const fabric::FabricSnapshot& snapshot, const fabric::Node& node) {
  std::vector<VlTable> tables;
  std::vector<uint8_t> linked;
  for (size_t port = 1; port < node.ports.size() && port < 255; ++port)
    if (IsLinked(snapshot, node.ports[port])) linked.push_back(static_cast<uint8_t>(port));
  for (uint8_t out : linked) {
    const PortRef port{node.index, PortNum(out)};
    // A port with one VL has neither table.
    if (wire::DataVls(node.port(port.port).info.vl_cap) < 2) continue;
    tables.push_back({port, VlTable::Kind::kArbitration, kLowArbitrationBlock});
    if (!node.IsSwitch()) {
      tables.push_back({port, VlTable::Kind::kMap, 0});
      continue;
    }
    const PortRef all{node.index, PortNum(0)};
    const auto map = [&](uint8_t in) {
      tables.push_back({all, VlTable::Kind::kMap, static_cast<uint16_t>(in << 8 | out)});
    };
    map(0);  // For packets that the switch itself sends.
    for (uint8_t in : linked)
      if (in != out) map(in);
  }
  return tables;
}

std::vector<VlTable> AllVlTablesOf(const fabric::Node& node) {
  std::vector<VlTable> tables;
  const auto add_arbitration = [&](PortRef port) {
    for (uint8_t block = 1; block <= kLastArbitrationBlock; ++block)
      tables.push_back({port, VlTable::Kind::kArbitration, block});
  };
  const int ports = static_cast<int>(std::min<size_t>(node.ports.size(), 255));
  for (int number = node.IsSwitch() ? 0 : 1; number < ports; ++number) {
    const PortRef port{node.index, PortNum(static_cast<uint8_t>(number))};
    if (!node.port(port.port).known) continue;
    add_arbitration(port);
    if (!node.IsSwitch()) tables.push_back({port, VlTable::Kind::kMap, 0});
    for (int out = 0; node.IsSwitch() && out < ports; ++out)
      tables.push_back({{node.index, PortNum(0)},
                        VlTable::Kind::kMap,
                        static_cast<uint16_t>(number << 8 | out)});
  }
  return tables;
}

void AppliedVls::Forget(NodeIndex node) {
  ++version_;
  read_.erase(node);
  std::erase_if(tables_, [node](const auto& entry) { return entry.first.port.node == node; });
}

}  // namespace fabricd::sweep
