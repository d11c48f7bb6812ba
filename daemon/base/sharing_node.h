// SPDX-License-Identifier: Apache-2.0
// SharingNode: one of the management nodes that share the durable state.
#pragma once

#include <string>
#include <vector>

#include "common/ids.h"
#include "common/time.h"

namespace fabricd::daemon {

struct SharingNode {
  // Of one that waits, and may take the place of the master.
  static constexpr char kWaiting[] = "WAITING";

  std::string name;      // "head1 pid 4711"
  std::string endpoint;  // Of its API; empty: it does not say.
  std::string version;   // Of fabricd.
  std::string state;     // kWaiting, or the SMInfo state: "MASTER".
  Guid sm_port;          // 0: not known yet.
  bool is_this = false;
  std::vector<std::string> different_keys;  // Of the configuration, that are not as on this node.

  // Another node that a master can give the subnet to.
  bool MaySucceed() const { return !is_this && state == kWaiting; }
};

// Of the state that several nodes share.
struct SharedStateAge {
  Duration lease_left{};    // Of the epoch; zero: this node does not hold it.
  Duration since_answer{};  // Of etcd.
};

}  // namespace fabricd::daemon
