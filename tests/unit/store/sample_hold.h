// SPDX-License-Identifier: Apache-2.0
// A hold in which each field has a value that is not its default.
#pragma once

#include "policy/hold.h"

namespace fabricd::store {

inline policy::Hold MakeHold(uint64_t id) {
  policy::Hold hold;
  hold.id = id;
  hold.kind = policy::HoldKind::kDisable;
  hold.mode = policy::DrainMode::kSoft;
  hold.target.kind = policy::TargetKind::kLink;
  hold.target.name = "leaf's \"1\"/3 = \\ \n end";
  hold.target.nodes = {Guid(0xF000000000000001), Guid(2)};
  hold.target.ports = {{Guid(7), PortNum(3)}, {Guid(8), PortNum(254)}};
  hold.target.facing = {{Guid(7), PortNum(3)}};
  hold.target.behind = {"node 1/mlx5_0", "node2/"};
  hold.owner = "slurm";
  hold.reason = "it's \n flapping\\n";
  hold.created = 1'700'000'000'123;
  hold.expires = 1'700'000'009'000;
  hold.request_id = "job-1";
  hold.acknowledged = 1'700'000'001'000;
  hold.forced = true;
  hold.lifted = true;
  hold.ended = 1'700'000'005'000;
  hold.fingerprint = 0xFEDCBA9876543210;
  hold.delete_request_id = "job-1 end";
  return hold;
}

}  // namespace fabricd::store
