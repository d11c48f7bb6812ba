// SPDX-License-Identifier: Apache-2.0
// The fields of what is listed that a client wants (AIP-157); none named means all.
#pragma once

#include <absl/status/statusor.h>
#include <fmt/format.h>
#include <google/protobuf/util/field_mask_util.h>

#include "daemon/rpc/convert/grpc_status.h"

namespace fabricd::rpc {

template <typename Item>
class ReadMask {
 public:
  // `mask` outlives it. An unknown field is an error that names it.
  static absl::StatusOr<ReadMask> Read(const google::protobuf::FieldMask& mask) {
    for (const std::string& path : mask.paths()) {
      if (!google::protobuf::util::FieldMaskUtil::IsValidPath<Item>(path)) {
        return BadField("read_mask", fmt::format("{} has no field \"{}\"",
                                                 std::string(Item::descriptor()->name()), path));
      }
    }
    return ReadMask(mask);
  }
  void Trim(Item* item) const {
    if (mask_.paths_size() > 0) google::protobuf::util::FieldMaskUtil::TrimMessage(mask_, item);
  }

 private:
  explicit ReadMask(const google::protobuf::FieldMask& mask) : mask_(mask) {}
  const google::protobuf::FieldMask& mask_;
};

}  // namespace fabricd::rpc
