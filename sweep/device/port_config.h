// SPDX-License-Identifier: Apache-2.0
// The PortInfo and SwitchInfo that each device should have: pure functions of the observed values,
// the LIDs and the options. A Set repeats the last observed value and changes only the fields that
// fabricd manages (IBA vol 1 §14.2.5.6). The rules follow reference WIRE.md §3-4; docs/WIRE.md
// explains the differences.
#pragma once

#include <optional>

#include "fabric/lid_table.h"
#include "fabric/snapshot.h"
#include "sweep/interface/options.h"

namespace fabricd::sweep {

struct PortWish {
  wire::PortInfo info;
  uint32_t modifier = 0;  // Port number; bit 31 if the port supports extended speeds.
};

// Whether a switch port drops incoming or outgoing packets of partitions that are not in its table.
struct Enforcement {
  bool inbound = false, outbound = false;
};

class PortConfig {
 public:
  PortConfig(const CoreOptions& options, Lid master_sm_lid)
      : options_(options), sm_lid_(master_sm_lid) {}

  // The configuration of an end port or of a switch's linked external port, with PortState
  // NoChange. It is DOWN where an active link runs with values that its ports do not support, so
  // that it retrains. nullopt: nothing to configure, or equal to the observed value.
  std::optional<PortWish> Configure(const fabric::FabricSnapshot& snapshot,
                                    const fabric::LidTable& lids, const fabric::Node& node,
                                    PortNum port, bool reregister_clients,
                                    Enforcement enforcement = {}) const;

  // The last observed PortInfo with only the port state changed.
  static PortWish ChangeState(const fabric::Node& switch_or_ca, PortNum port,
                              wire::PortState state);

  // The same with only the physical state changed: kDisabled takes the link down and keeps it down,
  // kPolling lets it train again.
  static PortWish ChangePhysicalState(const fabric::Node& node, PortNum port,
                                      wire::PortPhysicalState state);

  // The LinearFDBTop that a switch needs for LIDs up to `lid_top`, at most what LinearFDBCap
  // allows.
  static Lid NeededTop(const fabric::Node& node, Lid lid_top);
  // True: all switches have the LinearFDBTop that they need.
  static bool TopsSuffice(const fabric::FabricSnapshot& snapshot, Lid lid_top);

  // nullopt: equal to the observed value.
  std::optional<wire::SwitchInfo> ConfigureSwitch(const fabric::Node& node, Lid lid_top) const;

  // Whether the port (of a switch: its port 0) supports SMSupportExtendedSpeeds. Only then the
  // modifier may contain it.
  static bool KnowsExtendedSpeeds(const fabric::Node& node, PortNum port);
  // The AttributeModifier of every Get and Set of the port's PortInfo. Without
  // SMSupportExtendedSpeeds a device may hide its extended speeds, and show a lower one instead.
  static uint32_t ModifierOf(const fabric::Node& node, PortNum port);
  // Whether port 0 of the switch has a PortStateTable, which returns the states of all ports at
  // once.
  static bool HasStateTable(const fabric::Node& node);

 private:
  void ConfigureEndPort(const fabric::Node& node, PortNum num, fabric::LidRange lids,
                        bool reregister, wire::PortInfo& info) const;
  void ConfigureLink(const fabric::Node& node, const fabric::Port& port,
                     const fabric::Node& peer_node, const fabric::Port& peer,
                     Enforcement enforcement, wire::PortInfo& info) const;

  const CoreOptions& options_;
  Lid sm_lid_;
};

// Whether they differ in more than PortStateChange, which is about ports and not about settings,
// and reserved bits, which mean nothing.
bool IsSetOtherwise(wire::SwitchInfo a, wire::SwitchInfo b);

// Whether an end port has lost its LID because its device restarted, whatever else was written
// since.
bool HasLostLid(const wire::PortInfo& before, const wire::PortInfo& now);

// Faults of a PortInfo that make the port unusable: what is wrong, or nullopt.
std::optional<std::string> FindPortInfoFault(const wire::PortInfo& info, const fabric::Node& node,
                                             PortNum port);

}  // namespace fabricd::sweep
