// SPDX-License-Identifier: Apache-2.0
// Problem: something that operators should know of a node, a port or the subnet. It stands until a
// sweep no longer finds it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/ids.h"
#include "fabric/names.h"
#include "fabric/snapshot.h"

namespace fabricd::sweep {

enum class ProblemKind : uint8_t {
  kDuplicateGuid,
  kIllegalNodeInfo,
  kIllegalPortInfo,
  kLanesInUse,
  kLocalPortDown,
  kMisplacedCable,
  kMoreProblems,  // The last entry of a list that is too long.
  kMulticastUnserved,
  kNoLid,
  kNoPlan,
  kNoTrees,
  kNotActive,
  kNotEnforced,
  kPKeyTableFull,
  kSetRefused,
  kSettingsIgnored,
  kStoreFailed,
  kTableTooSmall,
  kUnknownSm,
  kUnreadable,
  kUnresponsive
};

// "DuplicateGuid": constant words, for programs too.
std::string_view ProblemKindName(ProblemKind kind);

// What a problem is about: a node, a port of one, or what has a name only.
struct ProblemSubject {
  Guid node;         // 0: what is called `name`.
  PortNum port;      // 0: the node as a whole.
  std::string name;  // Of a node its description when it was found.

  static ProblemSubject Of(const fabric::Node& node, PortNum port = PortNum(0)) {
    return {node.guid(), port, node.description};
  }
  static ProblemSubject Named(std::string name) { return {Guid(), PortNum(0), std::move(name)}; }
  static ProblemSubject Subnet() { return Named("subnet"); }

  friend bool operator==(const ProblemSubject& a, const ProblemSubject& b) {
    return a.node == b.node && a.port == b.port && (a.node || a.name == b.name);
  }
};

// "leaf1/3 (0x…)" of a port, "leaf1 (0x…)" of a node, else its name. A node is called what it is
// called in `snapshot` and by `names`, or what it was called if it is gone.
std::string SubjectText(const ProblemSubject& subject, const fabric::FabricSnapshot& snapshot,
                        const fabric::NodeNameMap* names = nullptr);
// The same of a node that is at hand, for messages.
std::string SubjectText(const fabric::Node& node, PortNum port = PortNum(0));

struct Problem {
  ProblemKind kind = ProblemKind::kUnresponsive;
  ProblemSubject subject;
  std::string message;
};

}  // namespace fabricd::sweep
