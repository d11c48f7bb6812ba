// SPDX-License-Identifier: Apache-2.0
// PortGuids: which GUIDInfo blocks of end ports must be read and written: the alias GUIDs that
// Subnet Administration allocated (IBA vol 1 §14.2.5.5) compared with AppliedState. Pure; changes
// nothing.
//
// Entries without an allocation stay as the device has them, and nothing is written while the block
// is unknown. A port without aliases costs no request, unless partitions name GUIDs that are no
// port's own: then all GUIDs are read to find their ports.
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

  // The unknown blocks of this node's end ports.
  std::vector<Read> Reads(const fabric::Node& node) const;
  std::vector<Write> Writes(const fabric::Node& node) const;
  // Call after the block was read. True: the next block may hold GUIDs that are searched for.
  bool GoesOn(PortRef port, uint8_t block, const wire::GuidInfo& info) const;

 private:
  // Null: the block must be read.
  const wire::GuidInfo* Find(PortRef port, size_t block) const;

  const DesiredGuids& desired_;
  const fabric::FabricSnapshot& snapshot_;
  const AppliedState& applied_;
};

}  // namespace fabricd::sweep
