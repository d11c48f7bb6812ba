// SPDX-License-Identifier: Apache-2.0
// PortKeys: which P_Key tables of ports must be read and written, and which switch ports must
// enforce partitions: the tables of policy/p_key_plan.h compared with AppliedState. Pure; changes
// nothing.
//
// Switch ports that face a host or a router enforce partitions where the switch supports it. The
// port holds the same keys as its peer. It begins to enforce only when its table is confirmed,
// because it drops packets whose key its table lacks (IBA vol 1 §10.9.4).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fabric/snapshot.h"
#include "policy/p_key_plan.h"
#include "sweep/desired/desired_state.h"
#include "sweep/device/applied_state.h"
#include "sweep/device/port_config.h"
#include "sweep/interface/problem.h"

namespace fabricd::sweep {

class PortKeys {
 public:
  struct Read {
    PortRef port;
    uint16_t block = 0;
  };
  struct Write {
    PortRef port;
    uint16_t block = 0;
    wire::PKeyTable table;
  };
  struct Table {
    std::vector<wire::PKeyTable> blocks;
    std::vector<PKey> left_out;
  };

  // All must outlive this. `local` is the SM's port.
  PortKeys(const DesiredKeys& desired, PortRef local, const fabric::FabricSnapshot& snapshot,
           const AppliedState& applied)
      : desired_(desired), local_(local), snapshot_(snapshot), applied_(applied) {}

  // The unknown blocks of this node's ports and, for a host, of the switch ports that they face.
  std::vector<Read> Reads(const fabric::Node& node) const;
  // `problem` is called for ports with an unknown block, and for keys that do not fit.
  template <typename Problem>
  std::vector<Write> Writes(const fabric::Node& node, Problem&& problem) const {
    std::vector<Write> writes;
    for (const PortRef port : PortsOf(node)) {
      if (auto fault = AddWrites(port, writes))
        problem(port, fault->first, std::move(fault->second));
    }
    return writes;
  }
  // Whether the port of a switch enforces partitions because another SM has requested it, although
  // this one's partitions and options would not. It goes on: nothing says that the tenants of this
  // fabric can do without. Ends when this SM requests enforcement of the port itself.
  bool IsKept(PortRef switch_port) const;
  // Whether a switch's external port must enforce partitions now. While its table is not confirmed
  // this is the last requested enforcement, or else the one in `now`.
  Enforcement EnforcementOf(PortRef switch_port, const wire::PortInfo& now) const;

 private:
  bool IsExternal(PortRef port) const;
  // End ports, and switch ports that may enforce.
  std::vector<PortRef> PortsOf(const fabric::Node& node) const;
  bool CanEnforce(PortRef switch_port) const;
  bool MustEnforce(PortRef switch_port) const;
  // Its table is kept equal to that of its peer.
  bool MayEnforce(PortRef switch_port) const;
  std::optional<Table> TableOf(PortRef port) const;
  std::optional<Table> EndPortTable(PortRef port) const;
  std::optional<Table> SwitchPortTable(PortRef port) const;
  size_t CapacityOf(PortRef port) const;
  std::optional<std::pair<ProblemKind, std::string>> AddWrites(PortRef port,
                                                               std::vector<Write>& writes) const;
  const AppliedState::PKeyBlocks* HeldBy(PortRef port) const;

  const DesiredKeys& desired_;
  const PortRef local_;
  const fabric::FabricSnapshot& snapshot_;
  const AppliedState& applied_;
};

}  // namespace fabricd::sweep
