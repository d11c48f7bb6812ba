// SPDX-License-Identifier: Apache-2.0
// PortKeys: which P_Key tables are to be read and written of a fabric's ports, and which switch
// ports are to enforce partitions: what policy/p_key_plan.h wants against what AppliedState knows.
// Pure; it reads what it is given and changes nothing.
//
// Enforced is at switch ports that face a host or a router, where the switch says that it can: the
// port holds the same keys as the port behind it. It begins to enforce only when its table is
// confirmed, since it drops what its table lacks (IBA vol 1 §10.9.4).
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

  // Of this node's ports and, of a host, the switch ports that they face: what is not known.
  std::vector<Read> Reads(const fabric::Node& node) const;
  // `problem` is told of ports with a block that is not known, and of keys that do not fit.
  template <typename Problem>
  std::vector<Write> Writes(const fabric::Node& node, Problem&& problem) const {
    std::vector<Write> writes;
    for (const PortRef port : PortsOf(node)) {
      if (auto fault = AddWrites(port, writes))
        problem(port, fault->first, std::move(fault->second));
    }
    return writes;
  }
  // Of a switch's external port: whether it is to enforce partitions as things are. While its table
  // is not confirmed it goes on as it was told, or else as it shows in `now`.
  Enforcement EnforcementOf(PortRef switch_port, const wire::PortInfo& now) const;

 private:
  bool IsExternal(PortRef port) const;
  // End ports, and switch ports that may enforce.
  std::vector<PortRef> PortsOf(const fabric::Node& node) const;
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
