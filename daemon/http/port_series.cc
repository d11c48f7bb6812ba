// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/port_series.h"

#include <string>
#include <vector>

#include <fmt/format.h>

#include "common/port_numbers.h"

namespace fabricd::http {
namespace {

using fabric::Node;
using fabric::Port;

// Below 0: not known.
double BytesPerSecond(double gigabits) { return gigabits > 0 ? gigabits * 1e9 / 8 : -1; }

struct PortFamily {
  const char* suffix;
  const char* help;
  double (*value)(const Port&);  // Below 0: not known.
};
constexpr PortFamily kFamilies[] = {
    {"state_id", "PortState: 1 Down, 2 Init, 3 Armed, 4 Active.",
     [](const Port& port) { return static_cast<double>(port.info.port_state); }},
    {"physical_state_id", "PortPhysicalState: 2 Polling, 3 Disabled, 5 LinkUp, …",
     [](const Port& port) { return static_cast<double>(port.info.port_physical_state); }},
    {"width", "Physical lanes of the link that is up.",
     [](const Port& port) {
       return port.IsUp() ? static_cast<double>(wire::ActiveWidth(port.info)) : -1;
     }},
    {"rate_bytes_per_second", "Data rate of the link that is up.",
     [](const Port& port) { return BytesPerSecond(port.Rate().data); }},
    {"raw_rate_bytes_per_second", "Signal rate of the link that is up.",
     [](const Port& port) { return BytesPerSecond(port.Rate().signal); }},
};

// What a node is called and which LIDs it has, as labels: made once for all series that need it.
class NodeLabels {
 public:
  NodeLabels(const sweep::FabricView& view, const fabric::NodeNameMap& names) : view_(view) {
    names_.resize(view.snapshot->node_index_end());
    view.snapshot->ForEachNode([&](const Node& node) {
      names_[node.index.value()] = Label("", fabric::DisplayName(node, &names));
    });
  }
  // ="leaf1"
  const std::string& name(const Node& node) const { return names_[node.index.value()]; }
  Lid LidOf(const Node& node, PortNum port) const {
    return view_.lids->Of({node.index, node.IsSwitch() ? PortNum(0) : port}).base;
  }

 private:
  const sweep::FabricView& view_;
  std::vector<std::string> names_;  // By NodeIndex.
};

void WriteInfo(const sweep::FabricView& view, const NodeLabels& nodes, const char* kind,
               SeriesText& out) {
  const bool switches = kind == std::string_view("switch");
  out.Begin(fmt::format("infiniband_{}_info", kind), "1, with a device's name and LID.");
  view.snapshot->ForEachNode([&](const Node& node) {
    if (node.IsSwitch() != switches) return;
    for (const PortNum port : PortNumbers(node.first_end_port(), node.last_end_port()))
      out.Add(fmt::format("guid=\"{}\",{}{},lid=\"{}\"", LabelGuid(node, port), kind,
                          nodes.name(node), nodes.LidOf(node, port)),
              uint64_t{1});
  });
}

void WriteUplinks(const sweep::FabricView& view, const NodeLabels& nodes,
                  const PortRows::Kind& kind, SeriesText& out) {
  out.Begin(fmt::format("infiniband_{}_uplink_info", kind.word),
            "1, with what is at the other end of a port's link.");
  for (const PortRow& row : kind.rows) {
    const PortRef end = row.port().peer;
    const Node* peer = end.IsNone() ? nullptr : view.snapshot->node(end.node);
    if (peer == nullptr) continue;
    out.Add(fmt::format("{},{}{},uplink{},uplink_guid=\"{}\",uplink_type=\"{}\",uplink_port=\"{}\","
                        "uplink_lid=\"{}\"",
                        row.labels(), kind.word, nodes.name(row.node()), nodes.name(*peer),
                        LabelGuid(*peer, end.port), peer->IsSwitch() ? "SW" : "CA", end.port,
                        nodes.LidOf(*peer, end.port)),
            uint64_t{1});
  }
}

}  // namespace

void WritePorts(const PortRows& rows, SeriesText& out) {
  for (const PortRows::Kind& kind : rows.kinds) {
    for (const PortFamily& family : kFamilies) {
      out.Begin(fmt::format("infiniband_{}_port_{}", kind.word, family.suffix), family.help);
      for (const PortRow& row : kind.rows) {
        const double value = family.value(row.port());
        if (value >= 0) out.Add(row.labels(), value);
      }
    }
  }
}

void WriteNames(const sweep::FabricView& view, const PortRows& rows,
                const fabric::NodeNameMap& names, SeriesText& out) {
  const NodeLabels nodes(view, names);
  for (const PortRows::Kind& kind : rows.kinds) {
    WriteInfo(view, nodes, kind.word, out);
    WriteUplinks(view, nodes, kind, out);
  }
}

}  // namespace fabricd::http
