// SPDX-License-Identifier: Apache-2.0
#include "sweep/interface/problem.h"

#include <fmt/format.h>

#include "fabric/port_name.h"

namespace fabricd::sweep {
namespace {

std::string WithGuid(std::string_view name, Guid guid, PortNum port) {
  const std::string end = fabric::EndName(name, port), id = fmt::format("{}", guid);
  return name == id ? end : fmt::format("{} ({})", end, id);  // The node may have no name.
}

}  // namespace

std::string_view ProblemKindName(ProblemKind kind) {
  switch (kind) {
    case ProblemKind::kAdaptiveRouting: return "AdaptiveRouting";
    case ProblemKind::kDrifts: return "Drifts";
    case ProblemKind::kDuplicateGuid: return "DuplicateGuid";
    case ProblemKind::kIllegalNodeInfo: return "IllegalNodeInfo";
    case ProblemKind::kIllegalPortInfo: return "IllegalPortInfo";
    case ProblemKind::kLanesInUse: return "LanesInUse";
    case ProblemKind::kLocalPortDown: return "LocalPortDown";
    case ProblemKind::kMisplacedCable: return "MisplacedCable";
    case ProblemKind::kMoreProblems: return "MoreProblems";
    case ProblemKind::kMulticastUnserved: return "MulticastUnserved";
    case ProblemKind::kNoLid: return "NoLid";
    case ProblemKind::kNoPlan: return "NoPlan";
    case ProblemKind::kNoTrees: return "NoTrees";
    case ProblemKind::kNotActive: return "NotActive";
    case ProblemKind::kNotEnforced: return "NotEnforced";
    case ProblemKind::kOperationalVlsDiffer: return "OperationalVlsDiffer";
    case ProblemKind::kPKeyTableFull: return "PKeyTableFull";
    case ProblemKind::kSetRefused: return "SetRefused";
    case ProblemKind::kSettingsIgnored: return "SettingsIgnored";
    case ProblemKind::kStoreFailed: return "StoreFailed";
    case ProblemKind::kTableTooSmall: return "TableTooSmall";
    case ProblemKind::kTakeoverHeld: return "TakeoverHeld";
    case ProblemKind::kUnknownSm: return "UnknownSm";
    case ProblemKind::kUnreadable: return "Unreadable";
    case ProblemKind::kUnresponsive: return "Unresponsive";
    case ProblemKind::kUnresponsiveKept: return "SmaUnresponsive";
  }
  return "unknown";
}

std::string SubjectText(const fabric::Node& node, PortNum port) {
  return WithGuid(fabric::DisplayName(node), node.guid(), port);
}

std::string SubjectText(const ProblemSubject& subject, const fabric::FabricSnapshot& snapshot,
                        const fabric::NodeNameMap* names) {
  if (!subject.node) return subject.name;
  fabric::Node gone;
  gone.info.node_guid = subject.node;
  gone.description = subject.name;
  const fabric::Node* const node = snapshot.FindNode(subject.node);
  return WithGuid(fabric::DisplayName(node != nullptr ? *node : gone, names), subject.node,
                  subject.port);
}

}  // namespace fabricd::sweep
