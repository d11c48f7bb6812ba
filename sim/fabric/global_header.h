// SPDX-License-Identifier: Apache-2.0
// The global route header of a packet as bytes (IBA vol 1 §8.3), and what the kernel makes of it
// for a program. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/gid.h"
#include "mad/transport.h"
#include "sim/device/sim_device.h"

namespace fabricd::sim {

inline constexpr size_t kGlobalHeaderBytes = 40;

// The GID of the port at this index of its GUIDInfo; 0 where there is none.
Gid GidAt(const SimPort& port, uint8_t index);
// That of a packet with a payload of so many bytes, sent by `own`.
std::vector<uint8_t> MakeGlobalHeader(const mad::GlobalRoute& route, Gid own, size_t payload_bytes);
// The route of an answer to a packet that `port` received, as ib_umad gives it. nullopt: the packet
// is not addressed to the port. The GUID of whichever port the SA is at (§4.1.1) is index 0.
// REQUIRES: kGlobalHeaderBytes.
std::optional<mad::GlobalRoute> AnswerRoute(std::span<const uint8_t> header, const SimPort& port);
// Turns the header of a request into that of its response. No effect on an empty one.
void SwapGids(std::vector<uint8_t>& header);

}  // namespace fabricd::sim
