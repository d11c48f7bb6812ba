// SPDX-License-Identifier: Apache-2.0
// Topology text in and out: what ibnetdiscover prints (with or without -f, -g) and what ibsim
// takes; in only: the port list of `ibnetdiscover -p` and OpenSM's opensm-subnet.lst. Pure
// functions.
//
// What the text does not tell is filled in thus: a linked port is INIT and LinkUp, any other DOWN
// and Polling; it supports its width and speed and all below (an unlinked port: those of its node's
// fastest link, else 4x SDR as in ibsim); switch tables are as large as the specification allows;
// MTU, VL and capability fields are 0. A node without a GUID line has the one that its id spells
// ("S-0002c90100000000"), else the one that ibsim would give it; a port without a GUID has
// node GUID + port number, as in ibsim. A port list knows no node GUIDs but those of switches: each
// port of another node is a node of its own there.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>

#include "fabric/snapshot.h"

namespace fabricd::fabric {

class NodeNameMap;

// A line that was left out, or that was used only in part; `reason` says which.
struct SkippedLine {
  size_t line = 0;   // From 1.
  std::string text;  // At most 200 bytes of it.
  std::string reason;
};

struct ReadResult {
  // kInvalidArgument, with the line, when the text ends in the middle of a record or holds no node.
  absl::Status status;
  std::shared_ptr<const FabricSnapshot> snapshot;  // Null unless status.ok().
  std::vector<SkippedLine> skipped;                // In line order.
};
[[nodiscard]] ReadResult ReadTopology(std::string_view text);

struct TopologyTextOptions {
  std::string generated_on;   // For "# Topology file: generated on …"; local time as ctime().
  Guid from_node, from_port;  // "# Initiated from node …"; left out when 0.
  const NodeNameMap* names = nullptr;  // Names in place of descriptions; may be null.
};
// As ibnetdiscover prints it; switches, CAs, then routers, each by GUID.
std::string WriteIbnetdiscover(const FabricSnapshot& snapshot, const TopologyTextOptions& options);

// The same text within the limits of ibsim 0.10, which refuses speeds above HDR and makes port
// GUIDs itself.
struct IbsimText {
  std::string text;
  std::vector<std::string> changes;  // What it says otherwise than the snapshot; also in the text.
};
IbsimText WriteIbsim(const FabricSnapshot& snapshot);

}  // namespace fabricd::fabric
