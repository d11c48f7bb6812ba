// SPDX-License-Identifier: Apache-2.0
// What `get` shows as tables, and the words that its tables share. Pure.
#pragma once

#include <string>

#include "cli/render/table.h"
#include "fabric/v1/topology_service.pb.h"

namespace fabricd::cli {

namespace pb = ::fabric::v1;

using HeldKinds = google::protobuf::RepeatedField<int>;
// State words, coloured: "ACTIVE", "ACTIVE,Degraded", "ACTIVE,Drained", "INIT", "DOWN", "Unknown"
// for a port that was not read.
Cell PortStatus(const std::string& state, bool degraded, const HeldKinds& held);
// "Active", "Partial" (linked ports that are not ACTIVE), "Degraded" (a link below its ability),
// "Down"; each with what is held, "Active,Cordoned".
Cell NodeStatus(const pb::Node& node);
Cell HostStatus(const pb::Host& host);
// As of its port, with ",SUPPRESSED" when routes avoid it.
Cell LinkStatus(const pb::Link& link);
// "leaf1/3"; empty when the port is not set.
std::string PortText(const pb::PortId& port);
// "4x NDR"; empty while down.
std::string RateText(uint32_t width, const std::string& speed);

Table NodeTable(const pb::ListNodesResponse& nodes, bool wide);
Table SwitchTable(const pb::ListNodesResponse& nodes, bool wide);
Table HostTable(const pb::ListHostsResponse& hosts, bool wide);
Table PortTable(const pb::ListPortsResponse& ports, bool wide);
Table LinkTable(const pb::ListLinksResponse& links, bool wide);
Table SmTable(const pb::GetSmResponse& sm, bool wide);
Table RouteTable(const pb::GetForwardingTableResponse& routes, bool wide);
Table PathTable(const pb::TracePathResponse& trace, bool wide);

}  // namespace fabricd::cli
