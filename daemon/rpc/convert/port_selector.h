// SPDX-License-Identifier: Apache-2.0
// The ports that a request about counters names.
#pragma once

#include <set>
#include <string>

#include <absl/status/statusor.h>
#include <google/protobuf/repeated_field.h>

#include "query/read_model.h"
#include "telemetry/counters.h"

namespace fabricd::rpc {

class PortSelector {
 public:
  // Hosts, nodes and ports; none: all ports pass. Errors carry their ErrorInfo.
  static absl::StatusOr<PortSelector> Read(
      const query::ReadModel& model, const google::protobuf::RepeatedPtrField<std::string>& names);
  bool Passes(PortRef port) const {
    return all_ || nodes_.contains(port.node) || ports_.contains(port);
  }
  // Whether any port of the node can pass.
  bool PassesSome(NodeIndex node) const;

 private:
  bool all_ = true;
  std::set<NodeIndex> nodes_, nodes_of_ports_;
  std::set<PortRef> ports_;
};

// By key or perfquery's name; `otherwise` where none is named. INVALID_ARGUMENT for what none has.
absl::StatusOr<telemetry::CounterSet> ReadCounters(
    const google::protobuf::RepeatedPtrField<std::string>& names, telemetry::CounterSet otherwise);

}  // namespace fabricd::rpc
