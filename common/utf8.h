// SPDX-License-Identifier: Apache-2.0
// UTF-8 for consumers that accept nothing else: node descriptions may contain any bytes. Pure.
#pragma once

#include <string>

namespace fabricd {

// `text` with every byte that is not UTF-8 (Unicode 15 table 3-7) replaced by '?'.
std::string Utf8(const std::string& text);

}  // namespace fabricd
