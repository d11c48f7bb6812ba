// SPDX-License-Identifier: Apache-2.0
// Hosts and rails: which channel adapters belong to one server, and which rail each of them is.
// Immutable values once built.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/status/statusor.h>

#include "fabric/snapshot.h"

namespace fabricd::fabric {

// -1, 0, 1; digits compare as numbers: "node2" < "node10".
int CompareNatural(std::string_view a, std::string_view b);

// How descriptions are read: ECMAScript expressions, searched for in their first 128 bytes.
class HostPatterns {
 public:
  // The built-in rules: "node12 mlx5_3" is device mlx5_3 of host node12 on rail 3, the number that
  // the device's name ends with.
  HostPatterns();
  // Empty: the built-in rule. `host`: group 1 is the host, group 2 the device (if there is no such
  // group: the last word where it ends with a digit). `rail`: group 1 is the rail number.
  // kInvalidArgument names the expression and its fault.
  static absl::StatusOr<HostPatterns> Compile(const std::string& host, const std::string& rail);

  struct Reading {
    std::string host, device;  // Empty: not told.
    int rail = -1;             // -1: not told.
  };
  Reading Read(std::string_view description) const;
  // As Compile() was given them.
  const std::string& host_text() const;
  const std::string& rail_text() const;

 private:
  struct Expressions;
  static void ReadTwoWords(std::string_view text, Reading& reading);
  explicit HostPatterns(std::shared_ptr<const Expressions> expressions)
      : expressions_(std::move(expressions)) {}
  std::shared_ptr<const Expressions> expressions_;
};

struct HostPort {
  PortRef port;
  std::string device;  // Empty: the description names none.
  int rail = -1;       // Of its adapter; -1: none.
};

struct Host {
  std::string name;  // Unique in the table.
  // All of each adapter together: by device in natural order, then GUID.
  std::vector<HostPort> ports;
};

class HostTable {
 public:
  const std::vector<Host>& hosts() const { return hosts_; }  // By name in natural order.
  // nullptr: no such host.
  const Host* Find(std::string_view name) const;
  // nullptr: a switch, a router, an aggregation node, a tombstone.
  const Host* HostOf(NodeIndex node) const {
    const auto found = host_by_node_.find(node);
    return found == host_by_node_.end() ? nullptr : &hosts_[found->second];
  }

 private:
  friend HostTable FindHosts(const FabricSnapshot& snapshot, const HostPatterns& patterns);
  std::vector<Host> hosts_;
  absl::flat_hash_map<NodeIndex, size_t> host_by_node_;
};

// Adapters whose description names no host belong together by SystemImageGUID: to the host that
// another adapter of the system names, else to one named by the description's first word where only
// this system has it, else by the GUID. The aggregation nodes inside switches are no hosts.
HostTable FindHosts(const FabricSnapshot& snapshot, const HostPatterns& patterns);

}  // namespace fabricd::fabric
