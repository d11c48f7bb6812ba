// SPDX-License-Identifier: Apache-2.0
// Subnet management packets: LID routed (IBA vol 1 §14.2.1.1) and directed route (§14.2.1.2).
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

#include "mad/wire/mad_header.h"

namespace fabricd::wire {

// The egress ports of a directed route from the SM's own node; empty: the node itself.
// At most 63 hops (hop 0 of InitialPath is reserved).
class DirectedPath {
 public:
  static constexpr size_t kMaxHops = 63;
  DirectedPath() = default;
  DirectedPath(std::initializer_list<uint8_t> ports) {
    for (uint8_t port : ports) ports_[hops_++] = port;
  }
  // REQUIRES: ports.size() <= kMaxHops.
  static DirectedPath FromPorts(std::span<const uint8_t> ports) {
    DirectedPath path;
    for (uint8_t port : ports) path.ports_[path.hops_++] = port;
    return path;
  }
  size_t hops() const { return hops_; }
  bool CanExtend() const { return hops_ < kMaxHops; }
  uint8_t operator[](size_t hop) const { return ports_[hop]; }
  // REQUIRES: CanExtend().
  DirectedPath Then(PortNum port) const {
    DirectedPath longer = *this;
    longer.ports_[longer.hops_++] = port.value();
    return longer;
  }
  std::span<const uint8_t> ports() const { return {ports_.data(), hops_}; }
  std::string ToString() const;  // "0,1,3" as infiniband-diags writes it.
  friend bool operator==(const DirectedPath& a, const DirectedPath& b) {
    return a.hops_ == b.hops_ && a.ports_ == b.ports_;
  }

 private:
  uint8_t hops_ = 0;
  std::array<uint8_t, kMaxHops> ports_{};  // Zero behind hops_.
};

// One SMP of either class.
struct Smp {
  Method method = Method::kGet;
  uint16_t status = 0;  // Directed route: without the D bit.
  TransactionId tid;
  // Upper half of the TransactionID: set by the sender's kernel. 0 in requests we send; a response
  // (TrapRepress too) repeats what its request carried, else the sender cannot match it.
  uint32_t tid_high = 0;
  uint64_t transaction_id() const { return static_cast<uint64_t>(tid_high) << 32 | tid.value(); }
  AttributeId attribute = AttributeId::kNone;
  uint32_t modifier = 0;
  MKey m_key;
  // Set: directed route. For a response, the InitialPath of its request.
  std::optional<DirectedPath> path;
  // Directed route only: hop pointer and direction, as they travel (§14.2.2). 0/false in requests
  // we send.
  uint8_t hop_pointer = 0;
  bool returning = false;
  uint16_t dr_slid = 0xFFFF;
  uint16_t dr_dlid = 0xFFFF;
  // Directed route only: the ingress ports that the nodes on the way filled in, first hop at
  // index 1.
  std::array<uint8_t, DirectedPath::kMaxHops + 1> return_path{};
  SmpData data{};

  // nullopt when the class is not a subnet management class, or a hop count is above 63. What the
  // formats reserve, and the initial path behind the hop count, is not kept: Encode writes zero
  // there.
  static std::optional<Smp> Decode(std::span<const uint8_t, kMadBytes> bytes);
  void Encode(std::span<uint8_t, kMadBytes> bytes) const;  // Writes all 256 bytes.
};

}  // namespace fabricd::wire
