// SPDX-License-Identifier: Apache-2.0
// MissingNics: the NICs that a host lacks by what its neighbours have. A NIC whose cable is out, or
// that has died, is not on the fabric any more: nothing but the others tells that it should be. A
// host lacks a rail when more than half of the hosts of its unit that are named like it have that
// rail, or, where its unit has no leaf for the rail (any more), more than half of the other units
// have one. Hosts without rails lack nothing.
//
// Worked out when it is asked for first. Any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "common/lazy.h"
#include "fabric/hosts.h"
#include "fabric/rails.h"

namespace fabricd::query {

struct MissingNic {
  std::string device;  // As most units call it there: "mlx5_3".
  std::string reason;  // "is not on the fabric: 7 of 8 hosts of its unit have it"
};

class MissingNics {
 public:
  // `hosts` are those of the snapshot.
  MissingNics(std::shared_ptr<const fabric::FabricSnapshot> snapshot,
              std::shared_ptr<const fabric::HostTable> hosts)
      : snapshot_(std::move(snapshot)), hosts_(std::move(hosts)) {}

  // By rail; empty: it lacks none.
  const std::vector<MissingNic>& Of(const std::string& host) const;

 private:
  using ByHost = absl::flat_hash_map<std::string, std::vector<MissingNic>>;
  ByHost Find() const;

  // Released once they have been looked at.
  mutable std::shared_ptr<const fabric::FabricSnapshot> snapshot_;
  mutable std::shared_ptr<const fabric::HostTable> hosts_;
  Lazy<ByHost> of_host_;
};

}  // namespace fabricd::query
