// SPDX-License-Identifier: Apache-2.0
#include "plan/fabric_input.h"

#include <cmath>
#include <optional>

#include "common/number_text.h"
#include "common/status.h"
#include "fabric/hosts.h"
#include "fabric/ibnetdiscover_text.h"
#include "fabric/names.h"
#include "fabric/snapshot_builder.h"
#include "sim/fabric/topology.h"
#include "sim/generate/decorate.h"
#include "sweep/plan/lid_assignment.h"

namespace fabricd::plan {
namespace {

using fabric::FabricSnapshot;
using fabric::Node;
using fabric::Port;

constexpr int kMostPort = 254;  // Of NodeInfo.NumPorts (IBA vol 1 §14.2.5.3).

// Every cable between two switches once.
int CountSwitchCables(const FabricSnapshot& fabric) {
  int ends = 0;
  fabric.ForEachNode([&](const Node& node) {
    for (const Port& port : node.ports)
      ends += node.IsSwitch() && !port.peer.IsNone() && fabric.node(port.peer.node)->IsSwitch();
  });
  return ends / 2;
}

absl::StatusOr<int> LinksToFail(const FabricSnapshot& fabric, const std::string& text) {
  if (text.empty()) return 0;
  const int cables = CountSwitchCables(fabric);
  if (text.back() == '%') {
    const auto percent = ParseNumber<double>(std::string_view(text).substr(0, text.size() - 1));
    if (percent && *percent >= 0 && *percent <= 100)
      return static_cast<int>(std::llround(*percent / 100 * cables));
  } else if (const auto count = ParseNumber<int>(text); count && *count >= 0 && *count <= cables) {
    return *count;
  }
  return InvalidArgument(
      "--fail-links {}: a number from 0 to {}, the cables between switches, or "
      "a percentage of them",
      text, cables);
}

// "leaf1[3]" in the form that names.h knows: "leaf1/3". Other text in brackets belongs to a name.
absl::StatusOr<std::string> WithSlash(const std::string& name) {
  const size_t open = name.rfind('[');
  if (open == std::string::npos || name.back() != ']') return name;
  const auto port =
      ParseNumber<int64_t>(std::string_view(name).substr(open + 1, name.size() - open - 2));
  if (!port) return name;
  if (*port < 0 || *port > kMostPort) return InvalidArgument("no port has the number {}", *port);
  return fmt::format("{}/{}", name.substr(0, open), *port);
}

absl::StatusOr<Snapshot> FailNamed(const Snapshot& fabric, const std::vector<std::string>& named) {
  if (named.empty()) return fabric;
  const fabric::NodeNames by_name(*fabric);
  const fabric::NameTable names(*fabric, by_name);
  const fabric::HostTable hosts = fabric::FindHosts(*fabric, fabric::HostPatterns());
  std::vector<PortRef> cables;
  std::vector<NodeIndex> nodes;
  for (const std::string& name : named) {
    const auto fault = [&name](const absl::Status& status) {
      return MakeStatus(status.code(), "--fail {}: {}", name, Message(status));
    };
    const auto text = WithSlash(name);
    if (!text.ok()) return fault(text.status());
    const auto address = names.Resolve(*text);
    const fabric::Host* host = absl::IsNotFound(address.status()) ? hosts.Find(name) : nullptr;
    if (host) {
      for (const fabric::HostPort& port : host->ports) nodes.push_back(port.port.node);
      continue;
    }
    if (!address.ok()) return fault(address.status());
    if (!address->has_port) {
      nodes.push_back(address->node);
      continue;
    }
    const PortRef end{address->node, address->port};
    if (fabric->port(end)->peer.IsNone())
      return InvalidArgument("--fail {}: no cable is on this port", name);
    cables.push_back(end);
  }
  return sim::Remove(*fabric, cables, nodes);
}

}  // namespace

absl::StatusOr<TopologyFile> ReadTopologyFile(const std::string& path) {
  const absl::StatusOr<std::string> text = sim::ReadTopologyText(path);
  if (!text.ok()) return MakeStatus(text.status().code(), "{}: {}", path, Message(text.status()));
  fabric::ReadResult read = fabric::ReadTopology(*text);
  if (!read.status.ok()) return InvalidArgument("{}: {}", path, Message(read.status));
  TopologyFile result{read.snapshot, ""};
  if (!read.skipped.empty())
    result.remark =
        fmt::format("{}: {} lines were not understood or used in part; the first, line {}: {}",
                    path, read.skipped.size(), read.skipped[0].line, read.skipped[0].reason);
  return result;
}

absl::StatusOr<Snapshot> Fail(const Snapshot& fabric, const Damage& damage) {
  absl::StatusOr<Snapshot> named = FailNamed(fabric, damage.named);
  if (!named.ok()) return named;
  const absl::StatusOr<int> links = LinksToFail(**named, damage.links);
  if (!links.ok()) return links.status();
  sim::Decoration decoration;
  decoration.fail_links = *links;
  decoration.seed = damage.seed;
  return sim::Decorate(*std::move(named), decoration);
}

Snapshot ContinueFrom(const FabricSnapshot& before, const FabricSnapshot& now) {
  fabric::SnapshotBuilder builder(before);
  before.ForEachNode([&](const Node& node) {
    if (now.FindNode(node.guid()) == nullptr) builder.RemoveNode(node.index);
  });
  now.ForEachNode([&](const Node& node) {
    const NodeIndex index = builder.PutNode(node.info);
    builder.SetDescription(index, node.description);
    if (node.switch_info) builder.SetSwitchInfo(index, *node.switch_info);
    for (const auto& [ref, port] : node.AllPorts()) {
      const PortRef self{index, ref.port};
      if (port.known)
        builder.SetPortInfo(self, port.info);
      else
        builder.SetPortUnknown(self);
      builder.SetPortGuid(self, port.guid);
      builder.SetPortFdr10(self, port.fdr10);
      if (port.peer.IsNone()) builder.Unlink(self);
    }
  });
  now.ForEachNode([&](const Node& node) {
    for (const auto& [ref, port] : node.AllPorts()) {
      const PortRef peer = port.peer;
      if (peer.IsNone()) continue;
      builder.Link({builder.FindIndex(node.guid()), ref.port},
                   {builder.FindIndex(now.node(peer.node)->guid()), peer.port});
    }
  });
  return builder.Build();
}

absl::StatusOr<fabric::LidTable> GiveLids(const FabricSnapshot& snapshot, uint8_t lmc,
                                          const FabricSnapshot* before,
                                          const fabric::LidTable* earlier) {
  sweep::LidRecords records;
  if (earlier != nullptr)
    before->ForEachNode([&](const Node& node) {
      for (const auto& [ref, port] : node.AllPorts()) {
        const fabric::LidRange range = earlier->Of(ref);
        const Guid guid = port.guid;
        if (range.base) records[guid] = {guid, range.base, range.lmc};
      }
    });
  sweep::LidAssignment assignment = sweep::AssignLids(snapshot, records, lmc, false);
  if (assignment.without.empty()) return std::move(assignment.table);
  const PortRef first = assignment.without.front();
  return InvalidArgument(
      "{} end ports get no LID, {} first: the subnet has only {} of them, or "
      "port GUIDs are not unique",
      assignment.without.size(), fabric::PortName(*snapshot.node(first.node), first.port),
      kMaxUnicastLid);
}

}  // namespace fabricd::plan
