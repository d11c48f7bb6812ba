// SPDX-License-Identifier: Apache-2.0
// HMAC-SHA256 (RFC 2104, FIPS 180-4). Pure, and not hardened against timing: it derives M_Keys, of
// which no attacker can measure the computation.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace fabricd {

using Sha256Digest = std::array<uint8_t, 32>;

Sha256Digest Sha256(std::span<const uint8_t> bytes);
Sha256Digest HmacSha256(std::span<const uint8_t> key, std::span<const uint8_t> message);

}  // namespace fabricd
