// SPDX-License-Identifier: Apache-2.0
// The first half of FindRails(): which cabled end ports belong to one host, and by what key each is
// known there, with names and without. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabric/hosts.h"
#include "fabric/snapshot.h"

namespace fabricd::fabric {

struct WiredEnd {
  std::string key;  // Of the device in its host; empty in a host whose other devices have names.
  PortRef end;
  PortRef leaf;  // The switch port it is cabled to.
};

struct WiredHost {
  std::string name;
  // No device of it has a name: the keys are places in the order of GUIDs, and shift where an
  // adapter is missing.
  bool nameless = false;
  std::vector<WiredEnd> ends;  // Devices in natural order; nameless: by GUID, then port.
};

// Hosts with at least one end port cabled to a switch: those of the table in its order, then those
// made of runs of GUIDs.
std::vector<WiredHost> FindWiredHosts(const FabricSnapshot& snapshot, const HostTable& hosts);

}  // namespace fabricd::fabric
