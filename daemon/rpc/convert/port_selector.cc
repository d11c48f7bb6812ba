// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/convert/port_selector.h"

#include <fmt/format.h>

#include "daemon/rpc/convert/grpc_status.h"

namespace fabricd::rpc {

absl::StatusOr<PortSelector> PortSelector::Read(
    const query::ReadModel& model, const google::protobuf::RepeatedPtrField<std::string>& names) {
  PortSelector selector;
  selector.all_ = names.empty();
  for (const std::string& name : names) {
    // Before the name of a node: that of a host with one HCA names the same ports.
    if (const fabric::Host* host = model.hosts->Find(name)) {
      for (const fabric::HostPort& port : host->ports) selector.nodes_.insert(port.port.node);
      continue;
    }
    const auto address = model.Resolve(name);
    if (!address.ok()) return address.status();
    if (address->has_port) {
      selector.ports_.insert({address->node, address->port});
      selector.nodes_of_ports_.insert(address->node);
    } else {
      selector.nodes_.insert(address->node);
    }
  }
  return selector;
}

bool PortSelector::PassesSome(NodeIndex node) const {
  return all_ || nodes_.contains(node) || nodes_of_ports_.contains(node);
}

absl::StatusOr<telemetry::CounterSet> ReadCounters(
    const google::protobuf::RepeatedPtrField<std::string>& names, telemetry::CounterSet otherwise) {
  if (names.empty()) return otherwise;
  telemetry::CounterSet counters;
  for (const std::string& name : names) {
    const auto counter = telemetry::FindCounter(name);
    if (!counter) return BadField("counters", fmt::format("\"{}\" is no counter", name));
    counters.Add(*counter);
  }
  return counters;
}

}  // namespace fabricd::rpc
