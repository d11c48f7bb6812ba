// SPDX-License-Identifier: Apache-2.0
// Rails: which HCAs of many hosts are wired alike. In a rail-optimised fabric the hosts of a
// scalable unit (SU) have their first HCA on one leaf, their second on another, and so on. Found
// from what most hosts agree on, so a missing HCA or a misplaced cable does not hide it; a cable
// that disagrees with its host's unit is named. An immutable value once built.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabric/hosts.h"
#include "fabric/snapshot.h"

namespace fabricd::fabric {

// Hosts whose HCAs hang on the same leaves.
struct RailUnit {
  std::vector<NodeIndex> leaf;  // [rail] None: the unit has no such rail.
  std::vector<uint32_t> hosts;  // Into Rails::hosts, ascending.
};

struct RailHost {
  std::string name;           // As in the HostTable; hosts without a name: a GUID.
  uint32_t unit = 0;          // Into Rails::units.
  std::vector<PortRef> ends;  // [rail] The end port on the unit's leaf of that rail, or none.
};

// An end port that is not on the leaf on which its host's unit has this device.
struct MisplacedEnd {
  uint32_t host = 0;   // Into Rails::hosts.
  std::string device;  // "mlx5_3"; of an adapter without a name its GUID.
  PortRef end;         // The end port.
  PortRef found;       // The switch port it hangs on.
  NodeIndex expected;  // The leaf of its unit.
  uint32_t rail = 0;   // Its rail there.
};

struct Rails {
  std::vector<std::string> names;       // [rail] The device that most units have there.
  std::vector<RailUnit> units;          // By the GUID of their lowest leaf.
  std::vector<RailHost> hosts;          // In the order of the HostTable: natural order of names.
  std::vector<MisplacedEnd> misplaced;  // By host, then rail.
  std::string why_none;                 // Why there are no units; empty when there are.

  bool empty() const { return units.empty(); }
};

// `hosts` must be of this snapshot. A port counts by the switch it is cabled to. A device is known
// by its name, which is an opaque key within the host; where adapters have no names (the vendor's
// default description, or one name for many machines), those with one SystemImageGUID are a host,
// else runs of node GUIDs whose leaves repeat, and the k-th port by GUID is a device.
Rails FindRails(const FabricSnapshot& snapshot, const HostTable& hosts);

// "node0012": "node". Hosts of one family are numbered through, and mostly built alike.
std::string FamilyOf(const std::string& host);

// The leaf port that a host has on most of its leaves, the lowest of several; 0: it has none.
uint8_t CommonLeafPort(const FabricSnapshot& snapshot, const RailHost& host);

// "hangs on su1-rail5-leaf/7, expected on su1-rail3-leaf"
std::string DescribePlaces(const MisplacedEnd& misplaced, const FabricSnapshot& snapshot);
// "HCA mlx5_3 of node0007 hangs on …"
std::string Describe(const MisplacedEnd& misplaced, const Rails& rails,
                     const FabricSnapshot& snapshot);

}  // namespace fabricd::fabric
