// SPDX-License-Identifier: Apache-2.0
// What each device's PortInfo and SwitchInfo should say: pure functions of what was read, the LIDs
// and the options. A Set repeats the value last read with only our fields changed (IBA vol 1
// §14.2.5.6; the rules are those of reference WIRE.md §3-4, differences are argued in
// docs/WIRE.md).
#pragma once

#include <optional>

#include "fabric/lid_table.h"
#include "fabric/snapshot.h"
#include "sweep/interface/options.h"

namespace fabricd::sweep {

struct PortWish {
  wire::PortInfo info;
  uint32_t modifier = 0;  // Port number; bit 31 where the port knows extended speeds.
};

// Whether a switch's port drops packets of partitions that are not in its table: incoming ones,
// outgoing ones.
struct Enforcement {
  bool inbound = false, outbound = false;
};

class PortConfig {
 public:
  PortConfig(const CoreOptions& options, Lid master_sm_lid)
      : options_(options), sm_lid_(master_sm_lid) {}

  // The configuration of an end port or of a switch's linked external port, with PortState NoChange
  // (DOWN where an active link runs outside of its abilities and must retrain). nullopt: nothing to
  // configure, or equal to what was read.
  std::optional<PortWish> Configure(const fabric::FabricSnapshot& snapshot,
                                    const fabric::LidTable& lids, const fabric::Node& node,
                                    PortNum port, bool reregister_clients,
                                    Enforcement enforcement = {}) const;

  // The last PortInfo read, with only the port's state changed.
  static PortWish ChangeState(const fabric::Node& switch_or_ca, PortNum port,
                              wire::PortState state);

  // The same with only the physical state changed: kDisabled takes the link down and keeps it down,
  // kPolling lets it train again.
  static PortWish ChangePhysicalState(const fabric::Node& node, PortNum port,
                                      wire::PortPhysicalState state);

  // The LinearFDBTop that a switch needs where LIDs go up to `lid_top`: at most what LinearFDBCap
  // allows.
  static Lid NeededTop(const fabric::Node& node, Lid lid_top);
  // True if all switches have the LinearFDBTop that they need.
  static bool TopsSuffice(const fabric::FabricSnapshot& snapshot, Lid lid_top);

  // nullopt: equal to what was read.
  std::optional<wire::SwitchInfo> ConfigureSwitch(const fabric::Node& node, Lid lid_top) const;

  // SMSupportExtendedSpeeds belongs into the modifier only if the port (a switch: its port 0) says
  // that it understands it.
  static bool KnowsExtendedSpeeds(const fabric::Node& node, PortNum port);
  // Of a switch whose port 0 is known: it tells the states of all ports at once.
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

// Whether they differ in anything but PortStateChange, which tells of ports.
bool IsSetOtherwise(wire::SwitchInfo a, wire::SwitchInfo b);

// Of an end port whose device started anew, whatever else it has been told since.
bool HasLostLid(const wire::PortInfo& before, const wire::PortInfo& now);

// Faults of a PortInfo that make the port unusable: what is wrong, or nullopt.
std::optional<std::string> FindPortInfoFault(const wire::PortInfo& info, const fabric::Node& node,
                                             PortNum port);

}  // namespace fabricd::sweep
