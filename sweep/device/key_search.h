// SPDX-License-Identifier: Apache-2.0
// KeySearch: which M_Keys to try on a node of which only the cable is known. A protected node
// responds to nothing without the key of its GUID, so the GUIDs that it may have come first: that
// of the port that was last behind the cable, then, in turn, those of ports that are not where they
// were. A port without a key takes any. Pure.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "fabric/neighbors.h"
#include "sweep/interface/options.h"

namespace fabricd::sweep {

class KeySearch {
 public:
  // A port by the GUID of its end port (itself, or port 0 of its switch) and its number.
  using Cable = std::pair<Guid, PortNum>;

  // `options` must outlive this.
  explicit KeySearch(const SmOptions& options) : options_(&options) {}

  // End ports that may have a derived M_Key although no SMP has reached them yet.
  void SetKnownPorts(const std::vector<Guid>& port_guids);
  // An end port has responded behind `cable`; {}: it is this SM's own.
  void NoteFound(Cable cable, Guid port_guid);
  void NoteGone(Guid port_guid);

  // After `likely`: at least one key and at most kMostMKeys.
  std::vector<MKey> Next(Cable cable, std::vector<MKey> likely);

 private:
  // Whether keys go by GUIDs; else there is nothing to remember.
  bool GoByGuid() const { return HasDerived() || !options_->m_key_by_guid.empty(); }
  bool HasDerived() const;

  const SmOptions* options_;
  fabric::Neighbors found_;  // Since the start; what was there before is in the options.
  std::set<Guid> away_;      // Of derived keys only: of the others all are in the options.
  Guid tried_;               // The last one of `away_`.
};

}  // namespace fabricd::sweep
