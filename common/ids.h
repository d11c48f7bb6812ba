// SPDX-License-Identifier: Apache-2.0
// Strong types for every identifier: distinct, ordered, hashable, printable, without arithmetic.
// Printed as an operator writes them: GUIDs and keys in hex, LIDs and port numbers in decimal.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <type_traits>

#include <fmt/format.h>

namespace fabricd {

template <typename Tag, typename Rep>
class StrongId {
 public:
  using Value = Rep;
  constexpr StrongId() = default;
  constexpr explicit StrongId(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }
  constexpr explicit operator bool() const { return value_ != Rep{}; }
  friend constexpr auto operator<=>(StrongId, StrongId) = default;
  template <typename H>
  friend H AbslHashValue(H h, StrongId id) {
    return H::combine(std::move(h), id.value_);
  }

 private:
  Rep value_{};
};

// EUI-64 of a node, a port or a system. 0 means none.
using Guid = StrongId<struct GuidTag, uint64_t>;
// Unicast 0x0001-0xBFFF, multicast 0xC000-0xFFFE, 0xFFFF permissive. 0 means none (IBA vol 1
// §4.1.3).
using Lid = StrongId<struct LidTag, uint16_t>;
// Port of a node. 0 is a switch's management port (IBA vol 1 §14.2.5.6).
using PortNum = StrongId<struct PortNumTag, uint8_t>;
// Partition key; bit 15 is full membership (IBA vol 1 §10.9).
using PKey = StrongId<struct PKeyTag, uint16_t>;
using MKey = StrongId<struct MKeyTag, uint64_t>;
using SmKey = StrongId<struct SmKeyTag, uint64_t>;
// Service level, 0-15.
using ServiceLevel = StrongId<struct ServiceLevelTag, uint8_t>;
// Low 32 bits of a MAD's TransactionID: the upper half belongs to the kernel (DESIGN §3).
using TransactionId = StrongId<struct TransactionIdTag, uint32_t>;
// Number of a published fabric state; grows by one per change.
using Generation = StrongId<struct GenerationTag, uint64_t>;

// Dense index of a node in a FabricSnapshot: stable across generations, never reused for another
// GUID.
class NodeIndex : public StrongId<struct NodeIndexTag, uint32_t> {
 public:
  using StrongId::StrongId;
  static constexpr NodeIndex None() { return NodeIndex(std::numeric_limits<uint32_t>::max()); }
  constexpr bool IsNone() const { return *this == None(); }
};

inline constexpr Lid kPermissiveLid{0xFFFF};
inline constexpr Lid kMaxUnicastLid{0xBFFF};

// A port of a node of one snapshot.
struct PortRef {
  NodeIndex node = NodeIndex::None();
  PortNum port;
  constexpr bool IsNone() const { return node.IsNone(); }
  friend constexpr auto operator<=>(const PortRef&, const PortRef&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const PortRef& ref) {
    return H::combine(std::move(h), ref.node.value(), ref.port.value());
  }
};

}  // namespace fabricd

template <typename Tag, typename Rep>
struct std::hash<fabricd::StrongId<Tag, Rep>> {
  size_t operator()(fabricd::StrongId<Tag, Rep> id) const { return std::hash<Rep>{}(id.value()); }
};
template <>
struct std::hash<fabricd::NodeIndex> {
  size_t operator()(fabricd::NodeIndex id) const { return std::hash<uint32_t>{}(id.value()); }
};

// libfmt has it compiled, but fmt 9 does not say so: each file that formats an identifier would
// compile it again, two seconds with -O2.
extern template void fmt::detail::vformat_to<char>(fmt::detail::buffer<char>&, fmt::string_view,
                                                   fmt::format_args, fmt::detail::locale_ref);

template <>
struct fmt::formatter<fabricd::Guid> : fmt::formatter<std::string_view> {
  auto format(fabricd::Guid id, format_context& ctx) const {
    return fmt::format_to(ctx.out(), "0x{:016x}", id.value());
  }
};
template <>
struct fmt::formatter<fabricd::PKey> : fmt::formatter<std::string_view> {
  auto format(fabricd::PKey id, format_context& ctx) const {
    return fmt::format_to(ctx.out(), "0x{:04x}", id.value());
  }
};
template <>
struct fmt::formatter<fabricd::Lid> : fmt::formatter<uint16_t> {
  auto format(fabricd::Lid id, format_context& ctx) const {
    return fmt::formatter<uint16_t>::format(id.value(), ctx);
  }
};
template <>
struct fmt::formatter<fabricd::PortNum> : fmt::formatter<uint16_t> {
  auto format(fabricd::PortNum id, format_context& ctx) const {
    return fmt::formatter<uint16_t>::format(id.value(), ctx);
  }
};
template <>
struct fmt::formatter<fabricd::NodeIndex> : fmt::formatter<uint32_t> {
  auto format(fabricd::NodeIndex id, format_context& ctx) const {
    return fmt::formatter<uint32_t>::format(id.value(), ctx);
  }
};
