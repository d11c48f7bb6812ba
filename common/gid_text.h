// SPDX-License-Identifier: Apache-2.0
// GIDs as text, in the form of IPv6 addresses (RFC 4291 §2.2, RFC 5952).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/gid.h"

namespace fabricd {

// "ff12:401b:ffff::ffff:ffff"
std::string GidText(Gid gid);
// The text must not end with an IPv4 address. nullopt: not a GID.
std::optional<Gid> ParseGid(std::string_view text);

}  // namespace fabricd
