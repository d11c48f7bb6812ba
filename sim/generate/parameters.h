// SPDX-License-Identifier: Apache-2.0
// The parameters of generators and decorations. Each is described once, beside the field that it
// sets: the KEY=VALUE text, the command line and its help are all made from that.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "mad/wire/port_info.h"

namespace fabricd::sim {

struct Parameter {
  std::string key;  // "radix": KEY=VALUE and --KEY VALUE.
  std::string help;
  // The field; not owned. A bool is a flag: a KEY alone sets it. A list of numbers is written
  // 4x4x4.
  std::variant<int*, uint64_t*, double*, bool*, wire::LinkSpeed*, std::vector<int>*> field;
  std::string alias = "";  // Another name of the key, or empty.

  bool IsFlag() const { return std::holds_alternative<bool*>(field); }
  // What Assign takes to set the field to what it is.
  std::string Value() const;
  // "NUMBER": what a value is, for the help.
  std::string TypeName() const;
};

// Sets the field. kInvalidArgument: "KEY=TEXT is not a number".
absl::Status Assign(const Parameter& parameter, const std::string& text);

// "radix 300: from 2 to 254"
absl::Status CheckRange(const char* key, int value, int least, int most);

// "NDR"; kInvalidArgument lists the names.
absl::StatusOr<wire::LinkSpeed> ParseSpeed(const std::string& name);
// The parameter "speed".
Parameter SpeedParameter(wire::LinkSpeed& speed);

}  // namespace fabricd::sim
