// SPDX-License-Identifier: Apache-2.0
// What fabricd does on the subnet, as the key `mode` and the option --mode name it:
//   observe  reads only
//   standby  never becomes master
//   manage   takes part in mastership and configures the subnet
// So far only manage is built. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace fabricd::config {

// Whether `word` names a mode, built or not.
bool IsMode(std::string_view word);

// Why fabricd cannot run in the mode `word`; empty if it can.
std::string ModeFault(std::string_view word);

}  // namespace fabricd::config
