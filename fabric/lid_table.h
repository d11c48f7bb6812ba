// SPDX-License-Identifier: Apache-2.0
// LidTable: which end port owns which LIDs. Part of the plan (desired), not of the snapshot. An
// immutable value once built; copied freely by shared_ptr.
#pragma once

#include <cstdint>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "common/ids.h"

namespace fabricd::fabric {

struct LidRange {
  Lid base;         // Multiple of 2^lmc; 0: no LID.
  uint8_t lmc = 0;  // 0-7
  uint16_t count() const { return static_cast<uint16_t>(1u << lmc); }
  friend bool operator==(const LidRange&, const LidRange&) = default;
};

class LidTable {
 public:
  // REQUIRES: range.base aligned and no LID of the range owned by another port.
  void Assign(PortRef end_port, LidRange range);
  // The port's LIDs are nobody's for now; top() stays, as of a table whose owners may come back.
  void Release(PortRef end_port);
  // LID 0 range when the port has none.
  LidRange Of(PortRef end_port) const {
    auto it = by_port_.find(end_port);
    return it == by_port_.end() ? LidRange{} : it->second;
  }
  // None: nobody's.
  PortRef Owner(Lid lid) const {
    return lid.value() < owner_.size() ? owner_[lid.value()] : PortRef{};
  }
  // Highest LID in use or released, 0 when empty.
  Lid top() const {
    return owner_.empty() ? Lid(0) : Lid(static_cast<uint16_t>(owner_.size() - 1));
  }
  // Tables keep the size that LIDs up to `lid` need, whether that is anybody's or not.
  void KeepTop(Lid lid) {
    if (lid > top()) owner_.resize(lid.value() + 1u);
  }
  size_t port_count() const { return by_port_.size(); }

 private:
  absl::flat_hash_map<PortRef, LidRange> by_port_;
  std::vector<PortRef> owner_;  // [LID]
};

}  // namespace fabricd::fabric
