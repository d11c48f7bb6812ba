// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace fabricd::sa {

// The Q_Key of QP1, the General Services Interface.
inline constexpr uint32_t kGsiQKey = 0x80010000;

}  // namespace fabricd::sa
