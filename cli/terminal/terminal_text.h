// SPDX-License-Identifier: Apache-2.0
// Texts of devices and users on a terminal: what it would obey instead of showing is written out,
// "\x1b". Pure.
#pragma once

#include <string>

namespace fabricd::cli {

// Part of a line: line ends and tabs are written out too.
std::string OneLine(const std::string& text);
// Anything that is printed: line ends, tabs and the colours of Colored() stay.
std::string ForTerminal(const std::string& text);

}  // namespace fabricd::cli
