// SPDX-License-Identifier: Apache-2.0
// Problem: a standing fault of a node, a port or the subnet that operators should know. It is
// removed when a sweep no longer finds it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/ids.h"
#include "fabric/names.h"
#include "fabric/snapshot.h"

namespace fabricd::sweep {

enum class ProblemKind : uint8_t {
  kAdaptiveRouting,  // Set up by another manager.
  kDrifts,
  kDuplicateGuid,
  kIllegalNodeInfo,
  kIllegalPortInfo,
  kLanesInUse,
  kLocalPortDown,
  kMisplacedCable,
  kMoreProblems,  // The last entry of a truncated list.
  kMulticastUnserved,
  kNoLid,
  kNoPlan,
  kNoTrees,
  kNotActive,
  kNotEnforced,
  kOperationalVlsDiffer,
  kPKeyTableFull,
  kSetRefused,
  kSettingsIgnored,
  kStoreFailed,
  kTableTooSmall,
  kTakeoverHeld,
  kUnknownSm,
  kUnreadable,
  kUnresponsive,
  kUnresponsiveKept
};

// "DuplicateGuid": a constant name, which programs may use too.
std::string_view ProblemKindName(ProblemKind kind);

// The subject of a problem: a node, one of its ports, or something that has only a name.
struct ProblemSubject {
  Guid node;         // 0: the subject has only a name.
  PortNum port;      // 0: the node as a whole.
  std::string name;  // Of a node: its description when the problem was found.

  static ProblemSubject Of(const fabric::Node& node, PortNum port = PortNum(0)) {
    return {node.guid(), port, node.description};
  }
  static ProblemSubject Named(std::string name) { return {Guid(), PortNum(0), std::move(name)}; }
  static ProblemSubject Subnet() { return Named("subnet"); }

  friend bool operator==(const ProblemSubject& a, const ProblemSubject& b) {
    return a.node == b.node && a.port == b.port && (a.node || a.name == b.name);
  }
};

// "leaf1/3 (0x…)" of a port, "leaf1 (0x…)" of a node, otherwise the name. Nodes are named by
// `names` and `snapshot`, or by the recorded description if they are gone.
std::string SubjectText(const ProblemSubject& subject, const fabric::FabricSnapshot& snapshot,
                        const fabric::NodeNameMap* names = nullptr);
// The same for a known node, for messages.
std::string SubjectText(const fabric::Node& node, PortNum port = PortNum(0));

struct Problem {
  ProblemKind kind = ProblemKind::kUnresponsive;
  ProblemSubject subject;
  std::string message;
};

}  // namespace fabricd::sweep
