// SPDX-License-Identifier: Apache-2.0
// NameFilter: what a listing is restricted to by names. Pure.
#pragma once

#include <set>
#include <string>

#include <absl/status/statusor.h>
#include <google/protobuf/repeated_field.h>

#include "query/read_model.h"

namespace fabricd::rpc {

// The ports and whole nodes that a request names; nothing named means all.
class NameFilter {
 public:
  static absl::StatusOr<NameFilter> Read(
      const query::ReadModel& model, const google::protobuf::RepeatedPtrField<std::string>& names) {
    NameFilter filter;
    filter.all_ = names.empty();
    for (const std::string& name : names) {
      const auto address = model.Resolve(name);
      if (!address.ok()) return address.status();
      if (address->has_port) {
        filter.ports_.insert({address->node, address->port});
      } else {
        filter.nodes_.insert(address->node);
      }
    }
    return filter;
  }
  bool Passes(PortRef port) const {
    return all_ || nodes_.count(port.node) > 0 || ports_.count(port) > 0;
  }

 private:
  bool all_ = true;
  std::set<NodeIndex> nodes_;
  std::set<PortRef> ports_;
};

}  // namespace fabricd::rpc
