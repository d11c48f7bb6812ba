// SPDX-License-Identifier: Apache-2.0
// NodeAbout: what each node that shares the state tells the others of itself: who it is, what it
// does, and the configuration that must be the same on all, as a digest of each key.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/ids.h"
#include "config/config.h"
#include "daemon/base/other_master.h"
#include "daemon/base/sharing_node.h"
#include "store/etcd/epoch.h"
#include "store/etcd/presence.h"
#include "sweep/interface/view.h"

namespace fabricd::daemon {

struct NodeAbout {
  std::string name;                           // "head1 pid 4711"
  std::string endpoint;                       // Of its API; empty: it does not say.
  std::string version;                        // Of fabricd.
  std::string state;                          // "MASTER", "WAITING", an SMInfo state.
  Guid sm_port;                               // 0: not known yet.
  std::map<std::string, std::string> config;  // Path of a key -> digest.
  friend bool operator==(const NodeAbout&, const NodeAbout&) = default;
};

std::string AboutText(const NodeAbout& about);
// What another version writes besides is ignored, and what it leaves out is empty.
NodeAbout ReadAbout(const std::string& text);

// Of all keys but those that are a node's own (addresses, paths, priority). Files that keys name
// count by what is in them. 32 bits each; secrets 16, which give nothing away.
std::map<std::string, std::string> ConfigDigests(const config::Config& config);

// Paths of keys that differ, or that only one of them has. Sorted.
std::vector<std::string> DifferentKeys(const std::map<std::string, std::string>& a,
                                       const std::map<std::string, std::string>& b);

// `instance`: this node.
std::vector<SharingNode> SharingNodes(const std::vector<store::etcd::Node>& nodes,
                                      const std::string& instance);

// Who manages, to this node that waits beside the owner of the epoch: by what the nodes say, and by
// the SMs that this one has seen.
OtherMaster FindMaster(const store::etcd::EpochOwner& owner, const std::vector<SharingNode>& nodes,
                       const sweep::SmStatus& sm);

}  // namespace fabricd::daemon
