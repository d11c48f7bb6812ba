// SPDX-License-Identifier: Apache-2.0
// Frames of kernel/simib_wire.h as the module makes them, and what is in those for it.
#pragma once

#include <endian.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "kernel/simib_wire.h"
#include "sim/kernel/kernel_wire.h"

namespace fabricd::sim {

using Frame = KernelWire::Frame;

template <typename Body>
Frame MakeFrame(uint8_t type, uint16_t hca, uint8_t port, const Body& body,
                const std::vector<uint8_t>& rest = {}) {
  simib_header header{};
  header.version = SIMIB_WIRE_VERSION;
  header.type = type;
  header.port = port;
  header.hca = htole16(hca);
  header.length = htole16(static_cast<uint16_t>(sizeof(header) + sizeof(body) + rest.size()));
  Frame frame(sizeof(header) + sizeof(body));
  std::memcpy(frame.data(), &header, sizeof(header));
  std::memcpy(frame.data() + sizeof(header), &body, sizeof(body));
  frame.insert(frame.end(), rest.begin(), rest.end());
  return frame;
}

template <typename Body>
Body BodyOf(const Frame& frame) {
  Body body;
  std::memcpy(&body, frame.data() + sizeof(simib_header), sizeof(body));
  return body;
}

inline uint8_t TypeOf(const Frame& frame) { return frame[1]; }
inline uint16_t HcaOf(const Frame& frame) {
  return static_cast<uint16_t>(frame[4] | frame[5] << 8);
}

inline std::vector<uint8_t> PayloadOf(const Frame& frame) {
  return {frame.begin() + sizeof(simib_header) + sizeof(simib_packet), frame.end()};
}

inline Frame Hello(uint16_t hca, uint64_t guid) {
  simib_hello hello{};
  hello.node_guid = htole64(guid);
  hello.port_guids[0] = htole64(guid + 1);
  hello.ports = 1;
  return MakeFrame(SIMIB_HELLO, hca, 0, hello);
}

}  // namespace fabricd::sim
