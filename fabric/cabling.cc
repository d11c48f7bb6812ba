// SPDX-License-Identifier: Apache-2.0
#include "fabric/cabling.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "fabric/hosts.h"

namespace fabricd::fabric {
namespace {

class Comparison {
 public:
  Comparison(const FabricSnapshot& expected, const FabricSnapshot& found, const NodeNameMap* names)
      : expected_(expected),
        found_(found),
        names_(names),
        expected_of_(found.node_index_end(), NodeIndex::None()),
        found_of_(expected.node_index_end(), NodeIndex::None()) {}

  Cabling Run() {
    Match();
    expected_.ForEachNode([&](const Node& node) {
      if (found_of_[node.index.value()].IsNone())
        Add(CablingFault::kMissingNode, PortRef(), DisplayName(node), "expected, and not there");
    });
    found_.ForEachNode([&](const Node& node) {
      if (expected_of_[node.index.value()].IsNone())
        Add(CablingFault::kExtraNode, {node.index, PortNum(0)}, DisplayName(node, names_),
            "there, and not expected");
    });
    ForEachLink(expected_, [&](PortRef a, PortRef b) { CheckExpected(a, b); });
    ForEachLink(found_, [&](PortRef a, PortRef b) { CheckFound(a, b); });
    Sort();
    return std::move(result_);
  }

 private:
  template <typename Visit>
  static void ForEachLink(const FabricSnapshot& snapshot, Visit&& visit) {
    snapshot.ForEachNode([&](const Node& node) {
      for (const auto& [here, port] : node.LinkPorts()) {
        const PortRef peer = port.peer;
        if (!peer.IsNone() && here < peer) visit(here, peer);
      }
    });
  }

  void Match() {
    const NodeNames by_name(found_, names_), by_expected_name(expected_);
    expected_.ForEachNode([&](const Node& node) {
      const std::string name = DisplayName(node);
      const std::vector<NodeIndex> alike = by_name.Find(name);
      if (alike.size() == 1 && by_expected_name.Find(name).size() == 1)
        Pair(node.index, alike.front());
    });
    expected_.ForEachNode([&](const Node& node) {
      const Node* same = found_.FindNode(node.guid());
      if (same != nullptr && found_of_[node.index.value()].IsNone() &&
          expected_of_[same->index.value()].IsNone())
        Pair(node.index, same->index);
    });
  }
  void Pair(NodeIndex expected, NodeIndex found) {
    found_of_[expected.value()] = found;
    expected_of_[found.value()] = expected;
  }

  // The same port in the other fabric; none: its node is not there.
  PortRef FoundOf(PortRef port) const { return {found_of_[port.node.value()], port.port}; }
  PortRef ExpectedOf(PortRef port) const { return {expected_of_[port.node.value()], port.port}; }
  static PortRef PeerIn(const FabricSnapshot& snapshot, PortRef port) {
    const Port* of = snapshot.port(port);
    return of == nullptr ? PortRef() : of->peer;
  }

  void CheckExpected(PortRef a, PortRef b) {
    const PortRef here = FoundOf(a), there = FoundOf(b);
    if (here.node.IsNone() || there.node.IsNone()) return;
    const PortRef in_here = PeerIn(found_, here), in_there = PeerIn(found_, there);
    if (in_here == there) {
      ++result_.links_right;
    } else if (in_here.IsNone() && in_there.IsNone()) {
      Add(CablingFault::kMissingLink, here, LinkName(here, there), "expected, and not there");
    } else {
      const bool at_here = !in_here.IsNone();
      const PortRef at = at_here ? here : there;
      Add(CablingFault::kMisplacedLink, at, LinkName(here, there),
          fmt::format("{} leads to {}, expected to {}", NameOf(at),
                      NameOf(at_here ? in_here : in_there), NameOf(at_here ? there : here)));
    }
  }

  void CheckFound(PortRef a, PortRef b) {
    const PortRef of_a = ExpectedOf(a), of_b = ExpectedOf(b);
    if (of_a.node.IsNone() || of_b.node.IsNone()) return;
    if (!PeerIn(expected_, of_a).IsNone() || !PeerIn(expected_, of_b).IsNone()) return;
    Add(CablingFault::kExtraLink, a, LinkName(a, b), "there, and not expected");
  }

  std::string NameOf(PortRef port) const {
    return PortName(*found_.node(port.node), port.port, names_);
  }
  std::string LinkName(PortRef a, PortRef b) const {
    return fmt::format("{} - {}", NameOf(a), NameOf(b));
  }

  void Add(CablingFault fault, PortRef port, std::string name, std::string message) {
    result_.findings.push_back({fault, port, std::move(name), std::move(message)});
  }
  void Sort() {
    const auto is_node = [](const CablingFinding& finding) {
      return finding.fault == CablingFault::kMissingNode ||
             finding.fault == CablingFault::kExtraNode;
    };
    std::stable_sort(result_.findings.begin(), result_.findings.end(),
                     [&](const CablingFinding& a, const CablingFinding& b) {
                       if (is_node(a) != is_node(b)) return is_node(a);
                       return CompareNatural(a.name, b.name) < 0;
                     });
  }

  const FabricSnapshot& expected_;
  const FabricSnapshot& found_;
  const NodeNameMap* const names_;
  std::vector<NodeIndex> expected_of_;  // [NodeIndex of found] None: extra.
  std::vector<NodeIndex> found_of_;     // [NodeIndex of expected] None: missing.
  Cabling result_;
};

}  // namespace

std::string_view CablingFaultName(CablingFault fault) {
  switch (fault) {
    case CablingFault::kMissingNode: return "MissingNode";
    case CablingFault::kExtraNode: return "ExtraNode";
    case CablingFault::kMissingLink: return "MissingLink";
    case CablingFault::kExtraLink: return "ExtraLink";
    case CablingFault::kMisplacedLink: return "MisplacedLink";
  }
  return "";
}

Cabling CompareCabling(const FabricSnapshot& expected, const FabricSnapshot& found,
                       const NodeNameMap* names) {
  return Comparison(expected, found, names).Run();
}

}  // namespace fabricd::fabric
