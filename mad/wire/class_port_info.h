// SPDX-License-Identifier: Apache-2.0
// ClassPortInfo (IBA vol 1 §13.4.8.1): what a class of a port can do, how fast it responds, and
// where its requests and traps go. One layout for all classes; what the capability bits mean is
// the class's (perf.h, sa/answer.cc).
#pragma once

#include <algorithm>

#include "common/gid.h"
#include "common/time.h"
#include "mad/wire/mad_header.h"

namespace fabricd::wire {

struct ClassPortInfo {
  static constexpr AttributeId kAttribute = AttributeId::kClassPortInfo;
  static constexpr size_t kBytes = 72;
  // Where requests (redirect) or traps go.
  struct Target {
    Gid gid;
    uint8_t traffic_class = 0;
    ServiceLevel sl;
    uint32_t flow_label = 0;  // 20 bits
    Lid lid;
    PKey p_key;
    uint8_t hop_limit = 0;  // Reserved in the redirection.
    uint32_t qpn = 0;       // 24 bits
    uint32_t q_key = 0;
    friend bool operator==(const Target&, const Target&) = default;
  };
  uint8_t base_version = 1;
  uint8_t class_version = 1;
  uint16_t capability_mask = 0;
  uint32_t capability_mask2 = 0;    // 27 bits
  uint8_t response_time_value = 0;  // 5 bits
  Target redirect, trap;

  // The longest time between a request and its response: 4.096 us * 2^response_time_value.
  Duration response_time() const { return Duration{int64_t{4096} << response_time_value}; }
  // Requests of this class are to be sent to `redirect`, not to the port itself: to its LID or,
  // where that is 0, to its GID. A response with kStatusRedirect says the same of one request.
  bool IsRedirected() const { return redirect.lid || redirect.gid; }

  static ClassPortInfo Decode(std::span<const uint8_t, kBytes> bytes);
  void Encode(std::span<uint8_t, kBytes> bytes) const;
  // Of the longer data of a GMP. Encode zeroes what is behind.
  template <size_t kSize>
  requires(kSize > kBytes) static ClassPortInfo Decode(const std::array<uint8_t, kSize>& data) {
    return Decode(std::span(data).template first<kBytes>());
  }
  template <size_t kSize>
  requires(kSize > kBytes) void Encode(std::array<uint8_t, kSize>& data) const {
    Encode(std::span(data).template first<kBytes>());
    std::fill(data.begin() + kBytes, data.end(), uint8_t{0});
  }
  friend bool operator==(const ClassPortInfo&, const ClassPortInfo&) = default;
};

}  // namespace fabricd::wire
