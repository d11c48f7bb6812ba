// SPDX-License-Identifier: Apache-2.0
// The text forms of names in requests and answers. Pure.
#pragma once

#include <optional>
#include <string>

#include "common/ids.h"

namespace fabricd::rpc {

struct PortText {
  std::string node;
  PortNum port;
};
// NODE[PORT], NODE/PORT or NODE:PORT; the last separator counts. Nothing when the text is none of
// these.
std::optional<PortText> SplitPortText(const std::string& text);

// `text` with every byte that is not UTF-8 replaced by '?': protobuf refuses such strings, and node
// descriptions promise nothing.
std::string Utf8(const std::string& text);

}  // namespace fabricd::rpc
