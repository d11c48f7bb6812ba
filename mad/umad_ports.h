// SPDX-License-Identifier: Apache-2.0
// The InfiniBand ports of this host, as listed by libibumad, and the selection of one.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <absl/status/statusor.h>

#include "common/ids.h"
#include "mad/transport.h"
#include "mad/wire/port_info.h"

namespace fabricd::mad {

// The port to open: "umad", "umad:mlx5_0", "umad:mlx5_0:1".
struct UmadChoice {
  std::string device;  // Empty: any.
  PortNum port;        // 0: any, of the device where one is named.

  static absl::StatusOr<UmadChoice> Parse(std::string_view text);
};

struct UmadPort {
  LocalPort local;
  bool on_ibsim = false;
};

// A port as libibumad describes it.
struct FoundPort {
  UmadPort port;
  bool infiniband = false;
  wire::PortState state = wire::PortState::kNoChange;
  Lid lid;
};

// The InfiniBand port of the choice: the only one that is up, or where none is up, the first. Two
// that are up can be two subnets, so an error lists them: which one to manage is the operator's
// decision. Pure.
absl::StatusOr<UmadPort> ChoosePort(std::span<const FoundPort> found, const UmadChoice& choice);

// ChoosePort() among the ports of this host. Errors tell operators what to do. Opens nothing.
absl::StatusOr<UmadPort> FindPort(const UmadChoice& choice);

}  // namespace fabricd::mad
