// SPDX-License-Identifier: Apache-2.0
// RestartWatch: detects during a run that a device has restarted and so lost everything that was
// written to it. It also reads ports again that may have changed unseen behind a Set.
#pragma once

#include <absl/container/flat_hash_set.h>

#include "sweep/write/attribute_writer.h"

namespace fabricd::sweep {

class RestartWatch {
 public:
  // `ground` must outlive this.
  explicit RestartWatch(const ProgramGround& ground) : ground_(ground) {}

  // A Set has assigned or confirmed the switch's LID.
  void NoteLidSet(NodeIndex node) { lid_set_.insert(node); }
  // A switch reports PortStateChange. It may have restarted after it was read. Its LinearFDBTop
  // cannot show that, because the last Set of SwitchInfo has written it again. But then it has no
  // LID, unless a Set has assigned one since. `expected`: PortStateChange was set before already.
  void Check(NodeIndex node, bool expected);
  // The device has restarted: everything about it is unknown, and the next run programs it.
  void OnRestart(NodeIndex node);

  // Reads the port again. The reason will not show again, so without a response the node is
  // surveyed.
  void ReadAgain(PortRef port);
  // A read of the port has ended, whoever requested it.
  void OnRead(PortRef port) { ground_.record.rereads().NoteEnd(port); }

 private:
  const ProgramGround& ground_;
  absl::flat_hash_set<NodeIndex> lid_set_;
};

// A Get of the port's PortInfo. REQUIRES: `node` is the port's.
mad::SmpRequest ReadOfPort(const DeviceTable& devices, const fabric::Node& node, PortNum port);

}  // namespace fabricd::sweep
