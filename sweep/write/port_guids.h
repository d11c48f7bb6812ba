// SPDX-License-Identifier: Apache-2.0
// PortGuids: which GUIDInfo blocks are to be read and written of a fabric's end ports: the alias
// GUIDs that Subnet Administration gave out (IBA vol 1 §14.2.5.5) against what AppliedState knows.
// Pure; it reads what it is given and changes nothing.
//
// Entries of which nothing was said stay as the device has them, and nothing is written beside a
// block that is not known. A port that has no aliases costs no request, unless partitions name
// GUIDs that are no port's own: then all GUIDs are read, to find whose they are.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/snapshot.h"
#include "sweep/desired/desired_state.h"
#include "sweep/device/applied_state.h"

namespace fabricd::sweep {

class PortGuids {
 public:
  struct Read {
    PortRef port;
    uint8_t block = 0;
  };
  struct Write {
    PortRef port;
    uint8_t block = 0;
    wire::GuidInfo info;
  };

  // All must outlive this.
  PortGuids(const DesiredGuids& desired, const fabric::FabricSnapshot& snapshot,
            const AppliedState& applied)
      : desired_(desired), snapshot_(snapshot), applied_(applied) {}

  // What is not known of this node's end ports.
  std::vector<Read> Reads(const fabric::Node& node) const;
  std::vector<Write> Writes(const fabric::Node& node) const;
  // Of a block that was read: the next one may hold GUIDs that are looked for.
  bool GoesOn(PortRef port, uint8_t block, const wire::GuidInfo& info) const;

 private:
  // Null: the block is to be read.
  const wire::GuidInfo* Find(PortRef port, size_t block) const;

  const DesiredGuids& desired_;
  const fabric::FabricSnapshot& snapshot_;
  const AppliedState& applied_;
};

}  // namespace fabricd::sweep
