// SPDX-License-Identifier: Apache-2.0
// The text forms of names in requests and answers. Pure.
#pragma once

#include <optional>
#include <string>

#include "common/ids.h"
#include "common/utf8.h"

namespace fabricd::query {

struct PortText {
  std::string node;
  PortNum port;
};
// NODE[PORT], NODE/PORT or NODE:PORT; the last separator counts. Nothing when the text is none of
// these.
std::optional<PortText> SplitPortText(const std::string& text);

// Protobuf refuses strings that are none.
using fabricd::Utf8;

}  // namespace fabricd::query
