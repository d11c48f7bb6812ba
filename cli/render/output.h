// SPDX-License-Identifier: Apache-2.0
// Messages as JSON and YAML, with the field names of the .proto, fields at their default included.
// Pure.
#pragma once

#include <string>

#include <google/protobuf/message.h>

namespace fabricd::cli {

std::string ToJson(const google::protobuf::Message& message);
// In one line, fields at their default left out.
std::string ToJsonLine(const google::protobuf::Message& message);
std::string ToYaml(const google::protobuf::Message& message);
// A google.protobuf.Timestamp as JSON has it.
std::string TimeText(const google::protobuf::Message& time);

}  // namespace fabricd::cli
