// SPDX-License-Identifier: Apache-2.0
// Records as text: the specification's names of their components and what they hold, for operators.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/gid.h"
#include "mad/wire/sa_header.h"

namespace fabricd::sa {

// As IPv6 addresses are written (RFC 5952): "fe80::2:c902:0:101".
std::string AddressOf(Gid gid);

// By the specification's name in any case, with or without "Record" behind it, or a short form
// ("pkey", "sl2vl").
std::optional<wire::SaAttribute> FindRecordType(std::string_view text);
// All that FindRecordType knows.
std::vector<std::string> RecordTypes();

// Name and value of each component of a record but the reserved ones. REQUIRES: a type that
// FindRecordType gives, and a record of its size.
std::vector<std::pair<std::string, std::string>> FieldsOf(wire::SaAttribute type,
                                                          std::span<const uint8_t> record);
// Where in FieldsOf the component of this name, in any case, is.
std::optional<size_t> FindField(wire::SaAttribute type, std::string_view name);
// As values of a component: numbers by what they are, in decimal or hexadecimal, text in any case.
bool MeansTheSame(std::string_view one, std::string_view other);

}  // namespace fabricd::sa
