// SPDX-License-Identifier: Apache-2.0
// RequestContext: data of the caller that the engine stores with a request and returns in its
// completion. The engine only compares it: requests that were not sent yet can be cancelled by
// owner or by context.
//
// A small value of plain fields, because the engine may hold one for each of a million requests.
// `owner` and `kind` are one-byte enums of the caller. Each owner defines the meaning of the other
// fields, and leaves unused ones at their defaults.
#pragma once

#include <cstdint>
#include <type_traits>

#include "common/ids.h"

namespace fabricd::mad {

template <typename T>
concept OneByteEnum = std::is_enum_v<T> && sizeof(T) == 1;

struct RequestContext {
  uint8_t owner = 0;   // The activity that receives the completion.
  uint8_t kind = 0;    // Defined by the owner.
  uint16_t run = 0;    // Instance of the owner.
  uint16_t block = 0;  // Of a table.
  PortNum port;
  NodeIndex node = NodeIndex::None();
  uint32_t number = 0;  // For questions that a port does not identify.

  template <OneByteEnum Owner>
  static constexpr RequestContext Of(Owner owner) {
    return {.owner = static_cast<uint8_t>(owner)};
  }
  template <OneByteEnum Owner, OneByteEnum Kind>
  static constexpr RequestContext Of(Owner owner, Kind kind, PortRef subject = {}) {
    return {.owner = static_cast<uint8_t>(owner),
            .kind = static_cast<uint8_t>(kind),
            .port = subject.port,
            .node = subject.node};
  }
  template <OneByteEnum Owner>
  constexpr Owner owner_as() const {
    return static_cast<Owner>(owner);
  }
  template <OneByteEnum Kind>
  constexpr Kind kind_as() const {
    return static_cast<Kind>(kind);
  }
  constexpr PortRef subject() const { return {node, port}; }

  friend constexpr bool operator==(const RequestContext&, const RequestContext&) = default;
};

static_assert(sizeof(RequestContext) <= 16);

}  // namespace fabricd::mad
