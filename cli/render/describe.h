// SPDX-License-Identifier: Apache-2.0
// What `describe` shows of one thing: a heading with its state, then "Key: value" lines. Pure.
#pragma once

#include <string>

#include "cli/render/table.h"
#include "fabric/v1/event_service.pb.h"
#include "fabric/v1/partition_service.pb.h"
#include "fabric/v1/remediation_service.pb.h"
#include "fabric/v1/subnet_admin_service.pb.h"
#include "fabric/v1/topology_service.pb.h"

namespace fabricd::cli {

// `ports`: those of the node.
std::string DescribeNode(const ::fabric::v1::Node& node,
                         const ::fabric::v1::ListPortsResponse& ports, const TableStyle& style);
std::string DescribeHost(const ::fabric::v1::Host& host,
                         const ::fabric::v1::HostReadiness& readiness, const TableStyle& style);
// Of one that is not on the fabric.
std::string DescribeAbsentHost(const ::fabric::v1::HostReadiness& readiness,
                               const TableStyle& style);
std::string DescribePort(const ::fabric::v1::Port& port, const TableStyle& style);
std::string DescribeLink(const ::fabric::v1::Link& link, const TableStyle& style);
// With its members and its tree, as far as they came along.
std::string DescribeMulticast(const ::fabric::v1::MulticastGroup& group, const TableStyle& style);
// What follows a description: blocks of holds, conditions and events, each left out when empty.
std::string DescribePolicy(const ::fabric::v1::ListHoldsResponse& holds,
                           const ::fabric::v1::ListConditionsResponse& conditions,
                           const ::fabric::v1::ListEventsResponse& events, int64_t now_ms,
                           const TableStyle& style);
std::string DescribePartition(const ::fabric::v1::GetPartitionResponse& response,
                              const TableStyle& style);
std::string DescribeSm(const ::fabric::v1::GetSmResponse& sm, const TableStyle& style);

}  // namespace fabricd::cli
