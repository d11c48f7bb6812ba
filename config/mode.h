// SPDX-License-Identifier: Apache-2.0
// What fabricd does on the subnet (common/sm_mode.h), as the key `mode` and the option --mode name
// it, and what it does if neither names it. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "common/sm_mode.h"

namespace fabricd::config {

// Why `word` is no value of the key; empty if it is one. The empty word is: the default decides.
std::string ModeFault(std::string_view word);

struct ModeChoice {
  SmMode mode = SmMode::kManage;
  std::string warning;  // For the operator; empty: none.
};
// The mode of `word`. Without one: a simulated fabric is managed, a real one observed, unless the
// state directory shows that this fabricd has managed it (`was_master`), as after an upgrade from a
// version that knew no other mode. Then it goes on, with a warning. REQUIRES: ModeFault(word) is
// empty.
ModeChoice ChooseMode(std::string_view word, std::string_view fabric, bool was_master);

}  // namespace fabricd::config
