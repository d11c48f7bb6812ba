// SPDX-License-Identifier: Apache-2.0
#include "cli/render/describe.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "cli/render/partition_tables.h"
#include "cli/render/policy_tables.h"
#include "cli/render/tables.h"

namespace fabricd::cli {
namespace {

// The lines under a heading.
class Page {
 public:
  Page() = default;  // Without a heading.
  Page(const std::string& name, const Cell& status, const std::string& what,
       const TableStyle& style) {
    text_ = fmt::format("{} {} — {}, {}\n", Colored({"●", status.tone}, style.color), OneLine(name),
                        Colored(status, style.color), OneLine(what));
  }
  // An empty value is left out.
  Page& Line(const std::string& key, const std::string& value) {
    if (!value.empty()) text_ += fmt::format("{:>18}: {}\n", key, OneLine(value));
    return *this;
  }
  Page& Line(const std::string& key, uint32_t value) { return Line(key, fmt::format("{}", value)); }
  Page& Block(const std::string& title, const Table& table, const TableStyle& style) {
    if (table.size() > 0) text_ += fmt::format("\n{}:\n{}", title, table.Render(style));
    return *this;
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string EndPortText(const pb::EndPort& port) {
  std::string text = fmt::format("{} port {}, LID {}", port.guid(), port.number(), port.lid());
  if (port.lmc() > 0)
    text += fmt::format("-{} (LMC {})", port.lid() + (1u << port.lmc()) - 1, port.lmc());
  return text;
}

// Codes of time: 4.096 us * 2^n (IBA vol 1 §14.2.5.6).
std::string TimeText(uint32_t code) {
  const double ms = 4.096e-3 * static_cast<double>(1u << (code & 31));
  return ms < 1000 ? fmt::format("{} ({:.3g} ms)", code, ms)
                   : fmt::format("{} ({:.3g} s)", code, ms / 1000);
}
// Codes above 19 let packets wait for ever.
std::string HoqText(uint32_t code) {
  return code > 19 ? fmt::format("{} (infinite)", code) : TimeText(code);
}

std::string RangesText(const std::vector<uint32_t>& ascending) {
  std::string text;
  for (size_t at = 0; at < ascending.size();) {
    size_t end = at + 1;
    while (end < ascending.size() && ascending[end] == ascending[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", ascending[at]);
    if (end - at > 1) text += fmt::format("-{}", ascending[end - 1]);
    at = end;
  }
  return text;
}

// The reasons of a host's readiness, the worst first.
Table TroubleTable(const pb::HostReadiness& readiness) {
  Table table({"REASON"});
  for (const std::string& reason : readiness.reasons()) table.AddRow({reason});
  return table;
}

Table MemberTable(const pb::MulticastGroup& group) {
  Table table({"NODE", "GID", "JOINED-AS", "BY", "DELIVERY"});
  for (const pb::MulticastMember& member : group.members()) {
    const bool is_alone = group.tree().empty() && member.unserved().empty();
    table.AddRow(
        {member.node_name().empty() ? Cell("absent", Tone::kWarning) : Cell(member.node_name()),
         member.gid(), fmt::format("{}", fmt::join(member.join_states(), ",")),
         member.proxy() ? "another" : "itself",
         !member.unserved().empty() ? Cell(member.unserved(), Tone::kWarning)
         : is_alone                 ? Cell("no tree")
                                    : Cell("served", Tone::kGood)});
  }
  return table;
}

Table TreeTable(const pb::MulticastGroup& group) {
  Table table({"SWITCH", "DEPTH", "UP", "DOWN", "MEMBERS"});
  for (const pb::MulticastSwitch& place : group.tree()) {
    std::vector<uint32_t> down, members;
    for (const pb::MulticastBranch& branch : place.branches())
      (branch.member() ? members : down).push_back(branch.port());
    table.AddRow({std::string(size_t{2} * place.depth(), ' ') + place.name(),
                  fmt::format("{}", place.depth()),
                  place.up_port() == 0 ? "" : fmt::format("{}", place.up_port()), RangesText(down),
                  RangesText(members)});
  }
  return table;
}

}  // namespace

std::string DescribeNode(const pb::Node& node, const pb::ListPortsResponse& ports,
                         const TableStyle& style) {
  Page page(node.name(), NodeStatus(node), node.type(), style);
  page.Line("GUID", node.guid())
      .Line("System GUID", node.system_guid())
      .Line("Description", node.description())
      .Line("Host", node.host())
      .Line("Vendor", fmt::format("0x{:06x}", node.vendor_id()))
      .Line("Device", fmt::format("{} revision {}", node.device_id(), node.revision()))
      .Line("Ports", fmt::format("{} active, {} linked, {} in all", node.ports_active(),
                                 node.ports_linked(), node.num_ports()))
      .Line("Degraded links", node.links_degraded());
  for (const pb::EndPort& port : node.end_ports()) page.Line("End port", EndPortText(port));
  if (node.has_switch_details()) {
    const pb::SwitchDetails& details = node.switch_details();
    page.Line("Unicast table",
              fmt::format("top {}, of {}", details.linear_fdb_top(), details.linear_fdb_cap()))
        .Line("Multicast table", fmt::format("of {}", details.multicast_fdb_cap()))
        .Line("Port 0", details.enhanced_port0() ? "enhanced" : "base");
  }
  return page.Block("Ports", PortTable(ports, false), style).Take();
}

std::string DescribeAbsentHost(const pb::HostReadiness& readiness, const TableStyle& style) {
  return Page(readiness.host(), ReadinessCell(readiness.readiness()), "HOST", style)
      .Line("Ports", "none is on the fabric")
      .Block("What is wrong", TroubleTable(readiness), style)
      .Take();
}

std::string DescribeHost(const pb::Host& host, const pb::HostReadiness& readiness,
                         const TableStyle& style) {
  Table table({"DEVICE", "STATUS", "RAIL", "LID", "GBPS", "PEER", "PORT-GUID"});
  for (const pb::HostPort& port : host.ports()) {
    table.AddRow({port.device(), PortStatus(port.state(), false, port.held()),
                  port.rail_known() ? fmt::format("{}", port.rail()) : "",
                  fmt::format("{}", port.port().lid()), fmt::format("{:g}", port.rate_gbps()),
                  PortText(port.peer()), port.port().guid()});
  }
  Page page(host.name(), HostStatus(host), "HOST", style);
  page.Line("HCAs", host.hcas())
      .Line("Ports", fmt::format("{} active of {}", host.ports_active(), host.ports_size()))
      .Line("Readiness", ReadinessCell(readiness.readiness()).text);
  return page.Block("What is wrong", TroubleTable(readiness), style)
      .Block("Ports", table, style)
      .Take();
}

std::string DescribePort(const pb::Port& port, const TableStyle& style) {
  Page page(port.name(), PortStatus(port.state(), port.degraded(), port.held()),
            port.id().node_type() + " PORT", style);
  page.Line("Node", fmt::format("{} ({})", port.id().node_name(), port.id().node_guid()));
  if (port.has_end_port()) page.Line("End port", EndPortText(port.end_port()));
  page.Line("Peer", port.has_peer() ? fmt::format("{} ({}, {})", PortText(port.peer()),
                                                  port.peer().node_type(), port.peer().node_guid())
                                    : "none");
  if (!port.known()) return page.Line("PortInfo", "not read").Take();
  page.Line("Physical state", port.physical_state())
      .Line("Rate", port.width()
                        ? fmt::format("{}, {:g} Gb/s", RateText(port.width(), port.speed()),
                                      port.rate_gbps())
                        : "")
      .Line("Supported", RateText(port.width_supported(), port.speed_supported()))
      .Line("MTU", fmt::format("{} of {} bytes", port.mtu(), port.mtu_supported()))
      .Line("Data VLs", fmt::format("{} of {}", port.vls(), port.vls_supported()))
      .Line("HOQ life", HoqText(port.hoq_life()));
  // A switch has these at port 0 only.
  if (port.has_end_port()) {
    page.Line("Subnet timeout", TimeText(port.subnet_timeout()))
        .Line("SM LID", port.sm_lid())
        .Line("Capability mask",
              fmt::format("0x{:08x}, 0x{:04x}", port.capability_mask(), port.capability_mask2()));
  }
  page.Line("Key violations", fmt::format("{} M_Key, {} P_Key, {} Q_Key", port.m_key_violations(),
                                          port.p_key_violations(), port.q_key_violations()));
  return page.Take();
}

std::string DescribeLink(const pb::Link& link, const TableStyle& style) {
  Page page(fmt::format("{} ↔ {}", PortText(link.a()), PortText(link.b())), LinkStatus(link),
            "LINK", style);
  page.Line("A", fmt::format("{} ({})", PortText(link.a()), link.a().node_guid()))
      .Line("B", fmt::format("{} ({})", PortText(link.b()), link.b().node_guid()))
      .Line("Physical state", link.physical_state())
      .Line("Rate", link.width()
                        ? fmt::format("{}, {:g} Gb/s", RateText(link.width(), link.speed()),
                                      link.rate_gbps())
                        : "")
      .Line("Supported", RateText(link.width_supported(), link.speed_supported()))
      .Line("Suppressed", link.suppression());
  return page.Take();
}

std::string DescribeMulticast(const pb::MulticastGroup& group, const TableStyle& style) {
  const bool all_served =
      std::all_of(group.members().begin(), group.members().end(),
                  [](const pb::MulticastMember& member) { return member.unserved().empty(); });
  const Cell status = !all_served            ? Cell("not all served", Tone::kWarning)
                      : group.tree().empty() ? Cell("no tree")
                                             : Cell("served", Tone::kGood);
  uint32_t depth = 0;
  for (const pb::MulticastSwitch& place : group.tree()) depth = std::max(depth, place.depth());
  Page page(fmt::format("0x{:04x}", group.mlid()), status, "MULTICAST GROUP", style);
  page.Line("MGID", group.mgid())
      .Line("P_Key", fmt::format("0x{:04x}", group.p_key()))
      .Line("Q_Key", fmt::format("0x{:08x}", group.q_key()))
      .Line("MTU", fmt::format("{} bytes", group.mtu()))
      .Line("Rate", fmt::format("{:g} Gb/s", group.rate_gbps()))
      .Line("SL", group.sl())
      .Line("Permanent", group.permanent() ? "yes" : "no")
      .Line("Members", static_cast<uint32_t>(group.members_size()));
  if (!group.tree().empty())
    page.Line("Tree", fmt::format("{} switches, depth {}", group.tree_size(), depth));
  return page.Block("Members", MemberTable(group), style)
      .Block("Tree", TreeTable(group), style)
      .Take();
}

std::string DescribePolicy(const pb::ListHoldsResponse& holds,
                           const pb::ListConditionsResponse& conditions,
                           const pb::ListEventsResponse& events, int64_t now_ms,
                           const TableStyle& style) {
  return Page()
      .Block("Holds", HoldTable(holds, false, now_ms), style)
      .Block("Conditions", ConditionTable(conditions, false, now_ms), style)
      .Block("Last events", EventTable(events, false), style)
      .Take();
}

std::string DescribePartition(const pb::GetPartitionResponse& response, const TableStyle& style) {
  const pb::Partition& partition = response.partition();
  const Cell status =
      response.in_effect() ? Cell("In effect", Tone::kGood) : Cell("Pending", Tone::kWarning);
  Page page(PKeyText(partition), status, "PARTITION", style);
  page.Line("Name", partition.name())
      .Line("Index 0", partition.index0() ? "yes" : "")
      .Line("Ports",
            fmt::format("{} full, {} limited", partition.ports_full(), partition.ports_limited()))
      .Line("IPoIB", partition.has_ipoib() ? TraitsText(partition.ipoib()) : "");
  for (const pb::PartitionGroup& group : partition.groups())
    page.Line("Group", fmt::format("{} {}", group.mgid(), TraitsText(group.traits())));
  return page.Block("Members", PartitionMemberTable(partition), style).Take();
}

std::string DescribeSm(const pb::GetSmResponse& sm, const TableStyle& style) {
  const Cell status =
      sm.subnet_up() ? Cell("subnet up", Tone::kGood) : Cell("subnet not up", Tone::kBad);
  Page page(sm.state(), status, "fabricd " + sm.version(), style);
  page.Line("Mode", sm.mode() + (sm.takeover_held() ? ", takeover held (takeover plan)" : ""))
      .Line("Port", fmt::format("{} LID {} {}", sm.guid(), sm.lid(), sm.node_name()))
      .Line("Priority", sm.priority())
      .Line("Phase", sm.phase())
      .Line("Generation", sm.generation())
      .Line("Nodes",
            fmt::format("{} ({} switches), {} hosts", sm.nodes(), sm.switches(), sm.hosts()))
      .Line("Links", fmt::format("{}, {} degraded", sm.links(), sm.links_degraded()))
      .Line("Ports", fmt::format("{} active, {} end ports", sm.ports_active(), sm.end_ports()))
      .Line("Engine", sm.engine());
  const pb::SweepSummary& sweep = sm.last_sweep();
  page.Line("Last sweep", fmt::format("{}, {:.1f} ms, {} SMPs ({} Sets, {} timeouts)", sweep.kind(),
                                      sweep.duration_ms(), sweep.smps_sent(), sweep.sets_sent(),
                                      sweep.timeouts()));
  for (const std::string& note : sm.routing_notes()) page.Line("Routing", note);
  Table chain({"ENGINE", "CHOSEN", "REASON"}), remote({"SM", "STATE", "PRIORITY", "GUID"}),
      nodes({"NODE", "STATE", "VERSION", "API", "SM GUID"}),
      problems({"PROBLEM", "SUBJECT", "MESSAGE"});
  for (const pb::EngineStep& step : sm.chain()) {
    chain.AddRow({step.engine(), step.chosen() ? "yes" : "no", step.reason()});
  }
  for (const pb::RemoteSm& other : sm.remote_sms()) {
    remote.AddRow(
        {PortText(other.port()), other.state(), fmt::format("{}", other.priority()), other.guid()});
  }
  for (const pb::SharingNode& node : sm.sharing_nodes()) {
    nodes.AddRow({node.name() + (node.is_this() ? " (this)" : ""), node.state(), node.version(),
                  node.endpoint(), node.sm_guid()});
  }
  for (const pb::Problem& problem : sm.problems()) {
    problems.AddRow({problem.kind(), problem.subject(), problem.message()});
  }
  return page.Block("Engines", chain, style)
      .Block("Other subnet managers", remote, style)
      .Block("Nodes with this state", nodes, style)
      .Block("Problems", problems, style)
      .Take();
}

}  // namespace fabricd::cli
