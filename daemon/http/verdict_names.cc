// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/verdict_names.h"

#include <fmt/format.h>

#include "fabric/port_name.h"

namespace fabricd::http {
namespace {

std::string NodeName(Guid guid, const fabric::FabricSnapshot& snapshot,
                     const fabric::NodeNameMap& names) {
  const fabric::Node* node = snapshot.FindNode(guid);
  return node != nullptr ? fabric::DisplayName(*node, &names) : fmt::format("{}", guid);
}

}  // namespace

std::string SubjectOf(const policy::CommonFinding& finding, const fabric::FabricSnapshot& snapshot,
                      const fabric::NodeNameMap& names) {
  const auto name = [&](Guid guid) { return NodeName(guid, snapshot, names); };
  switch (finding.cause) {
    case policy::CommonCause::kBlackout: return "";
    case policy::CommonCause::kCongestion:
    case policy::CommonCause::kPropagation:
      if (finding.root == policy::LinkKey()) return "";
      return fmt::format("{} - {}",
                         fabric::PortName(name(finding.root.a.node), finding.root.a.port),
                         fabric::PortName(name(finding.root.b.node), finding.root.b.port));
    case policy::CommonCause::kFamily:
      return fmt::format("0x{:06x}/{} revision 0x{:x}", finding.family.vendor_id,
                         finding.family.device_id, finding.family.revision);
    case policy::CommonCause::kSwitchRestart:
    case policy::CommonCause::kSwitch:
    case policy::CommonCause::kUnresponsiveLeaf:
    case policy::CommonCause::kHca: break;
  }
  return name(finding.node);
}

}  // namespace fabricd::http
