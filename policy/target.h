// SPDX-License-Identifier: Apache-2.0
// From what an operator types to a HoldTarget: which part of the fabric is meant, as GUIDs, and
// which switch ports face it. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/statusor.h>

#include "fabric/hosts.h"
#include "fabric/lid_table.h"
#include "fabric/names.h"
#include "fabric/snapshot.h"
#include "policy/hold.h"

namespace fabricd::policy {

// What names are looked up in. References must live as long as the call.
struct TargetPlaces {
  const fabric::FabricSnapshot& snapshot;
  const fabric::HostTable& hosts;  // Of the snapshot.
  const fabric::NodeNames& names;  // Of its nodes.
  const fabric::LidTable* lids;    // May be null: then by the LIDs that the ports report.
  PortRef sm_port = PortRef();     // None: which end of a link stays reachable is not known.
};

// `text` is one name, blanks around it ignored:
//   host    "node12"
//   HCA     "node12/mlx5_3", "node12 mlx5_3", its GUID or that of a port of it
//   switch  a name or a GUID
//   port    "leaf1/3", "0xGUID/3", "node12/mlx5_3/1", a port GUID; of an HCA with one port, the HCA
//   link    either end, as a port
//   any     "lid:7", "lid:0x7"
// With `kind` nullopt: the host of that name, else the port, else the HCA or switch.
// kNotFound names what was looked for; kInvalidArgument lists the candidates of an ambiguous name,
// or says what the text names instead.
absl::StatusOr<HoldTarget> ResolveTarget(std::optional<TargetKind> kind, std::string_view text,
                                         const TargetPlaces& places);

// The target that a port is: of a CA its end port, of a switch the port itself. REQUIRES: it is in
// the snapshot.
HoldTarget TargetOfPort(PortRef port, const fabric::FabricSnapshot& snapshot,
                        const fabric::NodeNameMap* names = nullptr, PortRef sm_port = PortRef());
// The link of a port, named by its lower end. REQUIRES: the port is in the snapshot and linked.
HoldTarget TargetOfLink(PortRef port, const fabric::FabricSnapshot& snapshot,
                        const fabric::NodeNameMap* names = nullptr, PortRef sm_port = PortRef());

std::string_view TargetKindName(TargetKind kind);  // "host"
std::string_view HoldKindName(HoldKind kind);      // "cordon"
// "drain (soft)"; else as HoldKindName.
std::string HoldKindText(const Hold& hold);

}  // namespace fabricd::policy
