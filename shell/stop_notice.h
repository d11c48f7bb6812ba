// SPDX-License-Identifier: Apache-2.0
// StopNotices: a master that was stopped may send one Set more when it continues (write_fence.h),
// after its successor has read what that Set changes. So it says to the other nodes that it was
// stopped, and the master reads everything again: once for each stop, and again where another node
// becomes master before that one does.
//
// The notice is a line of store::etcd::NodeStatement::about, for as long as the process waits.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "common/time.h"
#include "store/etcd/etcd_store.h"

namespace fabricd::shell {

// `stopped_for`: as accurate as it was measured, which tells stops of a node apart. Zero: no line.
std::string StopNotice(std::chrono::nanoseconds stopped_for);

class StopNotices {
 public:
  // Call after each turn of a master. Whether another node says that it was stopped, and has not
  // said so before.
  bool HasNew(const store::etcd::SharedStore& shared, Instant now);
  // The read that was to follow could not be started: HasNew() returns true again.
  void Forget() { seen_.clear(); }

 private:
  static constexpr Duration kInterval = std::chrono::milliseconds(500);

  Instant next_{};
  // By instance, also of those that are away for a moment: as many as there are state directories.
  std::map<std::string, std::string> seen_;
};

}  // namespace fabricd::shell
