// SPDX-License-Identifier: Apache-2.0
// RequestContext: what the caller of the engine needs to know again when a request completes. The
// engine stores it with the request, hands it back in the completion and never looks at it, except
// to compare: requests that were not sent yet can be cancelled by their owner or by their context.
//
// A small value of plain fields, since the engine holds one for each of a million requests. `owner`
// and `kind` are enums of one byte that the caller defines; each owner gives the other fields the
// meaning that it needs and leaves the rest at their defaults.
#pragma once

#include <cstdint>
#include <type_traits>

#include "common/ids.h"

namespace fabricd::mad {

template <typename T>
concept OneByteEnum = std::is_enum_v<T> && sizeof(T) == 1;

struct RequestContext {
  uint8_t owner = 0;   // The activity that gets the completion.
  uint8_t kind = 0;    // Of the owner's requests.
  uint16_t run = 0;    // Which instance of the owner.
  uint16_t block = 0;  // Of a table.
  PortNum port;
  NodeIndex node = NodeIndex::None();
  uint32_t number = 0;  // Of a question that has no port, or more to it than one.

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
