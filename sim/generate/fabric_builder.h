// SPDX-License-Identifier: Apache-2.0
// What the generators share: a fabric as it is built, of devices that no subnet manager has touched
// (LID 0, links INIT), and the identity that each device gets. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "common/ids.h"
#include "fabric/snapshot.h"
#include "fabric/snapshot_builder.h"
#include "mad/wire/port_info.h"

namespace fabricd::sim {

using SnapshotOr = absl::StatusOr<std::shared_ptr<const fabric::FabricSnapshot>>;

constexpr int kMaxRadix = 254;  // 255 means "no path" in a forwarding table.
constexpr int64_t kMaxNodes = 200'000;

// Locally administered EUI-64. tier: 0 to 255; group and index: 0 to 65535.
Guid SwitchGuid(int tier, int group, int index);
// Of a fabric that has neither tiers nor groups; index: 0 to 16 million.
Guid SwitchGuid(int index);

// kInvalidArgument, with `what` it is of: more than kMaxNodes.
absl::Status CheckNodes(const std::string& what, int64_t switches, int64_t hosts);
// The ports of a switch that needs `needed` of them; radix 0: just as many. kInvalidArgument says
// `what` takes them.
absl::StatusOr<int> RadixFor(int radix, int64_t needed, const std::string& what);

class FabricBuilder {
 public:
  explicit FabricBuilder(wire::LinkSpeed speed) : speed_(speed) {}

  // `ports`: 1 to kMaxRadix.
  NodeIndex AddSwitch(Guid guid, int ports, std::string description);
  // HCA `rail`, from 0, of host `host`, from 1: "node0001 mlx5_0". One port.
  NodeIndex AddHca(int host, int rail);
  // Hosts `first`, `first` + 1, … with one HCA each, at ports 1 to `count` of `leaf`.
  void AddHosts(NodeIndex leaf, int first, int count);
  void Cable(NodeIndex a, int port_a, NodeIndex b, int port_b);
  std::shared_ptr<const fabric::FabricSnapshot> Build() { return builder_.Build(); }

 private:
  NodeIndex Add(wire::NodeType type, Guid guid, Guid system, int ports, std::string description);
  wire::PortInfo FreePort(PortNum number) const;
  wire::PortInfo LinkedPort(PortNum number) const;

  wire::LinkSpeed speed_;
  fabric::SnapshotBuilder builder_;
};

}  // namespace fabricd::sim
