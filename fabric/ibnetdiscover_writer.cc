// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "fabric/ibnetdiscover_text.h"
#include "fabric/names.h"

namespace fabricd::fabric {
namespace {

using wire::LinkSpeed;
using wire::NodeType;

constexpr size_t kIbsimDescriptionBytes = 63;

int TypeRank(const Node& node) {
  if (node.IsSwitch()) return 0;
  return node.info.node_type == NodeType::kRouter ? 2 : 1;
}

std::vector<const Node*> NodesInOrder(const FabricSnapshot& snapshot) {
  std::vector<const Node*> nodes;
  nodes.reserve(snapshot.node_count());
  snapshot.ForEachNode([&](const Node& node) { nodes.push_back(&node); });
  std::sort(nodes.begin(), nodes.end(), [](const Node* a, const Node* b) {
    const int rank_a = TypeRank(*a), rank_b = TypeRank(*b);
    return rank_a != rank_b ? rank_a < rank_b : a->guid() < b->guid();
  });
  return nodes;
}

// What the two writers print differently.
class Dialect {
 public:
  virtual ~Dialect() = default;
  virtual std::string Description(const Node& node) = 0;
  virtual std::string_view Speed(const Port& port) = 0;
  virtual Guid PortGuid(const Node& node, PortNum port) = 0;
};

class IbnetdiscoverDialect : public Dialect {
 public:
  explicit IbnetdiscoverDialect(const NodeNameMap* names) : names_(names) {}
  std::string Description(const Node& node) override {
    const std::string_view name = names_ ? names_->Find(node.guid()) : std::string_view();
    return name.empty() ? node.description : std::string(name);
  }
  std::string_view Speed(const Port& port) override {
    const LinkSpeed speed = port.Speed();
    return speed == LinkSpeed::kUnknown ? "???" : wire::SpeedName(speed);
  }
  Guid PortGuid(const Node& node, PortNum port) override { return node.port(port).guid; }

 private:
  const NodeNameMap* names_;
};

class IbsimDialect : public Dialect {
 public:
  std::string Description(const Node& node) override {
    // ibsim ends a description at a quotation mark wherever it stands.
    std::string text = node.description.substr(0, kIbsimDescriptionBytes);
    std::replace(text.begin(), text.end(), '"', '\'');
    return text;
  }
  std::string_view Speed(const Port& port) override {
    const LinkSpeed speed = port.Speed();
    if (speed == LinkSpeed::kUnknown) return wire::SpeedName(LinkSpeed::kSdr);
    return wire::SpeedName(std::min(speed, LinkSpeed::kHdr));
  }
  Guid PortGuid(const Node& node, PortNum port) override {
    return node.IsSwitch() ? node.guid() : Guid(node.guid().value() + port.value());
  }
};

class TopologyWriter {
 public:
  TopologyWriter(const FabricSnapshot& snapshot, Dialect& dialect)
      : snapshot_(snapshot), dialect_(dialect) {}

  template <typename... Args>
  void Print(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }
  void PrintNodes() {
    for (const Node* node : NodesInOrder(snapshot_)) PrintNode(*node);
  }
  std::string Take() { return std::move(text_); }

 private:
  static char Letter(const Node& node) { return "SHR"[TypeRank(node)]; }
  // A switch's ports share the LID of its port 0.
  static const Port& EndPort(const Node& node, PortNum port) {
    return node.IsSwitch() ? node.ports[0] : node.port(port);
  }

  void PrintNode(const Node& node);
  void PrintPort(const Node& node, PortNum number);

  const FabricSnapshot& snapshot_;
  Dialect& dialect_;
  std::string text_;
};

void TopologyWriter::PrintNode(const Node& node) {
  static constexpr std::string_view kGuidKeys[] = {"switchguid", "caguid", "rtguid"};
  static constexpr std::string_view kTypes[] = {"Switch", "Ca", "Rt"};
  const int rank = TypeRank(node);
  Print("\nvendid=0x{:x}\ndevid=0x{:x}\n", node.info.vendor_id, node.info.device_id);
  if (node.info.system_image_guid) {
    Print("sysimgguid=0x{:x}\n", node.info.system_image_guid.value());
  }
  Print("{}=0x{:x}", kGuidKeys[rank], node.guid().value());
  if (node.IsSwitch()) Print("({:x})", dialect_.PortGuid(node, PortNum(0)).value());
  Print("\n{}\t{} \"{}-{:016x}\"\t\t# \"{}\"", kTypes[rank], node.info.num_ports, Letter(node),
        node.guid().value(), dialect_.Description(node));
  if (node.IsSwitch()) {
    Print(" {} port 0 lid {} lmc {}",
          node.switch_info && node.switch_info->enhanced_port0 ? "enhanced" : "base",
          node.ports[0].info.lid, node.ports[0].info.lmc);
  }
  Print("\n");
  for (const auto& [ref, port] : node.LinkPorts()) {
    PrintPort(node, ref.port);
  }
}

void TopologyWriter::PrintPort(const Node& node, PortNum number) {
  const Port& port = node.port(number);
  const Node* peer = snapshot_.node(port.peer.node);
  if (!peer) return;
  Print("[{}]", number);
  if (!node.IsSwitch()) Print("({:x}) ", dialect_.PortGuid(node, number).value());
  Print("\t\"{}-{:016x}\"[{}]", Letter(*peer), peer->guid().value(), port.peer.port);
  if (!peer->IsSwitch()) Print("({:x}) ", dialect_.PortGuid(*peer, port.peer.port).value());
  Print("\t\t# ");
  if (!node.IsSwitch()) Print("lid {} lmc {} ", port.info.lid, port.info.lmc);
  const int lanes = wire::ActiveWidth(port.info);
  Print("\"{}\" lid {} {}x{}\n", dialect_.Description(*peer),
        EndPort(*peer, port.peer.port).info.lid, lanes ? fmt::format("{}", lanes) : "?",
        dialect_.Speed(port));
}

// What IbsimDialect makes of this fabric, in words.
std::vector<std::string> IbsimChanges(const FabricSnapshot& snapshot, IbsimDialect& dialect) {
  size_t descriptions = 0, speeds = 0, unknown_speeds = 0, guids = 0;
  snapshot.ForEachNode([&](const Node& node) {
    if (dialect.Description(node) != node.description) ++descriptions;
    for (const auto& [ref, port] : node.AllPorts()) {
      if (ref.port <= node.last_end_port() && dialect.PortGuid(node, ref.port) != port.guid)
        ++guids;
      if (port.peer.IsNone()) continue;
      const LinkSpeed speed = port.Speed();
      if (speed == LinkSpeed::kUnknown) ++unknown_speeds;
      if (speed > LinkSpeed::kHdr) ++speeds;
    }
  });
  std::vector<std::string> changes;
  const auto note = [&](size_t count, std::string_view what) {
    if (count) changes.push_back(fmt::format("{}: {}", what, count));
  };
  note(speeds, "port speeds above HDR, written as HDR");
  note(unknown_speeds, "port speeds not known, written as SDR");
  note(descriptions, "descriptions with quotation marks or more than 63 bytes, changed");
  note(guids, "port GUIDs that will be node GUID + port number");
  return changes;
}

}  // namespace

std::string WriteIbnetdiscover(const FabricSnapshot& snapshot, const TopologyTextOptions& options) {
  IbnetdiscoverDialect dialect(options.names);
  TopologyWriter writer(snapshot, dialect);
  writer.Print("#\n# Topology file: generated on {}\n#\n", options.generated_on);
  if (options.from_node) {
    writer.Print("# Initiated from node {:016x} port {:016x}\n", options.from_node.value(),
                 options.from_port.value());
  }
  writer.PrintNodes();
  return writer.Take();
}

IbsimText WriteIbsim(const FabricSnapshot& snapshot) {
  IbsimDialect dialect;
  IbsimText result;
  result.changes = IbsimChanges(snapshot, dialect);
  size_t ports = 0;
  snapshot.ForEachNode([&](const Node& node) { ports += node.ports.size(); });
  TopologyWriter writer(snapshot, dialect);
  writer.Print("# ibsim -s -N {} -S {} -P {} FILE\n", snapshot.node_count(),
               snapshot.switch_count(), ports);
  for (const std::string& change : result.changes) writer.Print("# {}\n", change);
  writer.PrintNodes();
  result.text = writer.Take();
  return result;
}

}  // namespace fabricd::fabric
