// SPDX-License-Identifier: Apache-2.0
// Partitions ⇄ messages of fabric.v1, and what operators call them. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <absl/status/statusor.h>
#include <google/protobuf/repeated_field.h>

#include "fabric/v1/partition_service.pb.h"
#include "policy/partitions.h"
#include "query/read_model.h"

namespace fabricd::rpc {

namespace pb = ::fabric::v1;

// Which end ports were last read to hold which keys. Of one model, made once for an answer.
class KeyHolders {
 public:
  explicit KeyHolders(const query::ReadModel& model);
  struct Counts {
    uint32_t full = 0, limited = 0;  // End ports.
  };
  Counts Of(uint16_t partition) const { return counts_[partition]; }
  // Whether a port with this GUID of its own holds the keys of the membership.
  bool Confirms(const policy::Member& member, uint16_t partition) const;

 private:
  const query::ReadModel& model_;
  std::vector<Counts> counts_;  // [number of partition]
};

void ToProto(const KeyHolders& holders, const query::ReadModel& model,
             const policy::Partition& partition, pb::PartitionView view, pb::Partition* out);

// What a P_Key or a name means; of a P_Key there need be no partition. PARTITION_NOT_FOUND;
// INVALID_ARGUMENT for a name of several.
absl::StatusOr<uint16_t> NumberOf(const policy::Partitions& partitions, const std::string& text);
// One that is there.
absl::StatusOr<const policy::Partition*> FindPartition(const policy::Partitions& partitions,
                                                       const std::string& text);
// What a request says; INVALID_ARGUMENT names the field. The number is without the membership bit.
absl::StatusOr<policy::Partition> ReadPartition(const query::ReadModel& model,
                                                const pb::Partition& from);
absl::StatusOr<std::vector<policy::Member>> ReadMembers(
    const query::ReadModel& model,
    const google::protobuf::RepeatedPtrField<pb::PartitionMember>& from);
// Members of these subjects, of no particular membership.
absl::StatusOr<std::vector<policy::Member>> ResolveSubjects(
    const query::ReadModel& model, const google::protobuf::RepeatedPtrField<std::string>& from);

}  // namespace fabricd::rpc
