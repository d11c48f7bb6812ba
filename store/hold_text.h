// SPDX-License-Identifier: Apache-2.0
// Holds and their parts as text that operators read. Pure.
#pragma once

#include <string>
#include <vector>

#include "policy/hold.h"

namespace fabricd::store {

// "0x0000000000000010 0x0000000000000011"
std::string GuidsText(const std::vector<Guid>& guids);
bool ParseGuids(const std::string& text, std::vector<Guid>& guids);

// "0x0000000000000010/3 0x0000000000000011/4"
std::string PortsText(const std::vector<policy::HeldPort>& ports);
bool ParsePorts(const std::string& text, std::vector<policy::HeldPort>& ports);

// Whether numbers are codes of these enums; then they are set.
bool ParseCodes(int64_t kind, int64_t mode, int64_t target_kind, policy::Hold& hold);

// A line "name=value" for each field that is not as in an empty hold, in a fixed order; line feeds
// and backslashes within values are escaped with a backslash.
std::string HoldText(const policy::Hold& hold);
// False: HoldText() gives no such text.
bool ParseHold(const std::string& text, policy::Hold& hold);

}  // namespace fabricd::store
