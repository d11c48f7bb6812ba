// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace fabricd::daemon {

inline constexpr char kVersion[] = FABRICD_VERSION;  // From CMake's project().

}  // namespace fabricd::daemon
