// SPDX-License-Identifier: Apache-2.0
// RestartWatch: notices during a run that a device has restarted, so that what was written to it is
// lost, and reads ports once more that may have changed behind a Set.
#pragma once

#include <absl/container/flat_hash_set.h>

#include "sweep/write/attribute_writer.h"

namespace fabricd::sweep {

class RestartWatch {
 public:
  // `ground` must outlive this.
  explicit RestartWatch(const ProgramGround& ground) : ground_(ground) {}

  // A Set gave the switch its LID, or confirmed it.
  void NoteLidSet(NodeIndex node) { lid_set_.insert(node); }
  // A switch shows PortStateChange. It has its LinearFDBTop from the Set of SwitchInfo that it has
  // answered, which hides that it restarted after it was read; but then it has no LID, unless a Set
  // gave it one since. `expected`: it showed before that a port had changed.
  void Check(NodeIndex node, bool expected);
  // The device has restarted: all of it is unknown, and is programmed by the next run.
  void OnRestart(NodeIndex node);

  // What made this necessary will not show again, so that the node is looked at if no answer comes.
  void ReadAgain(PortRef port);
  // The answer to ReadAgain(), or to one that a stage listed.
  void OnRead(PortRef port) { ground_.record.rereads().NoteEnd(port); }

 private:
  const ProgramGround& ground_;
  absl::flat_hash_set<NodeIndex> lid_set_;
};

// A Get of the port's PortInfo.
mad::SmpRequest ReadOfPort(const DeviceTable& devices, PortRef port);

}  // namespace fabricd::sweep
