// SPDX-License-Identifier: Apache-2.0
// The InfiniBand ports of this host, as libibumad lists them, and which one is meant.
#pragma once

#include <string>
#include <string_view>

#include <absl/status/statusor.h>

#include "common/ids.h"
#include "mad/transport.h"

namespace fabricd::mad {

// Which port to open: "umad", "umad:mlx5_0", "umad:mlx5_0:1".
struct UmadChoice {
  std::string device;  // Empty: the first InfiniBand port that is not DOWN, else the first.
  PortNum port;        // 0: the same rule within the device.

  static absl::StatusOr<UmadChoice> Parse(std::string_view text);
};

struct UmadPort {
  LocalPort local;
  bool on_ibsim = false;
};

// Errors say what an operator can do about it. Opens nothing.
absl::StatusOr<UmadPort> FindPort(const UmadChoice& choice);

}  // namespace fabricd::mad
