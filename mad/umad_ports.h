// SPDX-License-Identifier: Apache-2.0
// The InfiniBand ports of this host, as listed by libibumad, and the selection of one.
#pragma once

#include <string>
#include <string_view>

#include <absl/status/statusor.h>

#include "common/ids.h"
#include "mad/transport.h"

namespace fabricd::mad {

// The port to open: "umad", "umad:mlx5_0", "umad:mlx5_0:1".
struct UmadChoice {
  std::string device;  // Empty: the first InfiniBand port that is not DOWN, or else the first.
  PortNum port;        // 0: the same rule within the device.

  static absl::StatusOr<UmadChoice> Parse(std::string_view text);
};

struct UmadPort {
  LocalPort local;
  bool on_ibsim = false;
};

// Errors tell operators what to do. Opens nothing.
absl::StatusOr<UmadPort> FindPort(const UmadChoice& choice);

}  // namespace fabricd::mad
