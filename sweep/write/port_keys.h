// SPDX-License-Identifier: Apache-2.0
// PortKeys: which P_Key tables are to be read and written of a fabric's ports, and which switch
// ports are to enforce partitions: what policy/p_key_plan.h wants against what DeviceTable knows.
// Pure; it reads what it is given and changes nothing.
//
// Enforced is at switch ports that face a host or a router, where the switch says that it can: the
// port holds the same keys as the port behind it. It begins to enforce only when its table is
// confirmed, since it drops what its table lacks (IBA vol 1 §10.9.4).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fabric/snapshot.h"
#include "policy/options.h"
#include "policy/p_key_plan.h"
#include "sweep/device/device_table.h"
#include "sweep/device/port_config.h"

namespace fabricd::sweep {

struct KeyInput {
  std::shared_ptr<const policy::PartitionIndex> index;  // Not null.
  policy::PartitionOptions options;
  std::vector<PortRef> isolated;  // Sorted.
  PortRef local;                  // The SM's port.
  // Look at all ports, whatever the scope: partitions or isolated ports have changed.
  bool all = false;
};

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

  // Both must outlive this.
  PortKeys(KeyInput input, const fabric::FabricSnapshot& snapshot, const DeviceTable& devices);

  // Of this node's ports and, of a host, the switch ports that they face: what is not known.
  std::vector<Read> Reads(const fabric::Node& node) const;
  // `problem` is told of ports with a block that is not known, and of keys that do not fit.
  template <typename Problem>
  std::vector<Write> Writes(const fabric::Node& node, Problem&& problem) const {
    std::vector<Write> writes;
    for (const PortRef port : PortsOf(node)) {
      std::string kind, text;
      AddWrites(port, writes, kind, text);
      if (!kind.empty()) problem(port, std::move(kind), std::move(text));
    }
    return writes;
  }
  // Of a switch's external port: whether it is to enforce partitions as things are. While its table
  // is not confirmed it goes on as it was told, or else as it shows in `now`.
  Enforcement EnforcementOf(PortRef switch_port, const wire::PortInfo& now) const;
  bool looks_at_all() const { return input_.all; }

 private:
  bool IsExternal(PortRef port) const;
  // End ports, and switch ports that may enforce.
  std::vector<PortRef> PortsOf(const fabric::Node& node) const;
  bool MayEnforce(PortRef switch_port) const;
  std::optional<Table> TableOf(PortRef port) const;
  std::optional<Table> EndPortTable(PortRef port) const;
  std::optional<Table> SwitchPortTable(PortRef port) const;
  size_t CapacityOf(PortRef port) const;
  void AddWrites(PortRef port, std::vector<Write>& writes, std::string& kind,
                 std::string& text) const;
  const AppliedState::PKeyBlocks* HeldBy(PortRef port) const;

  const KeyInput input_;
  const fabric::FabricSnapshot& snapshot_;
  const DeviceTable& devices_;
};

// Whether GUIDs are named that are no port's own.
bool NamesStrangers(const policy::PartitionIndex& index, const fabric::FabricSnapshot& snapshot);

}  // namespace fabricd::sweep
